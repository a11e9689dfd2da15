//! Reads from a Pod object what the creator uses; it never asks the API.

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::api::core::v1::Pod;

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

impl ObservedPod {
    /// Reads the object.
    #[must_use]
    pub fn read(pod: Pod) -> Self {
        let spec = pod.spec.unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let host_ips: Vec<Option<String>> = match status.host_ips {
            Some(list) if !list.is_empty() => list.into_iter().map(|host| Some(host.ip)).collect(),
            _ => vec![status.host_ip],
        };
        // An init container with restartPolicy Always is a sidecar, and may serve a port too.
        let containers = spec.containers.into_iter().chain(spec.init_containers.unwrap_or_default());
        let ports = containers
            .flat_map(|container| container.ports.unwrap_or_default())
            .filter_map(|port| Some((port.name?, u16::try_from(port.container_port).ok()?)));
        Self {
            uid: pod.metadata.uid.unwrap_or_default(),
            labels: pod.metadata.labels.unwrap_or_default(),
            annotations: pod.metadata.annotations.unwrap_or_default(),
            node: spec.node_name.filter(|name| !name.is_empty()),
            network: if spec.host_network == Some(true) { Network::Host } else { Network::Pod },
            host_ips: host_ips.into_iter().flatten().filter_map(|ip| ip.parse().ok()).collect(),
            pod_ip: status.pod_ip.filter(|ip| !ip.is_empty()),
            ports: ports.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: serde_json::Value) -> ObservedPod {
        ObservedPod::read(serde_json::from_value(json).unwrap())
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
