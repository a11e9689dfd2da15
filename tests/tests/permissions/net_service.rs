//! The watcher with NetServices, under exactly the rules of its files.

use std::collections::BTreeSet;

use ::net_service::resource::Group;
use cluster_tests::{
    harness::{ControlPlane, Namespace, Options, Run},
    net_service::{NetPod, NetService, ready},
};
use serde_json::json;

use crate::{
    policies,
    support::{WATCHER, used},
};

/// What takes each kind of write: a NetService whose Service must be made anew, and whose pods come and go.
async fn serves(namespace: &Namespace<'_>, run: Run) {
    let running = run.spawn();
    let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}});
    let sip = NetService::create(namespace, "sip", spec).await;
    let pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(namespace).await;
    let other = NetPod::new("b").on("core", &["fd00:50::4"]).create(namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00:50::4", "b")]).await;
    sip.edit(json!({"type": "NodePort", "ports": [{"port": 5060}]})).await;
    sip.service_that("is made anew", |service| {
        service.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some("NodePort"))
    })
    .await;
    sip.told("Reconciled").await;
    sip.edit(json!({"ports": [{"port": 5061}]})).await;
    sip.service_that("is changed", |service| {
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        ports.map(|port| port.port).eq([5061])
    })
    .await;
    sip.edit(json!({"type": "Headless", "ports": null})).await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00:50::4", "b")]).await;
    let late = NetPod::new("c").on("core", &["10.50.0.5"]).create(namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00:50::4", "b"), &ready("10.50.0.5", "c")]).await;
    late.delete().await;
    other.delete().await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    pod.delete().await;
    sip.endpoints(&[]).await;
    running.terminate().await.expect_code(0);
}

/// Fails where something was refused, or a verb that writes was never used.
async fn assert_used_and_nothing_refused(namespace: &Namespace<'_>) {
    let refused: Vec<_> = namespace.requests().await.into_iter().filter(|event| event.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let used = used(namespace).await;
    let writes: BTreeSet<_> =
        used.iter().map(String::as_str).filter(|used| !used.starts_with(['g', 'l', 'w'])).collect();
    let expected = [
        "create endpointslices",
        "create leases",
        "create services",
        "delete endpointslices",
        "delete services",
        "patch endpointslices",
        "patch netservices",
        "patch services",
    ];
    for write in expected {
        assert!(writes.contains(write), "{write} is granted for nothing: {writes:?}");
    }
}

#[tokio::test]
async fn with_the_policies_in_effect_it_serves_net_services_under_role_yaml() {
    let Some(control_plane) = policies::hardened().await else { return };
    control_plane.serve_net_services(&Group::ALL).await;
    let namespace = control_plane.namespace().await.with_account(WATCHER);
    namespace.grant("permissions/least-privilege/watcher.yaml").await;
    namespace.grant("permissions/net-service/role.yaml").await;
    let run = Run::watcher(&namespace).await.args(["--controllers", "net-service"]);
    serves(&namespace, run).await;
    assert_used_and_nothing_refused(&namespace).await;
}

#[tokio::test]
async fn it_serves_net_services_everywhere_under_cluster_role_yaml_with_the_lease_in_its_own_namespace() {
    // To itself: it looks after every namespace.
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    control_plane.serve_net_services(&Group::ALL).await;
    let here = control_plane.namespace().await.with_account(WATCHER);
    here.grant("permissions/least-privilege/watcher-all-namespaces.yaml").await;
    here.grant("permissions/net-service/cluster-role.yaml").await;
    let there = control_plane.namespace().await;
    let run = Run::watcher(&here).await.args(["--controllers", "cleanup,net-service", "--all-namespaces"]);
    serves(&there, run).await;
    let of_leases = |events: Vec<cluster_tests::harness::Event>| -> BTreeSet<String> {
        events.into_iter().filter(|event| event.resource == "leases").map(|event| event.namespace).collect()
    };
    assert_eq!(of_leases(here.requests().await), BTreeSet::from([here.name().to_owned()]));
    let refused: Vec<_> = here.requests().await.into_iter().filter(|event| event.code == 403).collect();
    assert!(refused.iter().all(|event| event.resource == "events"), "{refused:#?}");
    control_plane.close().await;
}
