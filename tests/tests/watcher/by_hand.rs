//! Hands on a Service of ours while the watcher runs.

use cluster_tests::harness::{ControlPlane, Run};
use common::labels::CREATOR;
use serde_json::{Value, json};

use crate::support::{
    LEFT_ALONE, SCANS, assert_deleted, assert_deletion, delete, deletion, ends_having_deleted, pod_with_service,
    settled, watching,
};

fn without_label() -> Value {
    json!({"metadata": {"labels": {"creator": null}}})
}

fn without_annotations() -> Value {
    let names = ["pod-name", "pod-uid", "advertised-host"].map(|name| format!("ipf-dynamic-nodeport-service/{name}"));
    json!({"metadata": {"annotations": names.into_iter().map(|name| (name, Value::Null)).collect::<serde_json::Map<_, _>>()}})
}

#[tokio::test]
async fn a_service_that_lost_the_creator_label_is_still_deleted_by_a_watcher_that_knew_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, mut service) = pod_with_service(&namespace, "app-0").await;
    let (other, mut relabelled) = pod_with_service(&namespace, "app-1").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    service.edit(without_label()).await;
    relabelled.edit(json!({"metadata": {"labels": {"creator": "somebody"}}})).await;
    settled(&namespace, &running).await;
    for (pod, service) in [(pod, &service), (other, &relabelled)] {
        service.assert_untouched().await;
        let gone = delete(pod).await;
        assert_deletion(&deletion(&running, service).await, service, &gone, "PodGone");
        service.gone().await;
    }
    ends_having_deleted(running, &[&service, &relabelled]).await;
}

#[tokio::test]
async fn a_label_that_comes_back_changes_nothing() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, mut service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    service.edit(without_label()).await;
    service.edit(json!({"metadata": {"labels": {"creator": CREATOR}}})).await;
    settled(&namespace, &running).await;
    service.assert_untouched().await;
    let gone = delete(pod).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn a_service_that_lost_label_and_annotations_is_nobodys() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, mut service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    service.edit(without_label()).await;
    service.edit(without_annotations()).await;
    settled(&namespace, &running).await;
    pod.delete().await;
    settled(&namespace, &running).await;
    service.assert_untouched().await;
    ends_having_deleted(running, &[]).await;
}

#[tokio::test]
async fn a_service_that_a_hand_gave_to_another_pod_is_that_pods() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, mut service) = pod_with_service(&namespace, "app-0").await;
    let other = namespace.pod("app-1").create().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    let annotations = json!({
        "ipf-dynamic-nodeport-service/pod-name": other.name(),
        "ipf-dynamic-nodeport-service/pod-uid": other.uid(),
    });
    service.edit(json!({"metadata": {"annotations": annotations}})).await;
    delete(pod).await;
    settled(&namespace, &running).await;
    service.assert_untouched().await;
    let gone = delete(other).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn what_a_hand_makes_under_the_name_of_a_known_service_is_not_that_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    service.delete().await;
    service.gone().await;
    // A copy, restored from a backup perhaps, in which the label was left out.
    let copy = pod.service().without_owner().without_label("creator").create().await;
    settled(&namespace, &running).await;
    pod.delete().await;
    settled(&namespace, &running).await;
    copy.assert_untouched().await;
    let told = running.log_of(LEFT_ALONE);
    assert!(told.len() <= 1 && told.iter().all(|line| line["service"] == "app-0"), "{told:#?}");
    assert_deleted(&running.terminate().await.expect_code(0), &[]);
}

#[tokio::test]
async fn a_service_that_a_hand_deletes_is_not_made_anew() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    service.delete().await;
    service.gone().await;
    settled(&namespace, &running).await;
    pod.delete().await;
    settled(&namespace, &running).await;
    let written = namespace
        .requests()
        .await
        .into_iter()
        .filter(|event| !["get", "list", "watch", "delete"].contains(&&*event.verb) && event.resource != "events");
    assert_eq!(written.collect::<Vec<_>>(), []);
    ends_having_deleted(running, &[]).await;
}
