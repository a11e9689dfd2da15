//! Behaviour 2: endpoints follow what happens to pods within two seconds.

use cluster_tests::{
    harness::{Namespace, eventually},
    net_service::NetService,
    nodes::{AdditionalNetwork, Cluster, Part, networks, pods},
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use net_service::network::STATUS_ANNOTATION;
use serde_json::json;

use super::{
    follower::Follower,
    support::{attached, controlled, edit_metadata, leads_to, scale, was_never_refused},
};

const CORE: AdditionalNetwork = AdditionalNetwork::Core;

/// An address of the network that no pod gets.
const BY_HAND: &str = "10.50.0.240";

#[tokio::test]
async fn behaviour_2_endpoints_follow_what_happens_to_pods_within_2_seconds() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let follower = Follower::start(&namespace, "sip", "sip", CORE).await;
    let sip = NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "sip"}})).await;
    let pods = attached(&namespace, "sip", "access,core", 3).await;
    leads_to(&sip, &pods, CORE).await;
    let pods = scale(&namespace, "sip", 30).await;
    leads_to(&sip, &pods, CORE).await;
    let pods = scale(&namespace, "sip", 3).await;
    leads_to(&sip, &pods, CORE).await;

    // Killed without grace: another one takes its place.
    namespace.api::<Pod>().delete(pods::name(&pods[0]), &DeleteParams::default().grace_period(0)).await.unwrap();
    let pods = others(&namespace, &pods[0]).await;
    leads_to(&sip, &pods, CORE).await;

    // What holds its network is killed: the same pod gets other addresses.
    let killed = &pods[0];
    let uid = killed.metadata.uid.as_ref().unwrap();
    cluster.kill(killed, Part::Sandbox).await;
    let pods = eventually(pods::PODS_READY, "it has another address", async || {
        let pods = pods::ready(&namespace, "app=sip", 3).await;
        let now = pods.iter().find(|pod| pod.metadata.uid.as_ref() == Some(uid)).expect("the pod is the same");
        let (old, new) = (networks::attached(killed, CORE), networks::attached(now, CORE));
        if old == new { Err(format!("{new:?}")) } else { Ok(pods) }
    })
    .await;
    leads_to(&sip, &pods, CORE).await;

    // Relabelled: its Deployment starts another one in its place.
    edit_metadata(&namespace, &pods[0], json!({"labels": {"app": "other"}})).await;
    let pods = others(&namespace, &pods[0]).await;
    leads_to(&sip, &pods, CORE).await;

    // By hand another address is written there, and then none.
    let network = json!([{"name": format!("{}/core", namespace.name()), "interface": "net2", "ips": [BY_HAND]}]);
    for status in [network.to_string(), "[]".to_owned()] {
        edit_metadata(&namespace, &pods[0], json!({"annotations": {STATUS_ANNOTATION: status}})).await;
        let pods = pods::ready(&namespace, "app=sip", 3).await;
        let attached: Vec<_> = pods.into_iter().filter(|pod| networks::attached(pod, CORE).is_some()).collect();
        leads_to(&sip, &attached, CORE).await;
    }
    follower.was_in_time().await;
    was_never_refused(&namespace).await;
}

/// The three pods without this one, when they are ready.
async fn others(namespace: &Namespace<'_>, gone: &Pod) -> Vec<Pod> {
    eventually(pods::PODS_READY, "there are three others", async || {
        let pods = pods::ready(namespace, "app=sip", 3).await;
        let is_there = pods.iter().any(|pod| pod.metadata.uid == gone.metadata.uid);
        if is_there { Err("it is still there") } else { Ok(pods) }
    })
    .await
}
