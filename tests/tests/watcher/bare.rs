//! The watcher as the documented Deployment runs it: without a flag, a variable or a file of settings.

use cluster_tests::harness::{
    ControlPlane, Run, eventually,
    preflight::{self, Level},
};

use crate::support::{delete, orphan, pod_with_service};

#[tokio::test]
async fn two_of_them_look_after_their_own_namespaces() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::OwnNetwork) {
        return;
    }
    let (namespace, another) = (control_plane.namespace().await, control_plane.namespace().await);
    let (_, early) = orphan(&namespace, "app-0").await;
    let (pod, service) = pod_with_service(&namespace, "app-1").await;
    let (pod_elsewhere, elsewhere) = pod_with_service(&another, "app-1").await;
    let running = Run::watcher_in_cluster(&namespace).await.spawn();
    let other = Run::watcher_in_cluster(&another).await.spawn();
    for running in [&running, &other] {
        eventually(std::time::Duration::from_secs(30), "it is ready at its documented port", async || {
            let ready = running.get("/readyz").await;
            if ready.status == 200 { Ok(()) } else { Err(format!("{}{}", ready.body, running.stderr())) }
        })
        .await;
    }
    early.gone().await;
    let gone = delete(pod).await;
    service.gone().await;
    elsewhere.assert_untouched().await;
    pod_elsewhere.delete().await;
    elsewhere.gone().await;
    // The Service may be seen to be gone before its deletion is answered.
    eventually(std::time::Duration::from_secs(30), "both deletions are counted", async || {
        let body = running.get("/metrics").await.body;
        if body.contains(r#"deletions_total{reason="PodGone"} 2"#) { Ok(()) } else { Err(body + &running.stderr()) }
    })
    .await;
    other.terminate().await.expect_code(0);
    // Its log is text, for people.
    let outcome = running.terminate().await.expect_code(0);
    assert!(outcome.log().is_empty());
    let line = outcome.stderr.lines().find(|line| line.contains("Service deleted") && line.contains("app-1")).unwrap();
    for part in ["INFO", "PodGone", &gone.uid, service.uid(), namespace.name()] {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}
