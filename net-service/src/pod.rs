//! A pod, as far as it is remembered; what becomes of it is decided elsewhere.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::IpAddr,
    sync::Arc,
};

use common::key::Key;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;

use crate::{
    network::{self, NetworkStatus},
    object::nothing_for_null,
    resource::Protocol,
};

/// Label of a pod with the zone that it runs in. Kubernetes sets it from the node (KEP-4742); nodes are not read.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// What is kept of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.name`
    pub name: Arc<str>,
    /// `metadata.uid`
    pub uid: Arc<str>,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// `metadata.labels`
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// What it is doing.
    pub stage: Stage,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
    /// Whether it is in its node's network.
    pub has_host_network: bool,
    /// `spec.nodeName`
    pub node: Option<Arc<str>>,
    /// `spec.hostname`, together with `spec.subdomain`: its name below that of a Service.
    pub hostname: Option<(Box<str>, Box<str>)>,
    /// The ports of its containers that have a name.
    pub ports: Box<[NamedPort]>,
    /// Its addresses on the cluster's own network.
    pub addresses: Box<[IpAddr]>,
    /// What it says about its networks.
    pub networks: NetworkStatus,
    /// Stands for the text that says so, to tell a change of it.
    pub networks_hash: u64,
}

/// What a pod is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It runs, or will.
    #[default]
    Alive,
    /// It is being deleted, and may still run.
    Terminating,
    /// All its containers have ended for good.
    Finished,
}

/// A container's port that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    /// The name.
    pub name: Box<str>,
    /// The port.
    pub number: u16,
    /// Its protocol.
    pub protocol: Protocol,
}

impl Pod {
    /// Whether it has all these labels; none are nobody's.
    #[must_use]
    pub fn is_selected_by(&self, selector: &BTreeMap<String, String>) -> bool {
        let has = |(key, value): (&String, &String)| {
            let mut labels = self.labels.iter();
            labels.any(|(own_key, own_value)| **own_key == **key && **own_value == **value)
        };
        !selector.is_empty() && selector.iter().all(has)
    }

    /// The number of a named port. As Kubernetes does, the first that fits.
    #[must_use]
    pub fn port(&self, name: &str, protocol: Protocol) -> Option<u16> {
        let mut ports = self.ports.iter();
        ports.find(|port| *port.name == *name && port.protocol == protocol).map(|port| port.number)
    }

    /// The zone it runs in.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.labels.iter().find(|(key, _)| **key == *ZONE_LABEL).map(|(_, zone)| &**zone)
    }
}

/// A pod as the API writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Object {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "nothing_for_null")]
    labels: BTreeMap<Box<str>, Box<str>>,
    annotations: Annotations,
}

/// The annotations that are read; the others are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "k8s.v1.cni.cncf.io/network-status")]
    status: Option<String>,
    #[serde(rename = "k8s.v1.cni.cncf.io/networks-status")]
    old_status: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: String,
    host_network: bool,
    hostname: Box<str>,
    subdomain: Box<str>,
    #[serde(deserialize_with = "nothing_for_null")]
    containers: Vec<Container>,
    #[serde(deserialize_with = "nothing_for_null")]
    init_containers: Vec<Container>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    #[serde(deserialize_with = "nothing_for_null")]
    ports: Vec<Port>,
    restart_policy: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Port {
    name: Box<str>,
    container_port: u16,
    protocol: Protocol,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    #[serde(deserialize_with = "nothing_for_null")]
    conditions: Vec<Condition>,
    #[serde(rename = "podIP")]
    pod_ip: String,
    #[serde(rename = "podIPs", deserialize_with = "nothing_for_null")]
    pod_ips: Vec<PodIp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodIp {
    ip: String,
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
        Key::new(&self.metadata.namespace, &self.metadata.name)
    }

    /// What is kept of it.
    #[must_use]
    pub fn kept(self, name: Arc<str>) -> Pod {
        let Self { metadata, spec, status } = self;
        let stage = match status.phase.as_str() {
            "Succeeded" | "Failed" => Stage::Finished,
            _ if metadata.deletion_timestamp.is_some() => Stage::Terminating,
            _ => Stage::Alive,
        };
        let annotation = metadata.annotations.status.or(metadata.annotations.old_status).unwrap_or_default();
        Pod {
            name,
            uid: metadata.uid.into(),
            created: metadata.creation_timestamp,
            labels: metadata.labels.into_iter().collect(),
            stage,
            is_ready: status.conditions.iter().any(|condition| condition.kind == "Ready" && condition.status == "True"),
            has_host_network: spec.host_network,
            node: Some(spec.node_name).filter(|name| !name.is_empty()).map(Into::into),
            hostname: Some((spec.hostname, spec.subdomain)).filter(|(hostname, _)| !hostname.is_empty()),
            ports: named(spec.containers, spec.init_containers),
            addresses: addresses(&status.pod_ip, &status.pod_ips),
            networks_hash: hash(&annotation),
            networks: network::parse(&annotation),
        }
    }
}

