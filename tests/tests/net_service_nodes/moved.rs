//! The controller itself goes, and another one takes over: a behaviour of every cluster's daily life (number 10).

use std::time::{Duration, Instant};

use cluster_tests::{
    harness::{Namespace, eventually},
    net_service::{NetService, holder, ready},
    nodes::{AdditionalNetwork, Cluster, NodeName, Part, networks::NETWORKS_ANNOTATION, pods},
};
use k8s_openapi::api::core::v1::Pod;
use net_service::network::STATUS_ANNOTATION;
use serde_json::json;

use super::support::{CONTROLLER, controlled, edit_metadata, leads_to};

/// How long nobody may lead.
const TAKEN_OVER: Duration = Duration::from_secs(20);

/// A NetService and its pod.
async fn begin<'a>(namespace: &'a Namespace<'a>) -> (NetService<'a>, Pod) {
    let sip = NetService::create(namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "sip"}})).await;
    let metadata = json!({"labels": {"app": "sip"}, "annotations": {NETWORKS_ANNOTATION: "core"}});
    let pod = pods::plain(namespace, "sip", NodeName::Node1, metadata).await;
    leads_to(&sip, std::slice::from_ref(&pod), AdditionalNetwork::Core).await;
    (sip, pod)
}

/// The pod that leads.
async fn leader(namespace: &Namespace<'_>) -> Pod {
    eventually(pods::PODS_READY, "a pod leads", async || {
        let holder = holder(namespace).await;
        let pods = pods::list(namespace, CONTROLLER).await;
        pods.into_iter().find(|pod| holder.starts_with(pods::name(pod))).ok_or(holder)
    })
    .await
}

/// Changes the pod's address, while nobody leads, and waits until its endpoint is there.
async fn follows(namespace: &Namespace<'_>, sip: &NetService<'_>, pod: &Pod, address: &str, since: Instant) {
    let status = json!([{"name": format!("{}/core", namespace.name()), "interface": "net1", "ips": [address]}]);
    edit_metadata(namespace, pod, json!({"annotations": {STATUS_ANNOTATION: status.to_string()}})).await;
    let left = TAKEN_OVER.saturating_sub(since.elapsed());
    sip.endpoints_within(left, &[&ready(address, pods::name(pod))]).await;
}

#[tokio::test]
async fn behaviour_10_a_controller_whose_pod_is_deleted_is_back_within_20_seconds() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let (sip, pod) = begin(&namespace).await;
    let deleted = leader(&namespace).await;
    let since = Instant::now();
    namespace.api::<Pod>().delete(pods::name(&deleted), &Default::default()).await.unwrap();
    eventually(TAKEN_OVER, "it leads no longer", async || {
        let holder = holder(&namespace).await;
        if holder.starts_with(pods::name(&deleted)) { Err(holder) } else { Ok(()) }
    })
    .await;
    follows(&namespace, &sip, &pod, "10.50.0.241", since).await;
    assert_ne!(pods::name(&leader(&namespace).await), pods::name(&deleted));
}

#[tokio::test]
async fn behaviour_10_when_the_leader_is_killed_another_pod_leads_within_20_seconds() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 2).await;
    let (sip, pod) = begin(&namespace).await;
    let (killed, before) = (leader(&namespace).await, holder(&namespace).await);
    let since = Instant::now();
    cluster.kill(&killed, Part::Container).await;
    follows(&namespace, &sip, &pod, "10.50.0.242", since).await;
    assert_ne!(holder(&namespace).await, before);
}
