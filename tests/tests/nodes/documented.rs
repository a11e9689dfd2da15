//! The documented manifests, verbatim but for the application's image.

use std::net::SocketAddr;

use cluster_tests::nodes::{Cluster, Network, pods};

#[tokio::test]
async fn the_documented_deployment_is_reachable_at_what_its_file_says() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    pods::apply(&namespace, "examples/documented/deployment.yaml").await;
    let pod = pods::ready(&namespace, "product=ipfv2", 1).await.remove(0);
    let port = pods::node_port(&namespace, pods::name(&pod), "akka-management").await;
    let address: SocketAddr = format!("{}:{port}", pods::node(&pod).address()).parse().unwrap();
    let file = cluster.reach(Network::Client, address, "/file").await;
    assert!(file.contains(&format!("IPF_MANAGEMENTPORT = {port}\n")), "{file}");
}
