//! What several scenarios do.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use cluster_tests::{
    harness::{Namespace, manifests},
    nodes::{AdditionalNetwork, Cluster, Network, networks, pods},
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

/// The port that the application listens on, on all of a pod's networks.
pub(crate) const PORT: u16 = 8558;

/// Runs this many pods, half of them on each node, attached to these networks (`core,default/access`), and returns them when
/// they are ready. Their label `app` is this name.
pub(crate) async fn attached(namespace: &Namespace<'_>, name: &str, networks: &str, count: usize) -> Vec<Pod> {
    let labels = json!({"app": name});
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"k8s.v1.cni.cncf.io/networks": networks}},
                "spec": {
                    "topologySpreadConstraints": [{
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": labels},
                    }],
                    "automountServiceAccountToken": false,
                    "containers": [{"name": "application", "image": pods::APPLICATION}],
                },
            },
        },
    });
    manifests::create(&namespace.admin(), namespace.name(), vec![deployment]).await;
    pods::ready(namespace, &format!("app={name}"), count).await
}

/// Names of pods.
pub(crate) fn names(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().map(|pod| pods::name(pod).to_owned()).collect()
}

/// The addresses that pods have on an additional network.
pub(crate) fn addresses(pods: &[Pod], network: AdditionalNetwork) -> BTreeSet<IpAddr> {
    pods.iter().map(|pod| networks::address(pod, network)).collect()
}

/// Has a pod ask at an address by HTTP: who answers there.
pub(crate) async fn dial(cluster: &Cluster, pod: &Pod, to: SocketAddr) -> String {
    cluster.reach(Network::Client, pods::address(pod, PORT), &format!("/dial/{to}/")).await
}

/// What a Service is to be like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type {
    /// A name that means the addresses.
    Headless,
    /// A port of each node.
    NodePort,
}

/// Makes a Service that leads to these addresses, by hand: without selector, and with an EndpointSlice of its own.
pub(crate) async fn expose(namespace: &Namespace<'_>, name: &str, kind: Type, addresses: &BTreeSet<IpAddr>) {
    let port = json!({"name": "http", "port": 80, "targetPort": PORT});
    let spec = match kind {
        Type::Headless => json!({"clusterIP": "None", "ports": [port]}),
        Type::NodePort => json!({"type": "NodePort", "ports": [port]}),
    };
    let endpoints: Vec<Value> = addresses.iter().map(|address| json!({"addresses": [address]})).collect();
    let documents = vec![
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}),
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": PORT, "protocol": "TCP"}],
            "endpoints": endpoints,
        }),
    ];
    manifests::create(&namespace.admin(), namespace.name(), documents).await;
}
