//! What was asked of a network provider for NodePort Services, as plain Kubernetes has it.

use cluster_tests::nodes::{
    Cluster,
    every_node::{self, PORT},
    pods,
};
use k8s_openapi::api::core::v1::Service;
use kube::api::PostParams;
use serde_json::json;

use super::support::delete_service;

fn service(name: &str, node_port: Option<u16>) -> Service {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "type": "NodePort",
            "selector": {"app": "test"},
            "ports": [{"name": PORT, "port": 80, "targetPort": 8558, "nodePort": node_port}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn a_node_port_leads_to_the_pods_from_every_node_until_its_service_is_deleted() {
    // Nobody else may take the port that is let go.
    let Some(cluster) = Cluster::alone().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let services = namespace.api::<Service>();
    let started = every_node::start(&namespace, &json!({})).await;
    let addresses = started.iter().map(|pod| pods::address(pod, 0).ip()).collect();
    let create = async |name: &str, node_port| {
        services.create(&PostParams::default(), &service(name, node_port)).await.unwrap();
    };
    let delete = async |name: &str| delete_service(&namespace, name).await;
    every_node::lead(&cluster, &namespace, &started, &addresses, create, delete).await;
}
