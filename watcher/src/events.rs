//! Writes Kubernetes Events about Services that were deleted, where that is permitted; nothing waits for them.

use std::{env, time::Duration};

use common::{
    api::{
        call::{Call, MetadataOnly},
        classify::Meaning,
        client::{Api, chain},
        resource::Resource,
        retry::Deadline,
    },
    labels::WATCHER,
};
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::orphan::Reason;

/// How many Events wait at most: those of a large burst of deletions, in a few hundred kilobytes.
const WAITING: usize = 1000;

/// How long one Event may take to be written.
const TIME: Duration = Duration::from_secs(10);

/// A Service that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub service: String,
    /// The Service's UID.
    pub uid: String,
    /// The name of the pod that it was for.
    pub pod: String,
    /// That pod's UID; nothing says it of the original tool's Services.
    pub pod_uid: Option<String>,
    /// Why it was deleted.
    pub reason: Reason,
}

/// Hands deleted Services to the task that writes the Events.
#[derive(Debug)]
pub struct Events {
    queue: mpsc::Sender<Deleted>,
    writing: JoinHandle<()>,
}

impl Events {
    /// Starts the task that writes the Events, one after the other.
    #[must_use]
    pub fn start(api: Api) -> Self {
        let (queue, deleted) = mpsc::channel(WAITING);
        let writing = tokio::spawn(write(api, deleted, reporter()));
        Self { queue, writing }
    }

    /// Tells of a deletion. Never waits: what finds no place is not told.
    pub fn deleted(&self, deleted: &Deleted) {
        // Closed is no failure: Events are not permitted, which was said.
        if let Err(mpsc::error::TrySendError::Full(Deleted { namespace, service, .. })) =
            self.queue.try_send(deleted.clone())
        {
            tracing::debug!(namespace, service, "Event dropped: too many are waiting");
        }
    }

    /// Waits until the Events of all that was told are written, but no longer than this.
    pub async fn finish(self, within: Duration) {
        drop(self.queue);
        // What is not written by then is lost.
        let _ = tokio::time::timeout(within, self.writing).await;
    }
}

/// The longest Retry-After that is heeded; Events are worth no longer wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The name of this pod, which tells several watchers apart; outside of a pod the machine's, if anything.
fn reporter() -> String {
    env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| WATCHER.to_owned())
}

async fn write(api: Api, mut waiting: mpsc::Receiver<Deleted>, reporter: String) {
    while let Some(deleted) = waiting.recv().await {
        let call = call(&deleted, Timestamp::now(), &reporter);
        let Err(error) = api.once::<MetadataOnly>(&call, Deadline::after(TIME)).await else { continue };
        let Deleted { namespace, service, .. } = deleted;
        if error.meaning() == Some(Meaning::Rbac) {
            tracing::info!(error = chain(&error), "no Events are written: that is optional and not permitted");
            return;
        }
        tracing::debug!(namespace, service, error = chain(&error), "Event dropped");
        if let Some(asked) = error.retry_after() {
            tokio::time::sleep(asked.min(LONGEST_PAUSE)).await;
        }
    }
}

fn call(deleted: &Deleted, now: Timestamp, reporter: &str) -> Call {
    // As client-go names Events: the object and the time, in hexadecimal.
    let name = format!("{}.{:x}", deleted.service, now.as_nanosecond());
    let event = event(&name, deleted, now, reporter);
    Call::create(Resource::Events, &deleted.namespace, &name, event, WATCHER)
}

/// An Event in the form that `kubectl` shows in full: with first and last time, not with `eventTime`.
fn event(name: &str, deleted: &Deleted, now: Timestamp, reporter: &str) -> Value {
    let reference = |kind: &str, name: &str, uid: Option<&str>| ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(deleted.namespace.clone()),
        name: Some(name.to_owned()),
        uid: uid.map(str::to_owned),
        ..ObjectReference::default()
    };
    let event = Event {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(deleted.namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: reference("Service", &deleted.service, Some(&deleted.uid)),
        related: Some(reference("Pod", &deleted.pod, deleted.pod_uid.as_deref())),
        type_: Some("Normal".to_owned()),
        reason: Some(deleted.reason.as_str().to_owned()),
        message: Some(message(deleted)),
        action: Some("Delete".to_owned()),
        source: Some(EventSource { component: Some(WATCHER.to_owned()), ..EventSource::default() }),
        reporting_component: Some(WATCHER.to_owned()),
        reporting_instance: Some(reporter.to_owned()),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        ..Event::default()
    };
    serde_json::to_value(event).unwrap_or_default()
}

