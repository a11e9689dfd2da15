//! What a NetService must be beyond what its types say: rules in CEL, which the API server judges each create and update by. Each
//! message says what to do; with the reason FieldValueDuplicate the API server would leave it out.

use serde_json::{Value, json};

/// A label of DNS, whose length is judged apart.
const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A NetworkAttachmentDefinition's name, perhaps behind its namespace.
const NETWORK: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
/// What Kubernetes calls a qualified name.
const QUALIFIED_NAME: &str = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
/// A value of a label.
const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/// Rules of `metadata`, which only the resource as a whole can have.
pub(super) fn name() -> Value {
    json!([{
        "rule": format!("self.metadata.name.size() <= 63 && self.metadata.name.matches('{DNS_LABEL}')"),
        "message": "metadata.name must be a Service's: at most 63 lower-case letters, digits and '-', the first and last a letter or \
                    digit",
    }])
}

/// Rules of `spec`.
pub(crate) fn spec() -> Value {
    json!([
        {
            "rule": "self.type == 'Headless' || (has(self.ports) && self.ports.size() > 0)",
            "fieldPath": ".ports",
            "reason": "FieldValueRequired",
            "message": "type ClusterIP and type NodePort need at least one port: add it, or use type Headless",
        },
        {
            "rule": "self.type == 'NodePort' || !has(self.ports) || self.ports.all(port, !has(port.nodePort))",
            "fieldPath": ".ports",
            "message": "nodePort needs type NodePort: set that, or remove nodePort",
        },
        {
            "rule": "has(self.netAttachDef) || !has(self.interface)",
            "fieldPath": ".interface",
            "message": "interface chooses among attachments to netAttachDef: name that, or remove interface",
        },
    ])
}

/// Rules of `spec.netAttachDef`.
pub(crate) fn network() -> Value {
    json!([
        {
            "rule": "self.size() > 0",
            "message": "an empty name is that of no network: name a NetworkAttachmentDefinition, or remove netAttachDef for the pod network",
        },
        {
            "rule": format!("self.size() == 0 || self.matches('{NETWORK}')"),
            "message": "must be the name of a NetworkAttachmentDefinition, or namespace/name",
        },
    ])
}

/// Of `spec.selector`: labels, whose values the API server bounds. A key that is none of a label selects no pod.
pub(crate) fn selector(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {
            "type": "string",
            "maxLength": 63,
            "x-kubernetes-validations": [{
                "rule": format!("self.matches('{LABEL_VALUE}')"),
                "message": "must be a label's value: letters, digits, '-', '_' and '.', the first and last a letter or digit",
            }],
        },
    })
}

/// Rules of `spec.ports`. That none is there twice, its keys say.
pub(crate) fn ports() -> Value {
    json!([
        {
            "rule": "self.size() < 2 || self.all(port, has(port.name) && port.name.size() > 0)",
            "reason": "FieldValueRequired",
            "message": "several ports need a name each: give each its own",
        },
        {
            "rule": "self.all(port, !has(port.name) || port.name.size() == 0 || self.exists_one(other, has(other.name) && other.name == \
                     port.name))",
            "message": "two ports have one name: give each its own",
        },
        {
            "rule": "self.all(port, !has(port.nodePort) || self.exists_one(other, has(other.nodePort) && other.nodePort == \
                     port.nodePort && other.protocol == port.protocol))",
            "message": "two ports have one nodePort, which only ports of different protocols may: give each its own, or leave one to \
                        Kubernetes",
        },
    ])
}

/// Rules of a port's name.
pub(crate) fn port_name() -> Value {
    json!([{
        "rule": format!("self.size() == 0 || self.matches('{DNS_LABEL}')"),
        "message": "must be lower-case letters, digits and '-', the first and last a letter or digit",
    }])
}

/// Rules of `appProtocol`.
pub(crate) fn app_protocol() -> Value {
    json!([{
        "rule": format!("self.matches('{QUALIFIED_NAME}')"),
        "message": "must be a protocol's name of IANA, such as http, or a name with a domain before it, such as example.com/sip",
    }])
}

/// Rules of `spec.ipFamilies`.
pub(crate) fn families() -> Value {
    json!([{
        "rule": "self.size() != 2 || self[0] != self[1]",
        "message": "one family is there twice: remove one of them",
    }])
}

/// Of `targetPort`: a number, or the name of a container's port (RFC 6335). Rules would cost too much here: nothing bounds the length
/// that the API server reckons with.
pub(crate) fn target_port(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": 1,
        "maximum": 65535,
        "maxLength": 15,
        // With a letter at least, and no two '-' together.
        "pattern": "^([0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$",
    })
}
