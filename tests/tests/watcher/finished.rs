//! The pod has finished and stays as an object: its Service is deleted after the grace period.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Phase, Pod, Run};
use k8s_openapi::{api::core::v1::Pod as PodObject, jiff::Timestamp};

use crate::support::{
    Gone, SCANS, assert_deletion, delete, deletion, ends_having_deleted, noticed, pod_with_service, settled, since,
    watching,
};

const HOUR: Duration = Duration::from_secs(3600);

fn name(pod: &Pod<'_>) -> Gone {
    Gone { name: pod.name().to_owned(), uid: pod.uid().to_owned() }
}

/// When the pod's container ended, as its object has it: in whole seconds.
#[track_caller]
fn finished_at(pod: &Pod<'_>) -> Timestamp {
    let statuses = pod.object().status.as_ref().unwrap().container_statuses.as_ref().unwrap();
    statuses[0].state.as_ref().unwrap().terminated.as_ref().unwrap().finished_at.as_ref().unwrap().0
}

async fn assert_stays(pod: &Pod<'_>) {
    let found: PodObject = pod.namespace().api().get(pod.name()).await.unwrap();
    assert_eq!(found.metadata, pod.object().metadata);
}

#[tokio::test]
async fn a_pod_that_failed_long_ago_loses_its_service_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    // One has failed before the watcher starts, and one fails in its sight: its node was away and reports only now.
    let (mut early, early_service) = pod_with_service(&namespace, "app-0").await;
    let (mut late, late_service) = pod_with_service(&namespace, "app-1").await;
    early.finish(Phase::Failed, HOUR).await;
    let running = watching(Run::watcher(&namespace).await).await;
    assert_deletion(&deletion(&running, &early_service).await, &early_service, &name(&early), "PodFinished");
    late.finish(Phase::Failed, HOUR).await;
    assert_deletion(&deletion(&running, &late_service).await, &late_service, &name(&late), "PodFinished");
    early_service.gone().await;
    late_service.gone().await;
    assert_stays(&early).await;
    assert_stays(&late).await;
    ends_having_deleted(running, &[&early_service, &late_service]).await;
}

#[tokio::test]
async fn a_pod_that_finished_just_now_keeps_its_service_for_the_grace_period() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut failed, failed_service) = pod_with_service(&namespace, "app-0").await;
    let (mut succeeded, succeeded_service) = pod_with_service(&namespace, "app-1").await;
    let grace = Duration::from_secs(4);
    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--grace", "4s"])).await;
    failed.finish(Phase::Failed, Duration::ZERO).await;
    succeeded.finish(Phase::Succeeded, Duration::ZERO).await;
    for (pod, service) in [(&failed, &failed_service), (&succeeded, &succeeded_service)] {
        let line = deletion(&running, service).await;
        assert_deletion(&line, service, &name(pod), "PodFinished");
        let kept = since(finished_at(pod), &line);
        assert!(kept >= grace, "{kept:?}");
        service.gone().await;
        assert_stays(pod).await;
    }
    ends_having_deleted(running, &[&failed_service, &succeeded_service]).await;
}

#[tokio::test]
async fn a_pod_that_was_evicted_before_it_ran_keeps_its_service_for_the_grace_period_from_when_that_was_seen() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut early, early_service) = pod_with_service(&namespace, "app-0").await;
    let (mut late, late_service) = pod_with_service(&namespace, "app-1").await;
    early.evict().await;
    let started = Timestamp::now();
    let running = watching(Run::watcher(&namespace).await.args(["--grace", "3s"])).await;
    let evicted = Timestamp::now();
    late.evict().await;
    for (pod, service, seen) in [(&early, &early_service, started), (&late, &late_service, evicted)] {
        let line = deletion(&running, service).await;
        assert_deletion(&line, service, &name(pod), "PodFinished");
        let kept = since(seen, &line);
        assert!(kept >= Duration::from_secs(3), "{kept:?}");
        assert_stays(pod).await;
    }
    ends_having_deleted(running, &[&early_service, &late_service]).await;
}

#[tokio::test]
async fn by_default_that_is_a_minute() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut recent, recent_service) = pod_with_service(&namespace, "app-0").await;
    let (mut older, older_service) = pod_with_service(&namespace, "app-1").await;
    let (mut evicted, evicted_service) = pod_with_service(&namespace, "app-2").await;
    recent.finish(Phase::Failed, Duration::ZERO).await;
    older.finish(Phase::Failed, Duration::from_secs(61)).await;
    evicted.evict().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    deletion(&running, &older_service).await;
    settled(&namespace, &running).await;
    recent_service.assert_untouched().await;
    evicted_service.assert_untouched().await;
    ends_having_deleted(running, &[&older_service]).await;
}

#[tokio::test]
async fn without_grace_it_is_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut failed, failed_service) = pod_with_service(&namespace, "app-0").await;
    let (mut evicted, evicted_service) = pod_with_service(&namespace, "app-1").await;
    let (mut running_pod, running_service) = pod_with_service(&namespace, "app-2").await;
    running_pod.phase(Phase::Running).await;
    let running = watching(Run::watcher(&namespace).await.args(["--grace", "0"])).await;
    failed.finish(Phase::Failed, Duration::ZERO).await;
    evicted.evict().await;
    for (pod, service) in [(&failed, &failed_service), (&evicted, &evicted_service)] {
        let line = deletion(&running, service).await;
        assert_deletion(&line, service, &name(pod), "PodFinished");
        assert!(line["took_ms"].as_u64().unwrap() < 3000, "{line}");
    }
    noticed(&namespace, &running).await;
    running_service.assert_untouched().await;
    ends_having_deleted(running, &[&failed_service, &evicted_service]).await;
}

#[tokio::test]
async fn a_pod_that_ends_because_it_is_deleted_does_not_hold_its_service_once_it_is_gone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (mut pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await).await;
    // As a kubelet does it: all containers have ended before the object goes.
    pod.ask_to_end().await;
    pod.finish(Phase::Succeeded, Duration::ZERO).await;
    noticed(&namespace, &running).await;
    service.assert_untouched().await;
    let gone = delete(pod).await;
    let deleted = Timestamp::now();
    let line = deletion(&running, &service).await;
    assert_deletion(&line, &service, &gone, "PodGone");
    let late = since(deleted, &line);
    assert!(late < Duration::from_secs(10), "nobody looked for {late:?}");
}
