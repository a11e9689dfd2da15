//! A ClusterIP on an additional network, for pods that need not be on it.

use std::collections::BTreeSet;

use cluster_tests::{
    harness::eventually,
    net_service::NetService,
    nodes::{AdditionalNetwork, Cluster, NodeName, networks::NETWORKS_ANNOTATION, pods},
};
use serde_json::json;

use super::support::{PORT, controlled, dial, leads_to};

#[tokio::test]
async fn a_cluster_ip_leads_pods_on_and_off_the_network_to_all_pods_on_it() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let ports = json!([{"port": 80, "targetPort": PORT}]);
    let spec = json!({"netAttachDef": "core", "selector": {"app": "sip"}, "type": "ClusterIP", "ports": ports});
    let sip = NetService::create(&namespace, "sip", spec).await;
    // Where client and pod are on one node, the answer does not pass the node, unless the kernel hands it what bridges carry.
    let (here, there) = (NodeName::Node1, NodeName::Node2);
    let on_core = |app| json!({"labels": {"app": app}, "annotations": {NETWORKS_ANNOTATION: "core"}});
    let (one, two, on, off) = tokio::join!(
        pods::plain(&namespace, "one", there, on_core("sip")),
        pods::plain(&namespace, "two", there, on_core("sip")),
        pods::plain(&namespace, "on", here, on_core("client")),
        pods::plain(&namespace, "off", here, json!({})),
    );
    let pods = [one, two];
    leads_to(&sip, &pods, AdditionalNetwork::Core).await;
    let service = sip.service_that("has an address", |_| true).await;
    let address = service.spec.unwrap().cluster_ip.unwrap();
    for from in [&on, &off] {
        for to in ["sip:80".to_owned(), format!("{address}:80")] {
            let mut answered = BTreeSet::new();
            eventually(pods::PODS_READY, &format!("both answer {} at {to}", pods::name(from)), async || {
                answered.insert(dial(&cluster, from, &to).await);
                if answered == pods::names(&pods) { Ok(()) } else { Err(format!("{answered:?}")) }
            })
            .await;
        }
    }
}
