//! Reads from a Pod object what the creator uses; it never asks the API.

use std::{collections::BTreeMap, net::IpAddr};

use common::ownership::PodRef;
use serde::{Deserialize, Serialize};

use crate::service::Protocol;

/// Which pod: all that identifies it to a person or a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodIdentity {
    /// `metadata.name`
    pub name: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.uid`
    pub uid: String,
}

impl PodIdentity {
    /// Its name and UID, for judging what belongs to it within its namespace.
    #[must_use]
    pub fn reference(&self) -> PodRef {
        PodRef { name: self.name.clone(), uid: self.uid.clone() }
    }
}

/// The pod is over: a program that outlives its pod must leave the next one of the name alone.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("pod {name} (UID {uid}) is no longer in namespace {namespace}: it was deleted, or another pod has its name now", name = .0.name, uid = .0.uid, namespace = .0.namespace)]
pub struct PodGone(pub PodIdentity);

/// A pod as the API shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPod {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.labels`
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `spec.nodeName`; empty until the pod is scheduled.
    pub node: Option<String>,
    /// `spec.hostNetwork`
    pub network: Network,
    /// `status.hostIPs`, or `status.hostIP` alone from older API servers. The kubelet sets them after the start.
    pub host_ips: Vec<IpAddr>,
    /// `status.podIP`, which the kubelet often sets only after init containers have started.
    pub pod_ip: Option<String>,
    /// The named container ports that a Service can target, in the order in which Kubernetes looks for them.
    pub ports: Vec<NamedPort>,
}

/// A container's port that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    /// Its name.
    pub name: String,
    /// The protocol: a name can be used once for each.
    pub protocol: Protocol,
    /// Its number.
    pub number: u16,
}

/// Whose network a pod is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Its own.
    #[default]
    Pod,
    /// The node's.
    Host,
}

/// The fields of a Pod that are read. The whole type would bring the parsing of every volume type there is.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Pod {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    uid: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
    host_network: bool,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    ports: Vec<ContainerPort>,
    restart_policy: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerPort {
    name: String,
    container_port: u16,
    protocol: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    #[serde(rename = "hostIP")]
    host_ip: String,
    #[serde(rename = "hostIPs")]
    host_ips: Vec<HostIp>,
    #[serde(rename = "podIP")]
    pod_ip: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HostIp {
    ip: String,
}

impl<'de> Deserialize<'de> for ObservedPod {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Pod::deserialize(deserializer).map(Self::from)
    }
}

impl From<Pod> for ObservedPod {
    fn from(Pod { metadata, spec, status }: Pod) -> Self {
        let host_ips = match status.host_ips.as_slice() {
            [] => vec![status.host_ip],
            _ => status.host_ips.into_iter().map(|host| host.ip).collect(),
        };
        // As `FindPort` of k8s.io/endpointslice: containers first, then those init containers that go on running.
        let sidecars = spec.init_containers.into_iter().filter(|container| container.restart_policy == "Always");
        let containers = spec.containers.into_iter().chain(sidecars);
        let ports = containers.flat_map(|container| container.ports).filter(|port| !port.name.is_empty());
        Self {
            uid: metadata.uid,
            labels: metadata.labels,
            annotations: metadata.annotations,
            node: Some(spec.node_name).filter(|name| !name.is_empty()),
            network: if spec.host_network { Network::Host } else { Network::Pod },
            host_ips: host_ips.iter().filter_map(|ip| ip.parse().ok()).collect(),
            pod_ip: Some(status.pod_ip).filter(|ip| !ip.is_empty()),
            ports: ports
                .map(|port| NamedPort {
                    protocol: Protocol::of_name(&port.protocol).unwrap_or(Protocol::TCP),
                    name: port.name,
                    number: port.container_port,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: serde_json::Value) -> ObservedPod {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn reads_what_is_there() {
        let pod = read(serde_json::json!({
            "metadata": {"uid": "u", "labels": {"app": "x"}, "annotations": {"a": "b"}},
            "spec": {
                "nodeName": "node-1", "hostNetwork": true,
                "containers": [{"name": "c", "ports": [{"name": "artery", "containerPort": 25520}, {"containerPort": 1}]}],
                "initContainers": [
                    {"name": "s", "restartPolicy": "Always", "ports": [{"name": "management", "containerPort": 8558, "protocol": "UDP"}]},
                    {"name": "i", "ports": [{"name": "gone", "containerPort": 1}]}]},
            "status": {"hostIP": "10.0.0.5", "hostIPs": [{"ip": "10.0.0.5"}, {"ip": "fd00::5"}], "podIP": "10.244.0.7"},
        }));
        assert_eq!(pod.uid, "u");
        assert_eq!(pod.node.as_deref(), Some("node-1"));
        assert_eq!(pod.network, Network::Host);
        assert_eq!(pod.host_ips, ["10.0.0.5".parse::<IpAddr>().unwrap(), "fd00::5".parse().unwrap()]);
        assert_eq!(pod.pod_ip.as_deref(), Some("10.244.0.7"));
        let port = |name: &str, protocol, number| NamedPort { name: name.into(), protocol, number };
        assert_eq!(pod.ports, [port("artery", Protocol::TCP, 25520), port("management", Protocol::UDP, 8558)]);
    }

    #[test]
    fn what_the_kubelet_has_not_set_yet_is_absent() {
        let pod = read(serde_json::json!({"metadata": {"uid": "u"}, "status": {"podIP": "", "hostIPs": []}}));
        assert_eq!(pod, ObservedPod { uid: "u".into(), ..ObservedPod::default() });
        let old = read(serde_json::json!({"metadata": {}, "status": {"hostIP": "10.0.0.5"}}));
        assert_eq!(old.host_ips, ["10.0.0.5".parse::<IpAddr>().unwrap()]);
    }
}
