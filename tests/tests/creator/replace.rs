//! A Service of the pod's name that is in this pod's way, and this pod's to replace or to keep.

use std::collections::BTreeSet;

use cluster_tests::harness::{Component, ControlPlane, Options, Pod, Run, Signal};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{
    CREATOR, WithTemplate, assert_says, documented_but, documented_template, edit_service, fixed_port, node_port,
    original_tools, service, services, uid,
};

/// The run succeeds; the one Service is a new one, this pod's, and its ports are in the file.
async fn is_replaced(run: Run, existing: &Service, pod: &Pod<'_>, why: &str) {
    let outcome = run.run().await.expect_code(0);
    assert_says(&outcome.stderr, &["deleted an obsolete Service", why, "created the Service"]);
    let left = services(pod.namespace()).await;
    assert_eq!(left.len(), 1);
    assert_ne!(uid(&left[0]), uid(existing));
    assert_eq!(left[0].metadata.annotations.as_ref().unwrap()["ipf-dynamic-nodeport-service/pod-uid"], pod.uid());
    let artery = format!("IPF_NODEPORT = {}\n", node_port(&left[0], "akka-artery"));
    assert!(outcome.output().unwrap().starts_with(&artery), "{:?}", outcome.output());
}

#[tokio::test]
async fn an_earlier_pods_service_without_owner_is_replaced() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let earlier = namespace.pod("app-0").create().await;
    Run::creator(&earlier).await.args(["--owner-reference", "none"]).run().await.expect_code(0);
    let existing = service(&namespace, "app-0").await;
    assert_eq!(existing.metadata.owner_references, None);
    let why = format!("it belongs to an earlier pod of this name (UID {})", earlier.uid());
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;
    is_replaced(Run::creator(&pod).await, &existing, &pod, &why).await;
}

#[tokio::test]
async fn an_earlier_pods_fixed_port_is_free_for_its_successor() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let template = documented_but("nodePort: 0", &format!("nodePort: {{{{add {} Ordinal}}}}", fixed_port(0)));
    let earlier = namespace.pod("app-7").create().await;
    let run = Run::creator(&earlier).await.template(&template).args(["--owner-reference", "none"]);
    run.run().await.expect_code(0);
    let existing = service(&namespace, "app-7").await;
    assert_eq!(node_port(&existing, "akka-management"), i32::from(fixed_port(7)));
    earlier.delete().await;
    let pod = namespace.pod("app-7").create().await;
    is_replaced(Run::creator(&pod).await.template(&template), &existing, &pod, "an earlier pod").await;
    assert_eq!(node_port(&service(&namespace, "app-7").await, "akka-management"), i32::from(fixed_port(7)));
}

#[tokio::test]
async fn an_earlier_pods_service_that_the_collector_has_not_come_to_is_replaced() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    control_plane.stop(Component::ControllerManager, Signal::Kill).await;
    let earlier = namespace.pod("app-0").create().await;
    Run::creator(&earlier).await.run().await.expect_code(0);
    let existing = service(&namespace, "app-0").await;
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;
    is_replaced(Run::creator(&pod).await, &existing, &pod, "an earlier pod").await;
    drop(pod);
    control_plane.close().await;
}

#[tokio::test]
async fn the_original_tools_service_is_replaced() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let existing = original_tools(&namespace).await;
    let why = "the original tool made it, for a pod of this name";
    is_replaced(Run::creator(&pod).await, &existing, &pod, why).await;
}

#[tokio::test]
async fn this_pods_own_service_is_replaced_when_the_template_changed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    let fixed = |port: u16| documented_but("nodePort: 0", &format!("nodePort: {port}"));
    for (template, why) in [
        (documented_but("targetPort: 8558", "targetPort: 8559"), "port akka-management differs"),
        (documented_but("  - name: akka-m", "  - {name: web, port: 80}\n    - name: akka-m"), "port web differs"),
        (documented_template(), "port web is not in the template"),
        (fixed(fixed_port(11)), "port akka-management differs"),
        (fixed(fixed_port(12)), "port akka-management differs"),
        (documented_but("ipfPodName: {{.PodName}}", "member: {{.PodName}}"), "the selector differs"),
    ] {
        let existing = service(&namespace, "app-0").await;
        is_replaced(Run::creator(&pod).await.template(&template), &existing, &pod, why).await;
    }
}

#[tokio::test]
async fn this_pods_own_service_is_replaced_when_a_hand_changed_what_the_pod_is_reached_by() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    for (edit, why) in [
        (json!({"selector": {"ipfPodName": "app-1"}}), "the selector differs"),
        (json!({"selector": {"app": "shop"}}), "the selector differs"),
        (json!({"ports": [{"name": "akka-artery", "port": 55001}]}), "port akka-management differs"),
        (json!({"type": "ClusterIP", "externalTrafficPolicy": null}), "has no node port"),
    ] {
        let existing = edit_service(&namespace, "app-0", json!({"spec": edit})).await;
        is_replaced(Run::creator(&pod).await, &existing, &pod, why).await;
    }
}

#[tokio::test]
async fn this_pods_own_service_is_kept_when_a_hand_changed_something_else() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let first = Run::creator(&pod).await.run().await.expect_code(0);
    let annotation = |name: &str, value: Value| json!({format!("ipf-dynamic-nodeport-service/{name}"): value});
    for edit in [
        json!({"metadata": {"labels": {"creator": null}}}),
        json!({"metadata": {"labels": {"creator": CREATOR}, "annotations": annotation("pod-uid", Value::Null)}}),
        json!({"metadata": {"annotations": annotation("pod-name", Value::Null)}}),
        json!({"metadata": {"annotations": null, "labels": {"app": null, "added": "by-hand"}}}),
        json!({"spec": {"externalTrafficPolicy": "Cluster", "sessionAffinity": "ClientIP"}}),
    ] {
        let edited = edit_service(&namespace, "app-0", edit.clone()).await;
        let outcome = Run::creator(&pod).await.run().await.expect_code(0);
        assert_eq!(outcome.output(), first.output(), "{edit}");
        assert_eq!(service(&namespace, "app-0").await, edited, "{edit}");
    }
}

#[tokio::test]
async fn another_order_of_the_ports_is_no_difference() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let first = Run::creator(&pod).await.run().await.expect_code(0);
    let made = service(&namespace, "app-0").await;
    let mut ports = made.spec.as_ref().unwrap().ports.clone().unwrap();
    ports.reverse();
    let edited = edit_service(&namespace, "app-0", json!({"spec": {"ports": ports}})).await;
    assert_ne!(edited.spec, made.spec);
    let outcome = Run::creator(&pod).await.run().await.expect_code(0);
    assert_eq!(outcome.output(), first.output());
    assert_eq!(uid(&service(&namespace, "app-0").await), uid(&made));
}

#[tokio::test]
async fn recreated_fifty_times_each_pod_has_one_service_of_its_own() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut seen = BTreeSet::new();
    for round in 0..50 {
        let pod = namespace.pod("app-0").create().await;
        let outcome = Run::creator(&pod).await.run().await.expect_code(0);
        let left = services(&namespace).await;
        assert_eq!(left.len(), 1, "round {round}");
        assert_eq!(left[0].metadata.owner_references.as_ref().unwrap()[0].uid, pod.uid(), "round {round}");
        assert!(seen.insert(uid(&left[0]).to_owned()), "round {round} has an earlier round's Service");
        let artery = format!("IPF_NODEPORT = {}\n", node_port(&left[0], "akka-artery"));
        assert!(outcome.output().unwrap().starts_with(&artery), "round {round}: {:?}", outcome.output());
        pod.delete().await;
    }
}
