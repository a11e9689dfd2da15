//! What was asked of a network provider for NodePort Services: five steps, and the deletion. The steps' numbers are in the test.

use std::collections::BTreeSet;

use cluster_tests::{
    harness::eventually,
    nodes::{Answer, Cluster, NODES, Network, pods},
};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::api::{ListParams, PostParams};
use serde_json::json;

use super::support::{delete_service, plain_pod};

fn service(name: &str, node_port: Option<u16>) -> Service {
    let mut port = json!({"port": 80, "targetPort": 8558});
    if let Some(number) = node_port {
        port["nodePort"] = number.into();
    }
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "selector": {"app": "test"}, "ports": [port]},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_node_port_leads_to_the_pods_from_every_node_until_its_service_is_deleted() {
    // Nobody else may take the port that is let go.
    let Some(cluster) = Cluster::alone().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let services = namespace.api::<Service>();

    // 1. A few pods with a label, app=test; one without, which must never answer.
    let mut started = Vec::new();
    for (name, node) in [("test-1", NODES[0]), ("test-2", NODES[1]), ("test-3", NODES[1])] {
        started.push(plain_pod(&namespace, name, node, &[("app", "test")]).await);
    }
    plain_pod(&namespace, "other", NODES[0], &[("app", "other")]).await;

    // 2. A Service of type NodePort, by that label.
    let created = services.create(&PostParams::default(), &service("my-service", None)).await.unwrap();

    // 3. It is there, with a node port from the range.
    let allocated = created.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
    assert!((30_000..=32_767).contains(&allocated), "{allocated}");
    let port = u16::try_from(allocated).unwrap();

    // 4. Its endpoints are the addresses of just these pods.
    let addresses: BTreeSet<_> = started.iter().map(|pod| pods::address(pod, 0).ip().to_string()).collect();
    eventually(pods::PODS_READY, "the endpoints are the pods", async || {
        let selector = ListParams::default().labels("kubernetes.io/service-name=my-service");
        let slices = namespace.api::<EndpointSlice>().list(&selector).await.unwrap().items;
        let endpoints = slices
            .into_iter()
            .flat_map(|slice| slice.endpoints.unwrap_or_default())
            .flat_map(|endpoint| endpoint.addresses);
        let seen: BTreeSet<_> = endpoints.collect();
        if seen == addresses { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;

    // 5. A connection to NODE:NODEPORT leads to one of the pods, on every node, and to each of them in time.
    let names: BTreeSet<_> = started.iter().map(|pod| pods::name(pod).to_owned()).collect();
    for node in NODES {
        cluster.reach_each(Network::Client, node.at(port), &names).await;
    }

    // Deletion: the port is free at once …
    delete_service(&namespace, "my-service").await;
    services.create(&PostParams::default(), &service("next", Some(port))).await.unwrap();
    delete_service(&namespace, "next").await;
    // … and closed on every node.
    for node in NODES {
        eventually(pods::PODS_READY, &format!("{node}:{port} is closed"), async || {
            match cluster.get(Network::Client, node.at(port), "/").await {
                Answer::Refused => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    // Whoever has it next is reached by it.
    services.create(&PostParams::default(), &service("after", Some(port))).await.unwrap();
    for node in NODES {
        assert!(names.contains(&cluster.reach(Network::Client, node.at(port), "/").await));
    }
}
