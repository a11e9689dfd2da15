//! What several scenarios do.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use cluster_tests::{
    harness::{Namespace, eventually, manifests},
    net_service::{self as scene, NetService},
    nodes::{AdditionalNetwork, Cluster, Network, networks, networks::NETWORKS_ANNOTATION, pods},
};
use common::labels::WATCHER;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::api::{Patch, PatchParams};
use net_service::resource::Group;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The port that the application listens on, on all of a pod's networks.
pub(crate) const PORT: u16 = 8558;

/// What a resolver says of a name that means nothing, and of one that means no address.
const NOT_THERE: [&str; 2] = ["Name or service not known", "No address associated with hostname"];

/// The label that all pods of the controller have.
pub(crate) const CONTROLLER: &str = "app=ipf-dynamic-nodeport-service-watcher";

/// A namespace with the additional networks, and with so many pods of the controller, ready, under the shipped permissions.
pub(crate) async fn controlled(cluster: &Cluster, replicas: usize) -> Namespace<'_> {
    static SERVED: OnceCell<()> = OnceCell::const_new();
    let control_plane = cluster.control_plane();
    SERVED.get_or_init(|| control_plane.serve_net_services(&Group::ALL)).await;
    let namespace = scene::namespace_of(control_plane).await;
    networks::define_in_namespace(&namespace).await;
    let mut deployment = manifests::read("examples/watcher/watcher.yaml").remove(0);
    assert_eq!(deployment["metadata"]["name"], WATCHER);
    deployment["spec"]["replicas"] = replicas.into();
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array_mut();
    args.expect("it has arguments").extend(["--controllers".into(), "net-service".into()]);
    manifests::create(&namespace.admin(), namespace.name(), vec![deployment]).await;
    pods::ready(&namespace, CONTROLLER, replicas).await;
    namespace
}

/// Pods of this name in their label `app`, attached to these networks (`core,default/access`).
fn template(name: &str, networks: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "metadata": {"labels": labels, "annotations": {NETWORKS_ANNOTATION: networks}},
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
    })
}

async fn run(namespace: &Namespace<'_>, kind: &str, name: &str, networks: &str, count: usize) -> Vec<Pod> {
    let mut workload = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, networks),
        },
    });
    if kind == "StatefulSet" {
        workload["spec"]["serviceName"] = name.into();
        workload["spec"]["podManagementPolicy"] = "Parallel".into();
    }
    manifests::create(&namespace.admin(), namespace.name(), vec![workload]).await;
    pods::ready(namespace, &format!("app={name}"), count).await
}

/// Runs this many pods, half of them on each node, attached to these networks (`core,default/access`), and returns them when
/// they are ready. Their label `app` is this name.
pub(crate) async fn attached(namespace: &Namespace<'_>, name: &str, networks: &str, count: usize) -> Vec<Pod> {
    run(namespace, "Deployment", name, networks, count).await
}

/// The same with names of their own, below that of the Service of this name.
pub(crate) async fn named(namespace: &Namespace<'_>, name: &str, networks: &str, count: usize) -> Vec<Pod> {
    run(namespace, "StatefulSet", name, networks, count).await
}

/// Has another number of [`attached`] pods run, and returns them when they are ready and all others gone.
pub(crate) async fn scale(namespace: &Namespace<'_>, name: &str, count: usize) -> Vec<Pod> {
    let patch = Patch::Merge(json!({"spec": {"replicas": count}}));
    namespace.api::<Deployment>().patch(name, &PatchParams::default(), &patch).await.unwrap();
    pods::ready(namespace, &format!("app={name}"), count).await
}

/// The addresses that pods have on an additional network.
pub(crate) fn addresses(pods: &[Pod], network: AdditionalNetwork) -> BTreeSet<IpAddr> {
    pods.iter().map(|pod| networks::address(pod, network)).collect()
}

/// Waits until the endpoints of a NetService are the addresses of just these pods on a network, all ready, as they have to be at
/// once.
pub(crate) async fn leads_to(net_service: &NetService<'_>, pods: &[Pod], network: AdditionalNetwork) {
    let lines: Vec<_> =
        pods.iter().map(|pod| scene::ready(&networks::address(pod, network).to_string(), pods::name(pod))).collect();
    net_service.endpoints(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// Has a pod ask by HTTP at an address, or at HOST:PORT: who answers there.
pub(crate) async fn dial(cluster: &Cluster, pod: &Pod, to: impl std::fmt::Display) -> String {
    cluster.reach(Network::Client, pods::address(pod, PORT), &format!("/dial/{to}/")).await
}

/// Waits until a name means just these addresses to a pod.
pub(crate) async fn resolves(cluster: &Cluster, pod: &Pod, name: &str, addresses: &BTreeSet<IpAddr>) {
    eventually(pods::PODS_READY, &format!("{} finds {addresses:?}", pods::name(pod)), async || {
        let asked = cluster.get(Network::Client, pods::address(pod, PORT), &format!("/resolve/{name}")).await;
        let found: BTreeSet<IpAddr> = match asked.body() {
            Ok(body) => body.lines().map(|line| line.parse().unwrap()).collect(),
            Err(error) if NOT_THERE.iter().any(|text| error.contains(text)) => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        if found == *addresses { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

/// The controller has asked for nothing that the shipped permissions do not have.
pub(crate) async fn was_never_refused(namespace: &Namespace<'_>) {
    let requests = namespace.requests().await;
    assert!(requests.iter().any(|event| event.verb == "create" && event.resource == "endpointslices"), "it asked");
    let refused: Vec<_> = requests.iter().filter(|event| event.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Changes a pod's metadata by a merge patch, as its user would.
pub(crate) async fn edit_metadata(namespace: &Namespace<'_>, pod: &Pod, metadata: Value) {
    let patch = Patch::Merge(json!({"metadata": metadata}));
    namespace.api::<Pod>().patch(pods::name(pod), &PatchParams::default(), &patch).await.unwrap();
}

/// The address at which a pod is reached on an additional network.
pub(crate) fn at(pod: &Pod, network: AdditionalNetwork) -> SocketAddr {
    SocketAddr::new(networks::address(pod, network), PORT)
}
