//! What the apiserver was asked, from its own audit log.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::Deserialize;
use serde_json::Value;

/// Every request's metadata, and of a deleted Service the whole; without the requests of the control plane's own programs,
/// which would drown the others.
pub(super) const POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:kube-controller-manager", "system:apiserver"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: RequestResponse
  omitManagedFields: true
  verbs: ["delete"]
  resources: [{group: "", resources: ["services"]}]
- level: Metadata
"#;

/// One request to the apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who asked: `system:serviceaccount:<namespace>:<name>` for a service account.
    pub user: String,
    /// The pod that the service account's token is bound to; empty for none.
    pub pod: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// The plural resource; empty for a path like `/version`.
    pub resource: String,
    /// `status`, `token`, …; empty for the resource itself.
    pub subresource: String,
    /// The object's namespace; empty for none.
    pub namespace: String,
    /// The object's name; empty for a list, and for a creation (which names it in the body).
    pub name: String,
    /// The HTTP status of the answer; 0 where there was none.
    pub code: u16,
    /// What the client called itself.
    pub user_agent: String,
    /// Path and query.
    pub request_uri: String,
    /// When the apiserver received it: RFC 3339 with microseconds, so it sorts as text.
    pub received: String,
    /// The answer, where a Service was to be deleted: the Service as it was then, its resource version that of the
    /// deletion. It has only metadata where no more was asked for. Null for all other requests.
    pub answer: Value,
}

/// The events in a log file, in the order of arrival, one for each request.
pub(super) fn read(log: &Path) -> io::Result<Vec<Event>> {
    Ok(parse(&fs::read_to_string(log)?))
}

fn parse(log: &str) -> Vec<Event> {
    // A watch is logged when it starts and again when it ends: the later line of one request replaces the earlier.
    let mut requests = BTreeMap::new();
    for line in log.lines() {
        // The last line may be half written.
        if let Ok(line) = serde_json::from_str::<Line>(line) {
            let id = line.audit_id.clone();
            requests.insert(id, Event::from(line));
        }
    }
    let mut events: Vec<_> = requests.into_values().collect();
    events.sort_by(|a, b| a.received.cmp(&b.received));
    events
}

/// The parts of `audit.k8s.io/v1` Event that are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "auditID")]
    audit_id: String,
    user: User,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
    request_received_timestamp: String,
    #[serde(default)]
    response_object: Value,
}

#[derive(Deserialize)]
struct User {
    username: String,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

/// Of a user whose token is bound to a pod, its name.
const BOUND_POD: &str = "authentication.kubernetes.io/pod-name";

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl From<Line> for Event {
    fn from(mut line: Line) -> Self {
        let object = line.object_ref.unwrap_or_default();
        let pod = line.user.extra.remove(BOUND_POD).and_then(|mut values| values.pop());
        Self {
            user: line.user.username,
            pod: pod.unwrap_or_default(),
            verb: line.verb,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: line.response_status.map_or(0, |status| status.code),
            user_agent: line.user_agent,
            request_uri: line.request_uri,
            received: line.request_received_timestamp,
            answer: line.response_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, verb: &str, code: u16, received: &str) -> String {
        format!(
            r#"{{"auditID":"{id}","user":{{"username":"u"}},"verb":"{verb}","requestURI":"/api","objectRef":{{"resource":"pods"}},"responseStatus":{{"code":{code}}},"requestReceivedTimestamp":"{received}"}}"#
        )
    }

    #[test]
    fn each_request_counts_once_in_the_order_of_arrival() {
        let log = [
            line("b", "watch", 200, "2026-01-01T00:00:02.000000Z"),
            line("a", "get", 404, "2026-01-01T00:00:01.000000Z"),
            line("b", "watch", 200, "2026-01-01T00:00:02.000000Z"),
            r#"{"auditID":"half"#.to_owned(),
        ]
        .join("\n");
        let seen: Vec<_> = parse(&log).into_iter().map(|event| (event.verb, event.code)).collect();
        assert_eq!(seen, [("get".to_owned(), 404), ("watch".to_owned(), 200)]);
    }
}
