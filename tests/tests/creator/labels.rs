//! The labels by which the Service finds its pod: set on this pod only, and never against anyone.

use cluster_tests::harness::{ControlPlane, Run, eventually};

use crate::support::{
    PATIENCE, WithTemplate, assert_nothing_left, assert_says, current, documented_but, requests, service, services,
};

#[tokio::test]
async fn the_label_is_the_creators_own_field_and_nothing_else_of_the_pod_changes() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("app", "shop").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    let mut after = current(&pod).await;
    let managers = after.metadata.managed_fields.take().unwrap();
    let ours: Vec<_> = managers
        .iter()
        .filter(|entry| entry.manager.as_deref() == Some("ipf-dynamic-nodeport-service-creator"))
        .collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0].operation.as_deref(), Some("Apply"));
    let fields = serde_json::to_value(&ours[0].fields_v1).unwrap();
    assert_eq!(fields, serde_json::json!({"f:metadata": {"f:labels": {"f:ipfPodName": {}}}}));

    let mut before = pod.object().clone();
    before.metadata.managed_fields = None;
    before.metadata.resource_version = after.metadata.resource_version.clone();
    before.metadata.labels.as_mut().unwrap().insert("ipfPodName".to_owned(), "app-0".to_owned());
    assert_eq!(after, before);
}

#[tokio::test]
async fn another_value_by_another_manager_is_a_conflict_that_names_both() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("ipfPodName", "other").label("app", "shop").create().await;
    let outcome = Run::creator(&pod).await.run().await.expect_code(5);
    let whole = format!("cannot label pod {}/app-0", namespace.name());
    let parts = [&whole, "cluster-tests", ".metadata.labels.ipfPodName", "remove it from the pod's template"];
    assert_says(&outcome.termination_message(), &parts);
    assert_eq!(outcome.output(), None);
    assert_eq!(current(&pod).await, *pod.object());
}

#[tokio::test]
async fn the_same_value_by_another_manager_is_fine() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("ipfPodName", "app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    assert_eq!(current(&pod).await.metadata.labels, pod.object().metadata.labels);
}

#[tokio::test]
async fn a_pod_that_took_the_name_is_not_written_to() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let earlier = namespace.pod("app-0").create().await;
    let uid = earlier.uid().to_owned();
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await).args(["--pod-uid", &uid]);
    // With name, UID and node told, the pod is not read: only the label itself shows it.
    let run = run.args(["--pod", "app-0", "--node-name", "node-1"]);
    let outcome = run.run().await.expect_code(5);
    let whole = format!("pod app-0 (UID {uid}) is no longer in namespace {}", namespace.name());
    assert_says(&outcome.termination_message(), &[&whole, "another pod has its name now"]);
    assert_eq!(outcome.output(), None);
    assert_eq!(current(&pod).await, *pod.object());
    no_service_stays(&namespace).await;
}

#[tokio::test]
async fn a_pod_that_is_gone_is_not_created() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await).args(["--pod-uid", pod.uid()]);
    let run = run.args(["--pod", "app-0", "--node-name", "node-1"]);
    pod.delete().await;
    let outcome = run.run().await.expect_code(5);
    assert_says(&outcome.termination_message(), &["is no longer in namespace", "it was deleted"]);
    no_service_stays(&namespace).await;
}

/// Its owner being gone, the collector takes what was created beside the refused label.
async fn no_service_stays(namespace: &cluster_tests::harness::Namespace<'_>) {
    eventually(PATIENCE, "no Service is left", async || {
        let left = services(namespace).await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_literal_label_of_the_selector_that_the_pod_has_is_not_set_again() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("app", "shop").create().await;
    let template = documented_but("ipfPodName: {{.PodName}}", "ipfPodName: {{.PodName}}\n    app: shop");
    Run::creator(&pod).await.template(&template).run().await.expect_code(0);
    let selector = service(&namespace, "app-0").await.spec.unwrap().selector.unwrap();
    assert_eq!(
        selector.into_iter().collect::<Vec<_>>(),
        [("app".to_owned(), "shop".to_owned()), ("ipfPodName".to_owned(), "app-0".to_owned())]
    );
}

#[tokio::test]
async fn a_literal_label_of_the_selector_that_the_pod_lacks_is_an_error_before_anything_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let template = documented_but("ipfPodName: {{.PodName}}", "ipfPodName: {{.PodName}}\n    app: shop");
    for (pod, found) in [
        (namespace.pod("app-0"), "pod app-0 has no label of this key"),
        (namespace.pod("app-1").label("app", "bank"), "pod app-1 has app=bank"),
    ] {
        let pod = pod.create().await;
        let outcome = Run::creator(&pod).await.template(&template).run().await.expect_code(5);
        let parts = ["selector asks for the label app=shop", found, "add the label to the pod's template"];
        assert_says(&outcome.termination_message(), &parts);
        assert_nothing_left(&pod, &outcome, &["service.yaml"]).await;
    }
}

#[tokio::test]
async fn a_stateful_sets_own_label_needs_no_request_for_the_pod() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("statefulset.kubernetes.io/pod-name", "app-0").create().await;
    let selector = "statefulset.kubernetes.io/pod-name: {{.PodName}}";
    let template = documented_but("ipfPodName: {{.PodName}}", selector);
    Run::creator(&pod).await.template(&template).run().await.expect_code(0);
    assert_eq!(requests(&namespace).await, ["create services"]);
    assert_eq!(current(&pod).await, *pod.object());
}
