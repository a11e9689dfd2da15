//! Services that somebody's finalizer holds.

use cluster_tests::harness::{ControlPlane, Namespace, Run};
use serde_json::json;

use crate::support::{SCANS, delete, deletion, ends_having_deleted, orphaned, pod_with_service, settled, watching};

const FINALIZER: &str = "example.com/hold";

/// How often the watcher has asked for a Service's deletion.
async fn deletes(namespace: &Namespace<'_>, name: &str) -> usize {
    let requests = namespace.requests().await;
    requests.iter().filter(|event| event.verb == "delete" && event.name == name).count()
}

#[tokio::test]
async fn deletion_is_asked_for_once_and_the_rest_is_left_to_the_finalizer() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let mut service = pod.service().without_owner().finalizer(FINALIZER).create().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    delete(pod).await;
    deletion(&running, &service).await;
    settled(&namespace, &running).await;
    // A change by its holder, as controllers make it, is no reason to ask again.
    service.edit(json!({"metadata": {"labels": {"state": "draining"}}})).await;
    settled(&namespace, &running).await;
    assert!(service.current().await.unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(deletes(&namespace, "app-0").await, 1);
    assert_eq!(running.log_of("Service deleted").iter().filter(|line| line["service"] == "app-0").count(), 1);
    service.edit(json!({"metadata": {"finalizers": null}})).await;
    service.gone().await;
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn what_is_being_deleted_already_is_left_alone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_, before) = orphaned(&namespace, "app-0", |pod| pod.service().without_owner().finalizer(FINALIZER)).await;
    before.delete().await;
    let (pod, mut meanwhile) = pod_with_service(&namespace, "app-1").await;
    meanwhile.edit(json!({"metadata": {"finalizers": [FINALIZER]}})).await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    meanwhile.delete().await;
    delete(pod).await;
    settled(&namespace, &running).await;
    assert_eq!((deletes(&namespace, "app-0").await, deletes(&namespace, "app-1").await), (0, 0));
    assert!(before.current().await.is_some() && meanwhile.current().await.is_some());
    ends_having_deleted(running, &[]).await;
}
