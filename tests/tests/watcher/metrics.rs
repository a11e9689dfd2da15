//! /metrics, after what a test did.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Phase, Run, Running, eventually};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::support::{
    SCANS, delete, deletion, ends_having_deleted, orphan, pod_with_service, two_more_scans, watching,
};

/// The value of a sample, named without the common prefix; None where there is no such sample.
fn sample(body: &str, name: &str) -> Option<f64> {
    let lines = body.lines().filter_map(|line| line.strip_prefix("ipf_dynamic_nodeport_watcher_"));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.parse().unwrap())
}

/// Reads the page until these samples are as expected, and returns it.
async fn until(running: &Running, expected: &[(&str, f64)]) -> String {
    eventually(Duration::from_secs(30), "the metrics are as expected", async || {
        let page = running.get("/metrics").await;
        let seen: Vec<_> = expected.iter().map(|(name, _)| (*name, sample(&page.body, name))).collect();
        let is_expected = seen.iter().zip(expected).all(|((_, seen), (_, expected))| *seen == Some(*expected));
        if is_expected { Ok(page.body) } else { Err(format!("{seen:?}")) }
    })
    .await
}

#[tokio::test]
async fn they_count_what_was_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let started = Timestamp::now();
    let (_, replaced) = orphan(&namespace, "replaced-0").await;
    let _successor = namespace.pod("replaced-0").create().await;
    let (mut finished_pod, finished) = pod_with_service(&namespace, "finished-0").await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let (other_pod, other_service) = pod_with_service(&namespace, "app-1").await;
    let (_living, _kept) = pod_with_service(&namespace, "app-2").await;
    let unclear = namespace.original_tools_service("by-hand").spec(json!({"selector": {"app": "shop"}}));
    let unclear = unclear.create().await;
    // One that ran the creator and whose Service a hand deleted; one whose init container has not run yet does not count.
    let without = namespace.pod("app-3").label("ipfPodName", "app-3").create().await;
    let _pending = namespace.pod("app-4").create().await;

    let running = watching(Run::watcher(&namespace).await.args(SCANS).listening()).await;
    until(&running, &[(r#"deletions_total{reason="PodReplaced"}"#, 1.0), ("pods_without_service", 1.0)]).await;
    finished_pod.finish(Phase::Failed, Duration::from_secs(3600)).await;
    delete(pod).await;
    delete(other_pod).await;
    let missing = without.service().without_owner().create().await;
    two_more_scans(&running).await;
    let page = until(
        &running,
        &[
            (r#"deletions_total{reason="PodReplaced"}"#, 1.0),
            (r#"deletions_total{reason="PodFinished"}"#, 1.0),
            (r#"deletions_total{reason="PodGone"}"#, 2.0),
            ("deletion_duration_seconds_count", 4.0),
            (r#"api_requests_total{verb="delete",resource="services",code="200"}"#, 4.0),
            (r#"scans_total{result="failure"}"#, 0.0),
            ("services_left_alone", 1.0),
            ("pods_without_service", 0.0),
            ("suspects", 0.0),
        ],
    )
    .await;
    let value = |name: &str| sample(&page, name).unwrap_or_else(|| panic!("{name} is not there: {page}"));
    // Those of app-2 and app-3, and the one that nobody can judge: it has node ports too.
    assert_eq!(value("services"), 3.0, "{page}");
    assert!(value(r#"scans_total{result="success"}"#) >= 3.0, "{page}");
    assert_eq!(value("scan_duration_seconds_count"), value(r#"scans_total{result="success"}"#));
    assert!(value(r#"api_requests_total{verb="get",resource="pods",code="404"}"#) >= 2.0, "{page}");
    let last = value("last_scan_timestamp_seconds");
    let (started, now) = (started.as_second() as f64, Timestamp::now().as_second() as f64);
    assert!((started..=now + 1.0).contains(&last), "{last} is not from {started} to {now}");
    for service in [&service, &other_service, &finished, &replaced] {
        deletion(&running, service).await;
    }
    unclear.assert_untouched().await;
    missing.assert_untouched().await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn the_page_is_openmetrics_from_the_first_moment_on() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = Run::watcher(&namespace).await.listening().spawn();
    let early = running.get("/metrics").await;
    running.logged("scanned", |_| true).await;
    let late = running.get("/metrics").await;
    for page in [early, late] {
        assert_eq!(page.status, 200);
        assert_eq!(page.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(page.body.ends_with("\n# EOF\n"), "{}", page.body);
        let mut samples = page.body.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.all(|line| line.starts_with("ipf_dynamic_nodeport_watcher_")), "{}", page.body);
        for reason in ["PodGone", "PodReplaced", "PodFinished"] {
            let name = format!("deletions_total{{reason=\"{reason}\"}}");
            assert_eq!(sample(&page.body, &name), Some(0.0), "a first increase must be seen: {}", page.body);
        }
    }
    ends_having_deleted(running, &[]).await;
}
