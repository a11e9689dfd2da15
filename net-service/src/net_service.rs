//! A NetService as it is remembered; what becomes of it is decided elsewhere.

use common::key::Key;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    object::{Metadata, OwnerReference},
    problem::problem,
    resource::{Group, KIND, Spec, Status},
};

/// What is kept of a NetService.
#[derive(Clone, Debug, PartialEq)]
pub struct NetService {
    /// The group that has it.
    pub group: Group,
    /// Namespace and name.
    pub key: Key,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.generation`
    pub generation: Option<i64>,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub is_going: bool,
    /// `metadata.resourceVersion`, as a number.
    pub revision: Option<u64>,
    /// What it asks for, or what is wrong with that and what to do.
    pub spec: Result<Spec, String>,
    /// What it was told last.
    pub status: Status,
}

/// Which spec of which NetService something is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edition {
    /// `metadata.uid`: another one of the name begins with the same generation.
    pub uid: String,
    /// `metadata.generation`
    pub generation: Option<i64>,
}

/// A NetService as the API writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Object {
    metadata: Metadata,
    spec: Value,
    status: Value,
}

impl common::api::watch::Watchable for Object {
    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

impl Object {
    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> Key {
        self.metadata.key()
    }

    /// What is kept of it.
    #[must_use]
    pub fn kept(self, group: Group) -> NetService {
        let Self { metadata, spec, status } = self;
        NetService {
            group,
            key: metadata.key(),
            revision: metadata.revision(),
            generation: metadata.generation,
            created: metadata.creation_timestamp,
            is_going: metadata.deletion_timestamp.is_some(),
            spec: read(&metadata.name, spec),
            // What cannot be read is written anew.
            status: serde_json::from_value(status).unwrap_or_default(),
            uid: metadata.uid,
        }
    }
}

impl NetService {
    /// Which spec it has.
    #[must_use]
    pub fn edition(&self) -> Edition {
        Edition { uid: self.uid.clone(), generation: self.generation }
    }

    /// Whether it asks for the same, whatever it was told.
    #[must_use]
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let asks = |net_service: &Self| (net_service.generation, net_service.is_going);
        self.uid == other.uid && asks(self) == asks(other) && self.spec == other.spec
    }

    /// Whether it is the same, but for its resource version.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.asks_the_same(other) && self.status == other.status
    }

    /// The reference to it in what it owns. It blocks nobody's deletion, so that it takes no permission to set it.
    #[must_use]
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.group.api_version().to_owned(),
            kind: KIND.to_owned(),
            name: self.key.name.to_string(),
            uid: self.uid.clone(),
            controller: true,
        }
    }
}

fn read(name: &str, spec: Value) -> Result<Spec, String> {
    let spec = if spec.is_null() { Value::Object(serde_json::Map::new()) } else { spec };
    let spec: Spec =
        serde_json::from_value(without_nulls(spec)).map_err(|error| format!("spec cannot be read: {error}"))?;
    match problem(name, &spec) {
        None => Ok(spec),
        Some(problem) => Err(problem),
    }
}

/// A field without a value is one that is not there.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem_of(name: &str, spec: &Value) -> String {
        let object = json!({"metadata": {"name": name, "namespace": "ns", "uid": "u"}, "spec": spec});
        let object: Object = serde_json::from_value(object).unwrap();
        object.kept(Group::Own).spec.err().unwrap_or_default()
    }

    #[test]
    fn behaviour_12_bad_input_that_no_schema_has_refused_is_told_with_what_to_do() {
        let port = json!({"name": "a", "port": 80});
        for (name, spec, expected) in [
            ("sip", json!(null), ""),
            ("sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}, "unknown": 1}), ""),
            ("sip", json!({"netAttachDef": "ns/core.v1"}), ""),
            ("sip", json!({"netAttachDef": null, "ipFamilies": null, "ports": [{"port": 80, "name": null}]}), ""),
            ("sip", json!({"type": "NodePort", "ports": [port, {"name": "b", "port": 80, "protocol": "UDP"}]}), ""),
            ("0-sip", json!({}), ""),
            ("sip.core", json!({}), r#""sip.core" is no name of a Service: create it under"#),
            ("Sip", json!({}), "is no name"),
            (&"s".repeat(64), json!({}), "is no name"),
            ("sip", json!({"netAttachDef": ""}), "spec.netAttachDef is empty: name a NetworkAttachmentDefinition, or"),
            (
                "sip",
                json!({"netAttachDef": "a/b/c"}),
                r#"spec.netAttachDef "a/b/c" is neither NAME nor NAMESPACE/NAME"#,
            ),
            ("sip", json!({"netAttachDef": "/core"}), "is neither NAME nor"),
            (
                "sip",
                json!({"type": "LoadBalancer"}),
                "spec cannot be read: unknown variant `LoadBalancer`, expected one of",
            ),
            ("sip", json!({"ports": "80"}), "spec cannot be read: invalid type"),
            ("sip", json!("core"), "spec cannot be read: invalid type"),
            ("sip", json!({"type": "ClusterIP"}), "spec.ports is empty: name the ports, or"),
            (
                "sip",
                json!({"ports": [port, {"name": "b", "port": 80}]}),
                "spec.ports[1] is port 80 of TCP a second time",
            ),
            ("sip", json!({"ports": [port, {"port": 81}]}), "spec.ports[1] has no name"),
            ("sip", json!({"ports": [port, {"name": "a", "port": 81}]}), r#"spec.ports[1] is named "a" like another"#),
            ("sip", json!({"ports": [{"name": "A", "port": 81}]}), "spec.ports[0].name"),
            ("sip", json!({"ports": [{"port": 0}]}), "spec.ports[0] has port 0"),
            ("sip", json!({"ports": [{"port": 65536}]}), "spec cannot be read: invalid value: integer `65536`"),
            ("sip", json!({"ports": [{"port": 1, "targetPort": ""}]}), "spec.ports[0].targetPort is empty"),
            (
                "sip",
                json!({"ports": [{"port": 80, "nodePort": 30080}]}),
                "spec.ports[0].nodePort is set: that takes the type",
            ),
            (
                "sip",
                json!({"type": "NodePort", "ports": [{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30001}]}),
                "spec.ports[1] has node port 30001 of TCP a second time",
            ),
            ("sip", json!({"ipFamilies": ["IPv4", "IPv4"]}), "spec.ipFamilies names a family twice"),
        ] {
            let problem = problem_of(name, &spec);
            assert!(problem.contains(expected) && problem.is_empty() == expected.is_empty(), "{spec}: {problem}");
        }
    }

    #[test]
    fn a_status_that_cannot_be_read_counts_as_none() {
        let object = json!({"metadata": {"name": "sip"}, "status": {"endpoints": "three"}});
        let object: Object = serde_json::from_value(object).unwrap();
        assert_eq!(object.kept(Group::Own).status, Status::default());
    }
}
