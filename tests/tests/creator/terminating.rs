//! A Service of the pod's name that is being deleted, and cannot go yet.

use cluster_tests::harness::{ControlPlane, Namespace, Pod, Run, eventually};
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use serde_json::json;

use crate::support::{PATIENCE, assert_says, edit_service, node_port, service, uid};

/// This pod's own Service, deleted while a finalizer holds it.
async fn held<'a>(namespace: &'a Namespace<'a>) -> (Pod<'a>, Service) {
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    edit_service(namespace, "app-0", json!({"metadata": {"finalizers": ["example.com/hold"]}})).await;
    namespace.api::<Service>().delete("app-0", &DeleteParams::default()).await.unwrap();
    let held = service(namespace, "app-0").await;
    assert!(held.metadata.deletion_timestamp.is_some());
    (pod, held)
}

#[tokio::test]
async fn it_is_waited_for_and_then_a_new_one_is_made() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, held) = held(&namespace).await;
    let running = Run::creator(&pod).await.spawn();
    eventually(PATIENCE, "the creator says that it waits", async || {
        let seen = running.stderr();
        if seen.contains("is being deleted") { Ok(()) } else { Err(seen) }
    })
    .await;
    edit_service(&namespace, "app-0", json!({"metadata": {"finalizers": null}})).await;
    let outcome = running.wait().await.expect_code(0);
    let made = service(&namespace, "app-0").await;
    assert_ne!(uid(&made), uid(&held));
    let artery = format!("IPF_NODEPORT = {}\n", node_port(&made, "akka-artery"));
    assert!(outcome.output().unwrap().starts_with(&artery));
}

#[tokio::test]
async fn at_the_timeout_the_finalizer_is_named_as_what_someone_must_remove() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, held) = held(&namespace).await;
    let outcome = Run::creator(&pod).await.args(["--timeout", "2s"]).run().await.expect_code(7);
    let whole = format!("gave up on Service {}/app-0 at the timeout", namespace.name());
    assert_says(&outcome.termination_message(), &[&whole, "is being deleted", "must remove: example.com/hold"]);
    assert_eq!(outcome.output(), None);
    assert_eq!(service(&namespace, "app-0").await, held);
}
