//! `--once`, as a CronJob runs it.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Phase, Run};

use crate::support::{
    DELETED, allow_delete_of, assert_deleted, assert_deletion, assert_says, orphan, pod_with_service, watching,
};

#[tokio::test]
async fn a_single_run_finds_all_and_ends() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (gone, gone_service) = orphan(&namespace, "gone-0").await;
    let (replaced, replaced_service) = orphan(&namespace, "replaced-0").await;
    let successor = namespace.pod("replaced-0").create().await;
    let successors = successor.service().without_owner().name("replaced-0-new").create().await;
    let (mut finished, finished_service) = pod_with_service(&namespace, "finished-0").await;
    finished.finish(Phase::Succeeded, Duration::from_secs(3600)).await;
    let (_living, living_service) = pod_with_service(&namespace, "living-0").await;
    let foreign = namespace.foreign_service("foreign").create().await;

    // It listens nowhere, so that nothing is in its way, and needs no permission to watch.
    namespace.deny("watch", "pods").await;
    namespace.deny("watch", "services").await;
    let outcome = Run::watcher(&namespace).await.without_env("LISTEN").args(["--once"]).run().await.expect_code(0);
    assert_deleted(&outcome, &[&gone_service, &replaced_service, &finished_service]);
    let line = |uid: &str| outcome.log_of(DELETED).into_iter().find(|line| line["uid"] == uid).unwrap();
    assert_deletion(&line(gone_service.uid()), &gone_service, &gone, "PodGone");
    assert_deletion(&line(replaced_service.uid()), &replaced_service, &replaced, "PodReplaced");
    assert_eq!(line(finished_service.uid())["reason"], "PodFinished");
    for service in [gone_service, replaced_service, finished_service] {
        service.gone().await;
    }
    for service in [successors, living_service, foreign] {
        service.assert_untouched().await;
    }
    assert!(outcome.elapsed() < Duration::from_secs(20), "{:?}", outcome.elapsed());
}

#[tokio::test]
async fn a_single_run_waits_for_what_only_it_can_know() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_, gone) = orphan(&namespace, "gone-0").await;
    let (mut evicted, evicted_service) = pod_with_service(&namespace, "evicted-0").await;
    evicted.evict().await;
    let args = ["--once", "--release-delay", "2s", "--grace", "3s"];
    let outcome = Run::watcher(&namespace).await.args(args).run().await.expect_code(0);
    assert!(outcome.elapsed() >= Duration::from_secs(3), "{:?}", outcome.elapsed());
    assert_deleted(&outcome, &[&gone, &evicted_service]);
}

#[tokio::test]
async fn a_single_run_leaves_to_the_next_what_that_sees_as_well() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut finished, service) = pod_with_service(&namespace, "finished-0").await;
    finished.finish(Phase::Failed, Duration::ZERO).await;
    let outcome = Run::watcher(&namespace).await.args(["--once", "--grace", "80s"]).run().await.expect_code(0);
    assert!(outcome.elapsed() < Duration::from_secs(20), "{:?}", outcome.elapsed());
    service.assert_untouched().await;
}

#[tokio::test]
async fn a_missing_permission_ends_it_and_is_named() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for (verb, resource) in [("list", "services"), ("list", "pods"), ("get", "services"), ("delete", "services")] {
        let namespace = control_plane.namespace().await;
        let (_, service) = orphan(&namespace, "app-0").await;
        namespace.deny(verb, resource).await;
        let outcome = Run::watcher(&namespace).await.args(["--once"]).run().await.expect_code(4);
        let name = namespace.name();
        let denied = format!(
            "service account {name}/ipf-dynamic-nodeport-service may not {verb} {resource} in namespace {name}"
        );
        let rule = format!("add {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}} to its Role");
        let failed = &outcome.log_of("failed")[0];
        assert_says(failed["error"].as_str().unwrap(), &[&denied, &rule]);
        service.assert_untouched().await;
    }
}

#[tokio::test]
async fn one_service_that_is_refused_does_not_keep_the_rest() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut services = Vec::new();
    for name in ["app-0", "app-1", "app-2"] {
        services.push(orphan(&namespace, name).await.1);
    }
    allow_delete_of(&namespace, &["app-1", "app-2"]).await;
    let outcome = Run::watcher(&namespace).await.args(["--once"]).run().await.expect_code(4);
    assert_deleted(&outcome, &[&services[1], &services[2]]);
    services[0].assert_untouched().await;
}

#[tokio::test]
async fn sigterm_ends_it_before_it_is_done_and_the_code_says_so() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let service = namespace.original_tools_service("app-0").create().await;
    let running = watching(Run::watcher(&namespace).await.args(["--once"])).await;
    let outcome = running.terminate().await.expect_code(143);
    assert_eq!(outcome.log_of("ended by SIGTERM").len(), 1, "{}", outcome.stderr);
    service.assert_untouched().await;
}

#[tokio::test]
async fn an_api_that_does_not_answer_ends_it_after_a_minute() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let run = Run::watcher(&namespace).await.server("https://127.0.0.1:1").args(["--once"]);
    let outcome = run.deadline(Duration::from_secs(120)).run().await.expect_code(7);
    assert!(outcome.elapsed() >= Duration::from_secs(55), "{:?}", outcome.elapsed());
    assert_says(&outcome.stderr, &["gave up after 60 s", "Connection refused"]);
    let lines = outcome.log().len();
    assert!(lines < 40, "{lines} lines in a minute");
}
