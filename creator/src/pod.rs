//! Reads from a Pod object what the creator uses; it never asks the API.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Deserialize;

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
    /// The numbers of the named container ports, for named targetPorts.
    pub ports: BTreeMap<String, u16>,
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
#[serde(default)]
struct Container {
    ports: Vec<ContainerPort>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerPort {
    name: String,
    container_port: u16,
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
        // An init container with restartPolicy Always is a sidecar, and may serve a port too.
        let containers = spec.containers.into_iter().chain(spec.init_containers);
        let ports = containers.flat_map(|container| container.ports).filter(|port| !port.name.is_empty());
        Self {
            uid: metadata.uid,
            labels: metadata.labels,
            annotations: metadata.annotations,
            node: Some(spec.node_name).filter(|name| !name.is_empty()),
            network: if spec.host_network { Network::Host } else { Network::Pod },
            host_ips: host_ips.iter().filter_map(|ip| ip.parse().ok()).collect(),
            pod_ip: Some(status.pod_ip).filter(|ip| !ip.is_empty()),
            ports: ports.map(|port| (port.name, port.container_port)).collect(),
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
                "initContainers": [{"name": "s", "ports": [{"name": "management", "containerPort": 8558}]}]},
            "status": {"hostIP": "10.0.0.5", "hostIPs": [{"ip": "10.0.0.5"}, {"ip": "fd00::5"}], "podIP": "10.244.0.7"},
        }));
        assert_eq!(pod.uid, "u");
        assert_eq!(pod.node.as_deref(), Some("node-1"));
        assert_eq!(pod.network, Network::Host);
        assert_eq!(pod.host_ips, ["10.0.0.5".parse::<IpAddr>().unwrap(), "fd00::5".parse().unwrap()]);
        assert_eq!(pod.pod_ip.as_deref(), Some("10.244.0.7"));
        assert_eq!(pod.ports, BTreeMap::from([("artery".into(), 25520), ("management".into(), 8558)]));
    }

    #[test]
    fn what_the_kubelet_has_not_set_yet_is_absent() {
        let pod = read(serde_json::json!({"metadata": {"uid": "u"}, "status": {"podIP": "", "hostIPs": []}}));
        assert_eq!(pod, ObservedPod { uid: "u".into(), ..ObservedPod::default() });
        let old = read(serde_json::json!({"metadata": {}, "status": {"hostIP": "10.0.0.5"}}));
        assert_eq!(old.host_ips, ["10.0.0.5".parse::<IpAddr>().unwrap()]);
    }
}
