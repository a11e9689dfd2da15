//! Pods get their addresses on additional networks, reach each other there, and give them back.

use cluster_tests::{
    harness::eventually,
    nodes::{ADDITIONAL_NETWORKS, Cluster, NODES, Network, networks, pods},
};
use k8s_openapi::api::apps::v1::Deployment;

use super::support::{addresses, at, attached, dial};

#[tokio::test]
async fn pods_have_an_address_on_each_network_and_reach_each_other_there_across_nodes() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    networks::define_in_namespace(&namespace).await;
    let pods = attached(&namespace, "sip", "core,access", 3).await;
    assert!(NODES.iter().all(|node| pods.iter().any(|pod| pods::node(pod) == *node)), "they are on both nodes");
    for network in ADDITIONAL_NETWORKS {
        assert_eq!(addresses(&pods, network).len(), pods.len(), "each has one of its own on {network}");
        for to in &pods {
            let address = at(to, network);
            for from in pods.iter().filter(|from| pods::node(from) != pods::node(to)) {
                assert_eq!(dial(&cluster, from, address).await, pods::name(to), "from the other node, on {network}");
            }
            for node in NODES {
                let answer = cluster.reach(Network::Node(node), address, "/").await;
                assert_eq!(answer, pods::name(to), "from {node} itself, on {network}");
            }
        }
    }
}

#[tokio::test]
async fn pods_that_are_gone_have_given_their_addresses_back() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let pods = attached(&namespace, "many", "default/core,default/access", 20).await;
    for network in ADDITIONAL_NETWORKS {
        assert!(addresses(&pods, network).is_subset(&cluster.taken(network)), "they have them on {network}");
    }
    namespace.api::<Deployment>().delete("many", &Default::default()).await.unwrap();
    pods::ready(&namespace, "app=many", 0).await;
    for network in ADDITIONAL_NETWORKS {
        eventually(pods::PODS_READY, &format!("all are given back on {network}"), async || {
            let taken = cluster.taken(network);
            let left: Vec<_> = addresses(&pods, network).intersection(&taken).copied().collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }
}
