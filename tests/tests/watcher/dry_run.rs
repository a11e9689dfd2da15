//! `--dry-run`: what would be deleted is printed, and nothing is.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Phase, Run, eventually};

use crate::support::{SCANS, delete, orphan, pod_with_service, two_more_scans, watching};

#[tokio::test]
async fn each_service_is_printed_once_and_none_is_deleted() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    namespace.deny("delete", "services").await;
    let (early, early_service) = orphan(&namespace, "app-0").await;
    let (pod, service) = pod_with_service(&namespace, "app-1").await;
    let (mut finished, finished_service) = pod_with_service(&namespace, "app-2").await;
    let (_living, living_service) = pod_with_service(&namespace, "app-3").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--dry-run"])).await;
    let gone = delete(pod).await;
    finished.finish(Phase::Failed, Duration::from_secs(3600)).await;

    let here = namespace.name();
    let mut expected = vec![
        format!("would delete Service {here}/app-0: PodGone, pod app-0 (UID {})", early.uid),
        format!("would delete Service {here}/app-1: PodGone, pod app-1 (UID {})", gone.uid),
        format!("would delete Service {here}/app-2: PodFinished, pod app-2 (UID {})", finished.uid()),
    ];
    eventually(Duration::from_secs(30), "all three are printed", async || {
        let seen = running.stdout();
        if seen.lines().count() >= expected.len() { Ok(()) } else { Err(seen) }
    })
    .await;
    two_more_scans(&running).await;
    for service in [&early_service, &service, &finished_service, &living_service] {
        service.assert_untouched().await;
    }
    let outcome = running.terminate().await.expect_code(0);
    let mut printed: Vec<_> = outcome.stdout.lines().collect();
    printed.sort_unstable();
    expected.sort();
    assert_eq!(printed, expected);
    let requests = namespace.requests().await;
    assert!(requests.iter().all(|event| ["get", "list", "watch"].contains(&&*event.verb)), "{requests:#?}");
}

#[tokio::test]
async fn together_with_a_single_run() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    namespace.deny("delete", "services").await;
    let (gone, service) = orphan(&namespace, "app-0").await;
    let outcome = Run::watcher(&namespace).await.args(["--once", "--dry-run"]).run().await.expect_code(0);
    let expected = format!("would delete Service {}/app-0: PodGone, pod app-0 (UID {})\n", namespace.name(), gone.uid);
    assert_eq!(outcome.stdout, expected);
    assert!(outcome.log().iter().all(|line| line["level"] == "INFO"), "{}", outcome.stderr);
    service.assert_untouched().await;
}
