//! Roles that grant less than the documented one.

use std::time::Duration;

use cluster_tests::harness::{Component, ControlPlane, Options, Outcome, Pod, Run, Signal, eventually};
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;

use crate::support::{
    PATIENCE, WithTemplate, assert_nothing_left, assert_says, documented_but, original_tools, service, services, uid,
};

/// The error names the verb, the resource, the namespace, the service account and the rule to add.
#[track_caller]
fn assert_names_the_rule(outcome: &Outcome, pod: &Pod<'_>, verb: &str, resource: &str) {
    let namespace = pod.namespace().name();
    let denied = format!(
        "service account {namespace}/ipf-dynamic-nodeport-service may not {verb} {resource} in namespace {namespace}"
    );
    let rule = format!("add {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}} to its Role");
    assert_says(&outcome.termination_message(), &[&denied, &rule]);
}

#[tokio::test]
async fn without_get_configmaps_nothing_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    namespace.deny("get", "configmaps").await;
    let outcome = Run::creator(&pod).await.run().await.expect_code(4);
    assert_names_the_rule(&outcome, &pod, "get", "configmaps");
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn without_create_services_there_is_no_service_and_no_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    namespace.deny("create", "services").await;
    let outcome = Run::creator(&pod).await.run().await.expect_code(4);
    assert_names_the_rule(&outcome, &pod, "create", "services");
    assert_eq!(outcome.output(), None);
    assert!(services(&namespace).await.is_empty());
}

#[tokio::test]
async fn without_patch_pods_there_is_no_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    namespace.deny("patch", "pods").await;
    let outcome = Run::creator(&pod).await.run().await.expect_code(4);
    assert_names_the_rule(&outcome, &pod, "patch", "pods");
    assert_eq!(outcome.output(), None);
}

#[tokio::test]
async fn without_get_pods_a_bound_token_is_enough() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    namespace.deny("get", "pods").await;
    Run::creator(&pod).await.run().await.expect_code(0);

    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await);
    let outcome = run.run().await.expect_code(4);
    assert_names_the_rule(&outcome, &pod, "get", "pods");
}

#[tokio::test]
async fn without_delete_the_original_tools_service_is_an_error_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let existing = original_tools(&namespace).await;
    namespace.deny("delete", "services").await;
    let outcome = Run::creator(&pod).await.run().await.expect_code(4);
    assert_must_be_replaced(&outcome, &pod, "the original tool made it");
    assert_eq!(service(&namespace, "app-0").await, existing);
}

#[tokio::test]
async fn without_delete_this_pods_outdated_service_is_an_error_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    let existing = service(&namespace, "app-0").await;
    namespace.deny("delete", "services").await;
    let run = Run::creator(&pod).await.template(&documented_but("targetPort: 8558", "targetPort: 8559"));
    let outcome = run.run().await.expect_code(4);
    assert_must_be_replaced(&outcome, &pod, "port akka-management differs");
    assert_eq!(service(&namespace, "app-0").await, existing);
}

#[track_caller]
fn assert_must_be_replaced(outcome: &Outcome, pod: &Pod<'_>, why: &str) {
    let whole = format!("Service {}/app-0 must be replaced, because ", pod.namespace().name());
    assert_says(&outcome.termination_message(), &[&whole, why]);
    assert_names_the_rule(outcome, pod, "delete", "services");
    assert_eq!(outcome.output(), None);
    assert!(outcome.elapsed() < Duration::from_secs(20), "it waited {:?} for nothing", outcome.elapsed());
}

#[tokio::test]
async fn without_delete_an_earlier_pods_service_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let earlier = namespace.pod("app-0").create().await;
    Run::creator(&earlier).await.args(["--owner-reference", "none"]).run().await.expect_code(0);
    let existing = service(&namespace, "app-0").await;
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;
    namespace.deny("delete", "services").await;

    let outcome = Run::creator(&pod).await.args(["--timeout", "2s"]).run().await.expect_code(7);
    assert_says(&outcome.termination_message(), &["an earlier pod of this name", "the watcher will delete it"]);
    assert_names_the_rule(&outcome, &pod, "delete", "services");
    assert_eq!(service(&namespace, "app-0").await, existing);

    let running = Run::creator(&pod).await.spawn();
    eventually(PATIENCE, "the creator says that it waits", async || {
        let seen = running.stderr();
        if seen.contains("the existing Service must go first") { Ok(()) } else { Err(seen) }
    })
    .await;
    namespace.api::<Service>().delete("app-0", &DeleteParams::default()).await.unwrap();
    let outcome = running.wait().await.expect_code(0);
    assert!(outcome.output().is_some());
    assert_ne!(uid(&service(&namespace, "app-0").await), uid(&existing));
}

#[tokio::test]
async fn without_delete_the_garbage_collector_makes_room() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    namespace.deny("delete", "services").await;
    control_plane.stop(Component::ControllerManager, Signal::Kill).await;
    let earlier = namespace.pod("app-0").create().await;
    Run::creator(&earlier).await.run().await.expect_code(0);
    let existing = service(&namespace, "app-0").await;
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;

    let running = Run::creator(&pod).await.spawn();
    eventually(PATIENCE, "the creator says that it waits", async || {
        let seen = running.stderr();
        if seen.contains("the garbage collector or the watcher will delete it") { Ok(()) } else { Err(seen) }
    })
    .await;
    control_plane.resume(Component::ControllerManager).await;
    running.wait().await.expect_code(0);
    assert_ne!(uid(&service(&namespace, "app-0").await), uid(&existing));
    drop(pod);
    control_plane.close().await;
}
