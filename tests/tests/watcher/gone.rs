//! The pod is gone, or another has its name: its Service is deleted, and no other.

use cluster_tests::harness::{ControlPlane, Run, Service};
use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kube::api::PostParams;
use serde_json::json;

use crate::support::{
    DELETED, SCANS, assert_deletion, delete, deletion, ends_having_deleted, noticed, orphan, orphaned,
    pod_with_service, settled, since, two_more_scans, watching,
};

#[tokio::test]
async fn the_service_of_a_deleted_pod_is_deleted_and_nothing_else() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let (_living, others) = pod_with_service(&namespace, "app-1").await;
    let foreign = namespace.foreign_service("app-0-web").create().await;
    let running = watching(Run::watcher(&namespace).await).await;
    noticed(&namespace, &running).await;

    let gone = delete(pod).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    service.gone().await;
    noticed(&namespace, &running).await;
    others.assert_untouched().await;
    foreign.assert_untouched().await;
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn with_an_owner_reference_too_whoever_comes_first() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let service = pod.service().create().await;
    let running = watching(Run::watcher(&namespace).await).await;
    delete(pod).await;
    service.gone().await;
    noticed(&namespace, &running).await;
    let deleted: &[&Service<'_>] = if running.log_of(DELETED).len() == 2 { &[&service] } else { &[] };
    ends_having_deleted(running, deleted).await;
}

#[tokio::test]
async fn another_owner_beside_the_pod_does_not_keep_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let config_map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "stays"}})).unwrap();
    let config_map = namespace.api().create(&PostParams::default(), &config_map).await.unwrap();
    let other = config_map.metadata.uid.unwrap();
    let running = watching(Run::watcher(&namespace).await).await;
    // The garbage collector only takes the pod out of the owners, which is a change in the middle of the clean-up.
    for name in ["app-0", "app-1", "app-2"] {
        let pod = namespace.pod(name).create().await;
        let service = pod.service().owner("v1", "ConfigMap", "stays", &other).create().await;
        let gone = delete(pod).await;
        assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
        service.gone().await;
    }
}

#[tokio::test]
async fn what_was_deleted_before_the_start_is_found_at_the_start() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_living, kept) = pod_with_service(&namespace, "app-0").await;
    let mut orphans = Vec::new();
    for name in ["app-1", "app-2", "app-3"] {
        orphans.push(orphan(&namespace, name).await);
    }
    orphans.push(orphaned(&namespace, "app-4", |pod| pod.service().without_owner().headless()).await);
    // The template may give it another name than the pod's.
    orphans.push(orphaned(&namespace, "app-5", |pod| pod.service().without_owner().name("web")).await);
    // Nothing keeps a template from making a second one for the same pod.
    let (pod, first) = pod_with_service(&namespace, "app-6").await;
    let second = pod.service().without_owner().name("app-6-admin").create().await;
    let gone = delete(pod).await;
    orphans.extend([(gone.clone(), first), (gone, second)]);
    // A short name stands for the long one of a pod.
    let long = format!("{}-0", "a".repeat(100));
    orphans.push(
        orphaned(&namespace, &long, |pod| {
            pod.service()
                .without_owner()
                .name("aaa")
                .label("app", "aaa")
                .spec(json!({"selector": {"ipfPodName": "aaa"}}))
        })
        .await,
    );

    let running = watching(Run::watcher(&namespace).await).await;
    for (gone, service) in &orphans {
        assert_deletion(&deletion(&running, service).await, service, gone, "PodGone");
        service.gone().await;
    }
    let watching = &running.log_of("watching")[0];
    assert_eq!((&watching["pods"], &watching["services"]), (&1.into(), &9.into()), "{watching}");
    assert_eq!(watching["namespace"], namespace.name());
    noticed(&namespace, &running).await;
    kept.assert_untouched().await;
    let deleted: Vec<_> = orphans.iter().map(|(_, service)| service).collect();
    ends_having_deleted(running, &deleted).await;
}

#[tokio::test]
async fn pods_without_the_product_label_are_looked_after_by_the_scan() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let unlabelled = |name: &str| namespace.pod(name).without_label("product");
    let (bare, bare_too) = (unlabelled("bare-0").create().await, unlabelled("bare-1").create().await);
    let (named, named_too) = (
        unlabelled("named-0").label("ipfPodName", "named-0").create().await,
        unlabelled("named-1").label("ipfPodName", "named-1").create().await,
    );
    let mut services = Vec::new();
    for pod in [&bare, &bare_too, &named, &named_too] {
        services.push(pod.service().without_owner().create().await);
    }
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    settled(&namespace, &running).await;
    for (pod, service) in [(bare, &services[0]), (named, &services[2])] {
        let gone = delete(pod).await;
        assert_deletion(&deletion(&running, service).await, service, &gone, "PodGone");
    }
    settled(&namespace, &running).await;
    services[1].assert_untouched().await;
    services[3].assert_untouched().await;
    ends_having_deleted(running, &[&services[0], &services[2]]).await;
}

#[tokio::test]
async fn a_successor_of_the_same_name_does_not_keep_the_service_of_its_predecessor() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    // Of app-0 there is a successor already when the watcher starts; of app-1 it comes while the watcher waits.
    let (early, early_service) = orphan(&namespace, "app-0").await;
    let _successor = namespace.pod("app-0").create().await;
    let (pod, service) = pod_with_service(&namespace, "app-1").await;
    let (absent, absent_service) = pod_with_service(&namespace, "app-2").await;

    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--release-delay", "1h"])).await;
    assert_deletion(&deletion(&running, &early_service).await, &early_service, &early, "PodReplaced");
    let gone = delete(pod).await;
    delete(absent).await;
    two_more_scans(&running).await;
    service.assert_untouched().await;
    let successor = namespace.pod("app-1").create().await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodReplaced");
    let new = successor.service().without_owner().create().await;
    two_more_scans(&running).await;
    new.assert_untouched().await;
    absent_service.assert_untouched().await;
    ends_having_deleted(running, &[&early_service, &service]).await;
}

#[tokio::test]
async fn the_release_delay_keeps_the_ports_of_a_pod_that_is_gone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--release-delay", "3s"])).await;
    let before = Timestamp::now();
    let gone = delete(pod).await;
    let line = deletion(&running, &service).await;
    assert_deletion(&line, &service, &gone, "PodGone");
    assert!(since(before, &line).as_millis() >= 3000, "{line}");
    assert!(line["took_ms"].as_u64().unwrap() >= 3000, "{line}");
    service.gone().await;
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn a_pod_that_is_only_asked_to_end_keeps_its_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    // One without labels is in no list, so that each scan reads it.
    let unlisted = namespace.pod("app-1").without_label("product").create().await;
    let its_service = unlisted.service().without_owner().create().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS).args(["--grace", "0s"])).await;
    pod.ask_to_end().await;
    unlisted.ask_to_end().await;
    settled(&namespace, &running).await;
    for (pod, service) in [(pod, &service), (unlisted, &its_service)] {
        service.assert_untouched().await;
        let gone = delete(pod).await;
        assert_deletion(&deletion(&running, service).await, service, &gone, "PodGone");
    }
    ends_having_deleted(running, &[&service, &its_service]).await;
}