/// The ports with names, of the containers and then of the init containers that keep running beside them.
fn named(containers: Vec<Container>, init_containers: Vec<Container>) -> Box<[NamedPort]> {
    let sidecars = init_containers.into_iter().filter(|container| container.restart_policy == "Always");
    let ports = containers.into_iter().chain(sidecars).flat_map(|container| container.ports);
    let named = ports.filter(|port| !port.name.is_empty());
    named.map(|Port { name, container_port, protocol }| NamedPort { name, number: container_port, protocol }).collect()
}

fn addresses(first: &str, all: &[PodIp]) -> Box<[IpAddr]> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for text in [first].into_iter().chain(all.iter().map(|address| address.ip.as_str())) {
        if let Ok(address) = text.parse()
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses.into()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::network::{OLD_STATUS_ANNOTATION, STATUS_ANNOTATION};

    fn kept(object: Value) -> Pod {
        serde_json::from_value::<Object>(object).unwrap().kept("app-0".into())
    }

    #[test]
    fn the_new_key_of_the_annotation_is_stronger_than_the_old() {
        let pod = |annotations| kept(json!({"metadata": {"annotations": annotations}})).networks.attachments.len();
        let (one, two) = (r#"[{"name":"a"}]"#, r#"[{"name":"a"},{"name":"b"}]"#);
        assert_eq!(pod(json!({OLD_STATUS_ANNOTATION: one})), 1);
        assert_eq!(pod(json!({OLD_STATUS_ANNOTATION: one, STATUS_ANNOTATION: two})), 2);
        assert_eq!(pod(json!({"other": two})), 0);
    }

    #[test]
    fn what_a_pod_is_doing_is_told_by_its_phase_and_its_deletion() {
        let pod = |phase, deleted: Option<&str>| {
            kept(json!({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}})).stage
        };
        let now = Some("2026-12-01T00:00:00Z");
        assert_eq!(pod("Running", None), Stage::Alive);
        assert_eq!(pod("Running", now), Stage::Terminating);
        for (phase, deleted) in [("Failed", None), ("Succeeded", now)] {
            assert_eq!(pod(phase, deleted), Stage::Finished);
        }
    }

    #[test]
    fn lists_that_are_null_are_empty() {
        let pod = kept(json!({
            "metadata": {"labels": null}, "status": {"conditions": null, "podIPs": null},
            "spec": {"containers": [{"ports": null}], "initContainers": null},
        }));
        assert_eq!(pod, kept(json!({})));
        assert_eq!(kept(json!({"spec": {"containers": null}})), kept(json!({})));
    }

    #[test]
    fn named_ports_are_those_of_what_keeps_running() {
        let port =
            |name: &str, number| json!({"ports": [{"name": name, "containerPort": number}, {"containerPort": 1}]});
        let mut sidecar = port("proxy", 3);
        sidecar["restartPolicy"] = json!("Always");
        let pod = kept(json!({"spec": {
            "containers": [port("web", 80), {"ports": [{"name": "sip", "containerPort": 5060, "protocol": "UDP"}]}],
            "initContainers": [port("setup", 2), sidecar],
        }}));
        assert_eq!(pod.port("web", Protocol::Tcp), Some(80));
        assert_eq!(pod.port("sip", Protocol::Udp), Some(5060));
        assert_eq!(pod.port("sip", Protocol::Tcp), None, "another protocol is another port");
        assert_eq!(pod.port("proxy", Protocol::Tcp), Some(3));
        assert_eq!(pod.port("setup", Protocol::Tcp), None);
    }

    #[test]
    fn an_empty_selector_selects_nobody() {
        let pod = kept(json!({"metadata": {"labels": {"app": "a", "tier": "b"}}}));
        let selects = |labels: &[(&str, &str)]| {
            pod.is_selected_by(&labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        assert!(selects(&[("app", "a")]) && selects(&[("app", "a"), ("tier", "b")]));
        assert!(!selects(&[]) && !selects(&[("app", "b")]) && !selects(&[("app", "a"), ("more", "c")]));
    }

    #[test]
    fn its_addresses_are_each_there_once_and_what_is_none_is_passed_over() {
        let status = json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": ""}]});
        let pod = kept(json!({"status": status}));
        assert_eq!(*pod.addresses, ["10.0.0.1".parse::<IpAddr>().unwrap(), "fd00::1".parse().unwrap()]);
    }
}
