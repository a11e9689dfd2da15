//! Services of the original tool, on which nothing says for which of the pods of a name they were made.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Phase, Run, Running, Service};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::support::{DELETED, SCANS, ends_having_deleted, since, two_more_scans, watching};

/// How long the pod must be absent.
const SECOND_LOOK: Duration = Duration::from_secs(30);

/// The line that tells of this Service's deletion; waits for it, longer than the pod must be absent.
async fn deletion(running: &Running, service: &Service<'_>) -> Value {
    running.logged_within(3 * SECOND_LOOK, DELETED, |line| line["uid"] == service.uid()).await
}

#[track_caller]
fn assert_deletion(line: &Value, service: &Service<'_>, absent_since: Timestamp) {
    assert_eq!((&line["service"], &line["pod"]), (&service.name().into(), &service.name().into()), "{line}");
    assert_eq!((&line["reason"], line.get("pod_uid")), (&"PodGone".into(), None), "{line}");
    let kept = since(absent_since, line);
    assert!(kept >= SECOND_LOOK, "{kept:?}");
}

#[tokio::test]
async fn they_are_deleted_when_their_pod_was_absent_twice_thirty_seconds_apart() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let original = |pod: &str| namespace.original_tools_service(pod);
    // Whose pod went before the watcher came, whose goes in its sight, with and without the product label.
    let early = original("early-0").create().await;
    let (late, late_pod) = (original("late-0").create().await, namespace.pod("late-0").create().await);
    let bare = original("bare-0").create().await;
    let bare_pod = namespace.pod("bare-0").without_label("product").create().await;
    // Whose pod lives, has finished, or comes back in time: to stay, or to go again.
    let (living, _pod) = (original("living-0").create().await, namespace.pod("living-0").create().await);
    let finished = original("finished-0").create().await;
    namespace.pod("finished-0").create().await.finish(Phase::Failed, Duration::from_secs(3600)).await;
    let (returned, returned_pod) = (original("back-0").create().await, namespace.pod("back-0").create().await);
    let (again, again_pod) = (original("again-0").create().await, namespace.pod("again-0").create().await);

    let started = Timestamp::now();
    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--grace", "0"])).await;
    let deleted = Timestamp::now();
    for pod in [late_pod, bare_pod, returned_pod, again_pod] {
        pod.delete().await;
    }
    two_more_scans(&running).await;
    let _returned_pod = namespace.pod("back-0").create().await;
    let again_pod = namespace.pod("again-0").create().await;
    two_more_scans(&running).await;
    let deleted_again = Timestamp::now();
    again_pod.delete().await;

    for (service, absent_since) in [(&early, started), (&late, deleted), (&bare, deleted), (&again, deleted_again)] {
        assert_deletion(&deletion(&running, service).await, service, absent_since);
        service.gone().await;
    }
    two_more_scans(&running).await;
    for service in [&living, &finished, &returned] {
        service.assert_untouched().await;
    }
    ends_having_deleted(running, &[&early, &late, &bare, &again]).await;
}

#[tokio::test]
async fn in_a_single_run_the_second_look_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let dry = control_plane.namespace().await;
    let absent = namespace.original_tools_service("app-0").create().await;
    let returned = namespace.original_tools_service("app-1").create().await;
    let dry_absent = dry.original_tools_service("app-0").create().await;
    let started = Timestamp::now();
    let running = watching(Run::watcher(&namespace).await.args(["--once"])).await;
    let dry_run = watching(Run::watcher(&dry).await.args(["--once", "--dry-run"])).await;
    let _pod = namespace.pod("app-1").create().await;

    let outcome = running.wait().await.expect_code(0);
    assert_deletion(&outcome.log_of(DELETED)[0], &absent, started);
    assert_eq!(outcome.log_of(DELETED).len(), 1, "{}", outcome.stderr);
    absent.gone().await;
    returned.assert_untouched().await;
    let outcome = dry_run.wait().await.expect_code(0);
    assert_eq!(outcome.stdout, format!("would delete Service {}/app-0: PodGone, pod app-0\n", dry.name()));
    dry_absent.assert_untouched().await;
}
