//! Behaviours 1 and 9: names that mean pods' addresses on an additional network, and no other.

use std::collections::BTreeSet;

use cluster_tests::{
    harness::Namespace,
    net_service::NetService,
    nodes::{ADDITIONAL_NETWORKS, AdditionalNetwork, Cluster, networks, networks::NETWORKS_ANNOTATION, pods},
};
use net_service::resource::Group;
use serde_json::json;

use super::{
    follower::Follower,
    support::{PORT, addresses, at, controlled, dial, leads_to, named, resolves, was_never_refused},
};

const CORE: AdditionalNetwork = AdditionalNetwork::Core;

#[tokio::test]
async fn behaviour_1_the_originals_samples_and_its_pods_work_unmodified() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    let followers = [
        Follower::start(&namespace, "corens", "utils", AdditionalNetwork::Core).await,
        Follower::start(&namespace, "accessns", "utils", AdditionalNetwork::Access).await,
    ];
    namespace.apply("examples/net-service/samples.yaml").await;
    pods::apply(&namespace, "examples/net-service/multi.yaml").await;
    let multi = pods::ready(&namespace, "app=utils", 3).await;
    let of = |name: &str| NetService::of(&namespace, Group::Original, name);
    for (name, network) in ["corens", "accessns"].into_iter().zip(ADDITIONAL_NETWORKS) {
        leads_to(&of(name), &multi, network).await;
        assert_eq!(addresses(&multi, network).len(), 3);
    }
    for name in ["emptyns", "web"] {
        of(name).service_that("is there", |_| true).await;
        of(name).endpoints(&[]).await;
    }
    of("emptyns").told("NetworkNotFound").await;
    // On core and on the other node than one of them.
    let metadata = json!({"annotations": {NETWORKS_ANNOTATION: "core"}});
    let caller = pods::plain(&namespace, "caller", pods::node(&multi[0]).other(), metadata).await;
    for pod in &multi {
        assert_eq!(dial(&cluster, &caller, at(pod, CORE)).await, pods::name(pod));
    }
    for (name, expected) in [
        ("corens", addresses(&multi, AdditionalNetwork::Core)),
        ("accessns", addresses(&multi, AdditionalNetwork::Access)),
        ("emptyns", BTreeSet::new()),
        ("web", BTreeSet::new()),
    ] {
        resolves(&cluster, &caller, &whole(&namespace, name), &expected).await;
    }
    let dialed = dial(&cluster, &caller, format!("corens:{PORT}")).await;
    assert!(pods::names(&multi).contains(&dialed), "{dialed}");

    of("corens").delete().await;
    resolves(&cluster, &caller, &whole(&namespace, "corens"), &BTreeSet::new()).await;
    resolves(&cluster, &caller, "accessns", &addresses(&multi, AdditionalNetwork::Access)).await;
    for follower in followers {
        follower.was_in_time().await;
    }
    was_never_refused(&namespace).await;
}

/// Each pod's own name is another matter: its kubelet writes into its hosts file that it means the address on the pod network.
#[tokio::test]
async fn behaviour_9_the_names_of_a_stateful_sets_pods_mean_their_addresses_on_that_network() {
    let Some(cluster) = Cluster::with_networks().await else { return };
    let namespace = controlled(&cluster, 1).await;
    NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "sip"}})).await;
    let pods = named(&namespace, "sip", "access,core", 2).await;
    for (from, to) in [(&pods[0], &pods[1]), (&pods[1], &pods[0])] {
        let name = whole(&namespace, &format!("{}.sip", pods::name(to)));
        resolves(&cluster, from, &name, &BTreeSet::from([networks::address(to, CORE)])).await;
        assert_eq!(dial(&cluster, from, format!("{name}:{PORT}")).await, pods::name(to));
        resolves(&cluster, from, "sip", &addresses(&pods, CORE)).await;
    }
}

/// A name below the namespace, such as a Service's, as it is known everywhere in the cluster.
fn whole(namespace: &Namespace<'_>, name: &str) -> String {
    format!("{name}.{}.svc.cluster.local", namespace.name())
}
