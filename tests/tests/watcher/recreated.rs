//! The creator and the watcher together: whoever comes first, a pod that lives has its Service, and one that is gone has none.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace, Run, eventually};
use k8s_openapi::api::core::v1::Service;
use kube::api::ListParams;

use crate::support::{DELETED, SCANS, assert_no_warning, delete, noticed, settled, watching};

/// The UID of the pod that each Service here was made for, by the Service's name.
async fn made_for(namespace: &Namespace<'_>) -> Vec<(String, String)> {
    let services = namespace.api::<Service>().list(&ListParams::default()).await.unwrap();
    let pod = |service: Service| {
        let annotations = service.metadata.annotations.unwrap_or_default();
        (service.metadata.name.unwrap(), annotations["ipf-dynamic-nodeport-service/pod-uid"].clone())
    };
    services.items.into_iter().map(pod).collect()
}

#[tokio::test]
async fn what_the_creator_made_is_removed_whatever_the_pods_name() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = watching(Run::watcher(&namespace).await).await;
    let long = "a".repeat(70);
    for (name, owner) in [("app-0", "pod"), ("app-0", "none"), ("a.b-0", "none"), ("1pod", "none"), (&*long, "none")] {
        let pod = namespace.pod(name).create().await;
        Run::creator(&pod).await.args(["--owner-reference", owner]).run().await.expect_code(0);
        noticed(&namespace, &running).await;
        assert_eq!(made_for(&namespace).await.len(), 1, "{name}");
        let gone = delete(pod).await;
        eventually(Duration::from_secs(30), &format!("the Service of {name} is gone"), async || {
            let left = made_for(&namespace).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
        if owner == "none" {
            let line = running.logged(DELETED, |line| line["pod_uid"] == *gone.uid).await;
            assert_eq!((&line["pod"], &line["reason"]), (&name.into(), &"PodGone".into()), "{line}");
        }
    }
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn a_member_that_is_recreated_again_and_again_has_one_service_each_time() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    for round in 0..30 {
        let pod = namespace.pod("app-0").create().await;
        let owner = if round % 2 == 0 { "none" } else { "pod" };
        Run::creator(&pod).await.args(["--owner-reference", owner]).run().await.expect_code(0);
        let expected = [("app-0".to_owned(), pod.uid().to_owned())];
        assert_eq!(made_for(&namespace).await, expected, "in round {round}");
        // Neither the watcher nor the garbage collector is waited for: the next pod comes at once.
        pod.delete().await;
    }
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    settled(&namespace, &running).await;
    assert_eq!(made_for(&namespace).await, [("app-0".to_owned(), pod.uid().to_owned())]);
    let own = running.log_of(DELETED).into_iter().find(|line| line["pod_uid"] == pod.uid());
    assert_eq!(own, None);
    assert_no_warning(&running.terminate().await.expect_code(0));
}
