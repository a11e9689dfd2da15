//! Behaviour 4: what was asked of a network provider for NodePort Services, as NetServices have it, on the pod network and on another.

use std::collections::BTreeSet;

use cluster_tests::{
    net_service::NetService,
    nodes::{
        AdditionalNetwork, Cluster,
        every_node::{self, PORT},
        networks::NETWORKS_ANNOTATION,
        pods,
    },
};
use net_service::resource::Group;
use serde_json::json;

use super::support::{self, addresses, controlled};

#[tokio::test]
async fn behaviour_4_a_node_port_leads_to_the_pods_from_every_node_until_its_net_service_is_deleted() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let started = every_node::start(&namespace, &json!({NETWORKS_ANNOTATION: "core"})).await;
    let on_pod_network: BTreeSet<_> = started.iter().map(|pod| pods::address(pod, 0).ip()).collect();
    let on_core = addresses(&started, AdditionalNetwork::Core);
    // One after the other, and nobody else here has a port allocated: none takes the one that is let go.
    for (network, addresses) in [(None, on_pod_network), (Some("core"), on_core)] {
        let create = async |name: &str, node_port: Option<u16>| {
            let ports = json!([{"name": PORT, "port": 80, "targetPort": support::PORT, "nodePort": node_port}]);
            let spec =
                json!({"netAttachDef": network, "selector": {"app": "test"}, "type": "NodePort", "ports": ports});
            let created = NetService::create(&namespace, name, spec).await;
            created.told("Reconciled").await;
            let port = pods::node_port(&namespace, name, PORT).await;
            assert_eq!(created.status().await["nodePorts"], json!([port]));
        };
        let delete = async |name: &str| NetService::of(&namespace, Group::Own, name).delete().await;
        every_node::lead(&cluster, &namespace, &started, &addresses, create, delete).await;
    }
}
