//! Services whose endpoints are pods' addresses on an additional network.

use std::{collections::BTreeSet, net::IpAddr};

use cluster_tests::{
    harness::{Namespace, eventually},
    nodes::{AdditionalNetwork, Cluster, NODES, Network, networks, pods},
};
use k8s_openapi::api::core::v1::{Pod, Service};

use super::support::{PORT, Type, addresses, attached, expose, names};

const CORE: AdditionalNetwork = AdditionalNetwork::Core;

/// Three pods on network core, as each scenario has them.
async fn on_core(namespace: &Namespace<'_>) -> Vec<Pod> {
    networks::define_in_namespace(namespace).await;
    attached(namespace, "sip", "core", 3).await
}

/// Waits until a name means just these addresses to a pod.
async fn resolves(cluster: &Cluster, pod: &Pod, name: &str, addresses: &BTreeSet<IpAddr>) {
    eventually(pods::PODS_READY, &format!("{} finds {addresses:?}", pods::name(pod)), async || {
        let body = cluster.get(Network::Client, pods::address(pod, PORT), &format!("/resolve/{name}")).await.body()?;
        let found: BTreeSet<IpAddr> = body.lines().map(|line| line.parse().unwrap()).collect();
        if found == *addresses { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

#[tokio::test]
async fn the_name_of_a_headless_service_means_the_addresses_on_that_network_and_no_other() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let pods = on_core(&namespace).await;
    let addresses = addresses(&pods, CORE);
    expose(&namespace, "sip", Type::Headless, &addresses).await;
    let whole = format!("sip.{}.svc.cluster.local", namespace.name());
    for pod in &pods {
        resolves(&cluster, pod, "sip", &addresses).await;
        resolves(&cluster, pod, &whole, &addresses).await;
    }
    let dialed = cluster.reach(Network::Client, pods::address(&pods[0], PORT), &format!("/dial/sip:{PORT}/")).await;
    assert!(names(&pods).contains(&dialed), "{dialed}");

    namespace.api::<Service>().delete("sip", &Default::default()).await.unwrap();
    eventually(pods::PODS_READY, "the name means nothing", async || {
        let asked = cluster.get(Network::Client, pods::address(&pods[0], PORT), &format!("/resolve/{whole}")).await;
        match asked.body() {
            Err(error) if error.contains("Name or service not known") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_port_leads_to_the_addresses_on_that_network_from_every_node() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let pods = on_core(&namespace).await;
    expose(&namespace, "sip", Type::NodePort, &addresses(&pods, CORE)).await;
    let port = pods::node_port(&namespace, "sip", "http").await;
    for node in NODES {
        cluster.reach_each(Network::Client, node.at(port), &names(&pods)).await;
    }
}
