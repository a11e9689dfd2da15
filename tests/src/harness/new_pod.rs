//! Pods to be created: what a controller and a scheduler would have decided.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod as Object;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use super::{
    Namespace, Pod,
    control_plane::{NODE, NODE_IPV4},
};

/// A pod to be created. It has the namespace's service account, the documented product label, and lies on [`NODE`].
#[must_use]
pub struct NewPod<'a> {
    namespace: &'a Namespace<'a>,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    node: Option<String>,
    network: Network,
    ports: Vec<(String, u16)>,
    host_ips: Vec<String>,
    pod_ips: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Own,
    Host,
}

impl<'a> NewPod<'a> {
    pub(super) fn new(namespace: &'a Namespace<'a>, name: &str) -> Self {
        Self {
            namespace,
            name: name.to_owned(),
            labels: BTreeMap::from([("product".to_owned(), "ipfv2".to_owned())]),
            annotations: BTreeMap::new(),
            node: Some(NODE.to_owned()),
            network: Network::Own,
            ports: Vec::new(),
            host_ips: vec![NODE_IPV4.to_owned()],
            pod_ips: Vec::new(),
        }
    }

    /// One more label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Takes a label away: `product` is there at first.
    pub fn without_label(mut self, key: &str) -> Self {
        self.labels.remove(key);
        self
    }

    /// One more annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Another Node, which must exist.
    pub fn node(mut self, name: &str) -> Self {
        self.node = Some(name.to_owned());
        self
    }

    /// Not yet on any Node.
    pub fn unscheduled(mut self) -> Self {
        self.node = None;
        self
    }

    /// `hostNetwork: true`.
    pub fn host_network(mut self) -> Self {
        self.network = Network::Host;
        self
    }

    /// One more named port of its container.
    pub fn port(mut self, name: &str, port: u16) -> Self {
        self.ports.push((name.to_owned(), port));
        self
    }

    /// The node's addresses that the kubelet reports, the primary one first; none when it has not reported yet.
    pub fn host_ips(mut self, addresses: &[&str]) -> Self {
        self.host_ips = addresses.iter().copied().map(str::to_owned).collect();
        self
    }

    /// The pod's addresses that the kubelet reports; none by default, as when a real init container starts.
    pub fn pod_ips(mut self, addresses: &[&str]) -> Self {
        self.pod_ips = addresses.iter().copied().map(str::to_owned).collect();
        self
    }

    /// Creates it, as admin.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn create(self) -> Pod<'a> {
        let object: Object = serde_json::from_value(self.object()).expect("a Pod");
        let pods: Api<Object> = self.namespace.api();
        let created = pods.create(&PostParams::default(), &object).await;
        let object = created.unwrap_or_else(|error| panic!("cannot create Pod {}: {error}", self.name));
        let mut pod = Pod { namespace: self.namespace, object };
        if !(self.host_ips.is_empty() && self.pod_ips.is_empty()) {
            pod.report(addresses(&self.host_ips, &self.pod_ips)).await;
        }
        pod
    }

    fn object(&self) -> Value {
        let host_network = self.network == Network::Host;
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|(name, port)| match self.network {
                Network::Own => json!({"name": name, "containerPort": port}),
                Network::Host => json!({"name": name, "containerPort": port, "hostPort": port}),
            })
            .collect();
        json!({
            "metadata": {"name": self.name, "labels": self.labels, "annotations": self.annotations},
            "spec": {
                "serviceAccountName": self.namespace.account(),
                "nodeName": self.node,
                "hostNetwork": host_network,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 0,
                "initContainers": [{"name": "service-creator", "image": "ipf-dynamic-nodeport-service-creator"}],
                "containers": [{"name": "application", "image": "application", "ports": ports}],
            },
        })
    }
}

/// The part of a pod's status with these addresses of its node and its own.
pub(super) fn addresses(host: &[String], pod: &[String]) -> Value {
    let list = |addresses: &[String]| addresses.iter().map(|address| json!({"ip": address})).collect::<Vec<_>>();
    json!({"hostIP": host.first(), "hostIPs": list(host), "podIP": pod.first(), "podIPs": list(pod)})
}
