//! What was asked of a network provider for NodePort Services: five steps, and the deletion. The steps' numbers are in the code.

use std::{collections::BTreeSet, net::IpAddr};

use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{Cluster, NODES, Network, Protocol, pods};
use crate::harness::{Namespace, eventually};

/// The name that the port of each Service has to have.
pub const PORT: &str = "http";

/// Step 1: a few pods with a label, app=test, and with these annotations; one without it, which must never answer.
pub async fn start(namespace: &Namespace<'_>, annotations: &Value) -> Vec<Pod> {
    let start = async |name, node, app| {
        pods::plain(namespace, name, node, json!({"labels": {"app": app}, "annotations": annotations})).await
    };
    let [first, second] = NODES;
    let (one, two, three, _) = tokio::join!(
        start("test-1", first, "test"),
        start("test-2", second, "test"),
        start("test-3", second, "test"),
        start("other", first, "other"),
    );
    vec![one, two, three]
}

/// The other steps with pods of the first, which are to be reached at these addresses. How a Service for them is created (of this
/// name, with this node port or any) and deleted is up to the caller.
///
/// # Panics
/// When a step does not lead where it should.
pub async fn lead(
    cluster: &Cluster,
    namespace: &Namespace<'_>,
    started: &[Pod],
    addresses: &BTreeSet<IpAddr>,
    create: impl AsyncFn(&str, Option<u16>),
    delete: impl AsyncFn(&str),
) {
    // 2. A Service of type NodePort, by that label.
    create("my-service", None).await;

    // 3. It is there, with a node port from the range.
    let port = pods::node_port(namespace, "my-service", PORT).await;
    assert!((30_000..=32_767).contains(&port), "{port}");

    // 4. Its endpoints are the addresses of just these pods.
    eventually(pods::PODS_READY, "the endpoints are the pods", async || {
        let selector = ListParams::default().labels("kubernetes.io/service-name=my-service");
        let slices = namespace.api::<EndpointSlice>().list(&selector).await.map_err(|error| error.to_string())?;
        let endpoints = slices.items.into_iter().flat_map(|slice| slice.endpoints.unwrap_or_default());
        let seen: BTreeSet<IpAddr> =
            endpoints.flat_map(|endpoint| endpoint.addresses).filter_map(|address| address.parse().ok()).collect();
        if seen == *addresses { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;

    // 5. A connection to NODE:NODEPORT leads to one of the pods, on every node, and to each of them in time.
    let names = pods::names(started);
    for node in NODES {
        cluster.reach_each(Network::Client, Protocol::Tcp, node.at(port), &names).await;
    }

    // Deletion: the port is free at once …
    delete("my-service").await;
    create("next", Some(port)).await;
    delete("next").await;
    // … and closed on every node.
    for node in NODES {
        cluster.refused(Network::Client, Protocol::Tcp, node.at(port)).await;
    }
    // Whoever has it next is reached by it.
    create("after", Some(port)).await;
    for node in NODES {
        let answer = cluster.reach(Network::Client, node.at(port), "/").await;
        assert!(names.contains(&answer), "{answer}");
    }
    delete("after").await;
}