fn message(deleted: &Deleted) -> String {
    let pod = match &deleted.pod_uid {
        Some(uid) => format!("pod {} (UID {uid})", deleted.pod),
        None => format!("pod {}", deleted.pod),
    };
    match deleted.reason {
        Reason::PodGone => format!("Deleted Service {}: {pod} is gone", deleted.service),
        Reason::PodReplaced => format!("Deleted Service {}: another pod has taken the place of {pod}", deleted.service),
        Reason::PodFinished => format!("Deleted Service {}: {pod} has finished", deleted.service),
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    fn deleted(service: &str, reason: Reason) -> Deleted {
        Deleted {
            namespace: "ns".to_owned(),
            service: service.to_owned(),
            uid: "s1".to_owned(),
            pod: "app-0".to_owned(),
            pod_uid: Some("p1".to_owned()),
            reason,
        }
    }

    /// An API that answers each request with the next of these statuses, then not at all; the requests arrive in the
    /// receiver.
    fn api(statuses: &[u16]) -> (Api, mpsc::UnboundedReceiver<(String, Value)>) {
        const FORBIDDEN: &str = r#"events is forbidden: User "system:serviceaccount:ns:watcher" cannot create resource "events" in API group """#;
        let (seen, requests) = mpsc::unbounded_channel();
        let statuses = std::sync::Arc::new(std::sync::Mutex::new(statuses.iter().rev().copied().collect::<Vec<_>>()));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (seen, status) = (seen.clone(), statuses.lock().unwrap().pop());
            async move {
                let target = format!("{} {}", request.method(), request.uri());
                let body = request.into_body().collect_bytes().await.unwrap();
                seen.send((target, serde_json::from_slice(&body).unwrap())).unwrap();
                match status {
                    Some(403) => Response::builder().status(403).body(Body::from(FORBIDDEN.as_bytes().to_vec())),
                    Some(status) => Response::builder().status(status).body(Body::from(br#"{"metadata":{}}"#.to_vec())),
                    None => std::future::pending().await,
                }
            }
        });
        (Api::new(kube::Client::new(service, "ns")), requests)
    }

    #[test]
    fn an_event_says_what_happened_to_what() {
        let now: Timestamp = "2026-10-01T12:00:00.5Z".parse().unwrap();
        assert_eq!(
            event("app-0.1", &deleted("app-0", Reason::PodGone), now, "watcher-0"),
            serde_json::json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "app-0.1", "namespace": "ns"},
                "involvedObject":
                    {"apiVersion": "v1", "kind": "Service", "namespace": "ns", "name": "app-0", "uid": "s1"},
                "related": {"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "app-0", "uid": "p1"},
                "type": "Normal",
                "reason": "PodGone",
                "message": "Deleted Service app-0: pod app-0 (UID p1) is gone",
                "action": "Delete",
                "source": {"component": "ipf-dynamic-nodeport-service-watcher"},
                "reportingComponent": "ipf-dynamic-nodeport-service-watcher",
                "reportingInstance": "watcher-0",
                "firstTimestamp": "2026-10-01T12:00:00Z",
                "lastTimestamp": "2026-10-01T12:00:00Z",
                "count": 1,
            })
        );
    }

    #[test]
    fn each_reason_has_its_words() {
        let unknown = |reason| Deleted { pod_uid: None, ..deleted("app-0", reason) };
        for (deleted, expected) in [
            (unknown(Reason::PodGone), "Deleted Service app-0: pod app-0 is gone"),
            (
                deleted("s", Reason::PodReplaced),
                "Deleted Service s: another pod has taken the place of pod app-0 (UID p1)",
            ),
            (deleted("s", Reason::PodFinished), "Deleted Service s: pod app-0 (UID p1) has finished"),
        ] {
            assert_eq!(message(&deleted), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_written_one_after_the_other_whatever_becomes_of_each() {
        let (api, mut requests) = api(&[201, 500, 409, 201]);
        let events = Events::start(api);
        for service in ["a", "b", "c", "d"] {
            events.deleted(&deleted(service, Reason::PodGone));
        }
        events.finish(Duration::from_secs(1)).await;
        let mut names = Vec::new();
        while let Ok((target, body)) = requests.try_recv() {
            assert_eq!(
                target,
                "POST /api/v1/namespaces/ns/events?fieldManager=ipf-dynamic-nodeport-service-watcher&fieldValidation=Strict"
            );
            names.push(body["metadata"]["name"].as_str().unwrap().split('.').next().unwrap().to_owned());
        }
        assert_eq!(names, ["a", "b", "c", "d"]);
    }

    #[tokio::test(start_paused = true)]
    async fn where_it_is_not_permitted_it_is_not_tried_again() {
        let (api, mut requests) = api(&[201, 403]);
        let events = Events::start(api);
        for _ in 0..9 {
            events.deleted(&deleted("a", Reason::PodGone));
        }
        events.queue.closed().await;
        events.deleted(&deleted("a", Reason::PodGone));
        events.finish(Duration::from_secs(1)).await;
        assert!(requests.recv().await.is_some() && requests.recv().await.is_some());
        assert!(requests.try_recv().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_api_delays_nobody_and_fills_no_memory() {
        let (api, mut requests) = api(&[]);
        let events = Events::start(api);
        for _ in 0..=WAITING {
            events.deleted(&deleted("a", Reason::PodGone));
        }
        assert_eq!(events.queue.capacity(), 0);
        assert!(requests.recv().await.is_some());
        let begin = tokio::time::Instant::now();
        assert!(requests.recv().await.is_some(), "the next is tried");
        assert_eq!(begin.elapsed().as_secs(), TIME.as_secs());
        events.finish(Duration::from_millis(500)).await;
    }
}
