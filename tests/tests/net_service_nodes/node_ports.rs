//! Behaviour 4: a port on every node that leads to pods' addresses on an additional network.

use std::time::{Duration, Instant};

use cluster_tests::{
    net_service::NetService,
    nodes::{Cluster, Network, NodeName, Protocol, pods},
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::support::{PORT, attached, controlled, scale};

/// How long a proxy may take to do what the endpoints say, on a busy machine: far less than anything here waits for by itself.
const AT_ONCE: Duration = Duration::from_secs(10);

/// In the band that is never allocated by chance.
const NODE_PORT: u16 = 30_051;

/// Where and how the port is asked.
const EACH: [(NodeName, Protocol); 4] = [
    (NodeName::Node1, Protocol::Tcp),
    (NodeName::Node1, Protocol::Udp),
    (NodeName::Node2, Protocol::Tcp),
    (NodeName::Node2, Protocol::Udp),
];

/// One number for both protocols.
fn spec() -> Value {
    let ports = ["TCP", "UDP"].map(|protocol| {
        json!({
            "name": protocol.to_lowercase(),
            "port": 5060,
            "targetPort": PORT,
            "protocol": protocol,
            "nodePort": NODE_PORT,
        })
    });
    json!({"netAttachDef": "core", "selector": {"app": "sip"}, "type": "NodePort", "ports": ports})
}

async fn lead_to(cluster: &Cluster, pods: &[Pod]) {
    let begun = Instant::now();
    for (node, protocol) in EACH {
        cluster.reach_each(Network::Client, protocol, node.at(NODE_PORT), &pods::names(pods)).await;
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?} until all pods are reached", begun.elapsed());
}

/// A refusal is an answer: nobody waits in vain.
async fn are_refused(cluster: &Cluster) {
    let begun = Instant::now();
    for (node, protocol) in EACH {
        cluster.refused(Network::Client, protocol, node.at(NODE_PORT)).await;
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?} until the ports are closed", begun.elapsed());
}

#[tokio::test]
async fn behaviour_4_one_number_for_tcp_and_udp_leads_to_all_pods_on_the_network_from_every_node() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let sip = NetService::create(&namespace, "sip", spec()).await;
    sip.told("Reconciled").await;
    assert_eq!(sip.status().await["nodePorts"], json!([NODE_PORT, NODE_PORT]));
    are_refused(&cluster).await;
    lead_to(&cluster, &attached(&namespace, "sip", "core", 3).await).await;
    scale(&namespace, "sip", 0).await;
    are_refused(&cluster).await;
    let one = scale(&namespace, "sip", 1).await;
    lead_to(&cluster, &one).await;
    sip.delete().await;
    are_refused(&cluster).await;
    let again = NetService::create(&namespace, "again", spec()).await;
    again.told("Reconciled").await;
    lead_to(&cluster, &one).await;
}
