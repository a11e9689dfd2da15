//! Services that are not ours, or of which nobody can tell whose they are: untouched, and of the latter the log tells once.

use cluster_tests::harness::{ControlPlane, Run, Service};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::PostParams;
use serde_json::json;

use crate::support::{LEFT_ALONE, SCANS, assert_deleted, ends_having_deleted, settled, two_more_scans, watching};

const POD_NAME: &str = "ipf-dynamic-nodeport-service/pod-name";
const POD_UID: &str = "ipf-dynamic-nodeport-service/pod-uid";

#[tokio::test]
async fn somebody_elses_service_is_untouched_whatever_it_looks_like() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let foreign = |name: &str| namespace.foreign_service(name);
    let mut services = Vec::new();
    for service in [
        // Named as the pod, selecting as the documented template does, with the pod's own labels.
        foreign("app-0").spec(json!({"selector": {"ipfPodName": "app-0"}})),
        foreign("app-0-admin").label("product", "ipfv2").label("ipfPodName", "app-0"),
        // Another creator's.
        foreign("app-1").label("creator", "helm").spec(json!({"selector": {"ipfPodName": "app-1"}})),
        // A copy of one of ours that a hand made: the label was left out.
        pod.service().name("copy").without_owner().without_label("creator"),
    ] {
        services.push(service.create().await);
    }
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    pod.delete().await;
    settled(&namespace, &running).await;
    for service in &services {
        service.assert_untouched().await;
    }
    assert!(running.log_of(LEFT_ALONE).is_empty());
    ends_having_deleted(running, &[]).await;
}

#[tokio::test]
async fn a_service_that_is_marked_as_ours_and_of_another_shape_is_left_alone_and_told_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, other) = (namespace.pod("app-0").create().await, namespace.pod("app-1").create().await);
    let gone = namespace.pod("app-2").create().await;
    let original = |name: &str| namespace.original_tools_service(name);
    let set: StatefulSet = serde_json::from_value(json!({
        "metadata": {"name": "app"},
        "spec": {"replicas": 0, "serviceName": "app", "selector": {"matchLabels": {"app": "app"}}, "template": {
            "metadata": {"labels": {"app": "app"}},
            "spec": {"containers": [{"name": "application", "image": "application"}]},
        }},
    }))
    .unwrap();
    let set = namespace.api().create(&PostParams::default(), &set).await.unwrap().metadata.uid.unwrap();
    let only_labelled = "nothing on it says which pod it serves";

    let mut services: Vec<(Service<'_>, &str)> = Vec::new();
    for (service, why) in [
        (original("by-hand").spec(json!({"selector": {"app": "shop"}})), only_labelled),
        (original("another-pod").spec(json!({"selector": {"ipfPodName": "app-7"}})), only_labelled),
        (original("balanced").spec(json!({"type": "LoadBalancer"})), only_labelled),
        (original("inside").spec(json!({"type": "ClusterIP"})), only_labelled),
        (original("of-the-set").owner("apps/v1", "StatefulSet", "app", &set), only_labelled),
        (gone.service().name("half").without_owner().without_annotation(POD_UID), "it has only one of the annotations"),
        (gone.service().name("empty").without_owner().annotation(POD_NAME, ""), "it has only one of the annotations"),
        (pod.service().name("contradiction").annotation(POD_UID, "0ld"), "its annotations name pod app-0 (UID 0ld)"),
        (pod.service().name("shared").owner("v1", "Pod", "app-1", other.uid()), "several pods own it"),
    ] {
        services.push((service.create().await, why));
    }
    gone.delete().await;
    let running = watching(Run::watcher(&namespace).await.args(SCANS)).await;
    for (service, why) in &services {
        let line = running.logged(LEFT_ALONE, |line| line["service"] == service.name()).await;
        assert_eq!((&line["level"], &line["namespace"]), (&"WARN".into(), &namespace.name().into()), "{line}");
        assert!(line["why"].as_str().unwrap().contains(why), "{line}");
    }
    two_more_scans(&running).await;
    settled(&namespace, &running).await;
    for (service, _) in &services {
        service.assert_untouched().await;
    }
    assert_eq!(running.log_of(LEFT_ALONE).len(), services.len(), "{}", running.stderr());
    let outcome = running.terminate().await.expect_code(0);
    assert_deleted(&outcome, &[]);
}
