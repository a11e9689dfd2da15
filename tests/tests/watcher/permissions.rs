//! Roles that grant less than the documented one: the watcher says what is missing, and goes on when that is there.

use cluster_tests::harness::{ControlPlane, Namespace, Run};

use crate::support::{
    CANNOT_DELETE, SCANS, allow_delete_of, assert_deletion, assert_says, delete, deletion, ends_having_deleted, orphan,
    pod_with_service, two_more_scans,
};

/// The rule to add, and to which account's Role.
fn missing(namespace: &Namespace<'_>, verb: &str, resource: &str) -> [String; 2] {
    let name = namespace.name();
    [
        format!("service account {name}/ipf-dynamic-nodeport-service may not {verb} {resource} in namespace {name}"),
        format!("add {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}} to its Role"),
    ]
}

#[tokio::test]
async fn without_list_or_watch() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for (verb, resource) in [("list", "pods"), ("watch", "pods"), ("list", "services"), ("watch", "services")] {
        let namespace = control_plane.namespace().await;
        let (gone, service) = orphan(&namespace, "app-0").await;
        namespace.deny(verb, resource).await;
        let running = Run::watcher(&namespace).await.spawn();
        let line = running.logged("watch lost; trying again", |line| line["resource"] == resource).await;
        let [account, rule] = missing(&namespace, verb, resource);
        assert_eq!(line["level"], "WARN");
        assert_says(line["error"].as_str().unwrap(), &[&account, &rule]);
        namespace.permit(verb, resource).await;
        assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
        running.terminate().await.expect_code(0);
    }
}

#[tokio::test]
async fn without_get_or_delete() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for (verb, resource) in [("get", "pods"), ("get", "services"), ("delete", "services")] {
        let namespace = control_plane.namespace().await;
        let (gone, service) = orphan(&namespace, "app-0").await;
        namespace.deny(verb, resource).await;
        let running = Run::watcher(&namespace).await.spawn();
        let line = running.logged(CANNOT_DELETE, |line| line["service"] == "app-0").await;
        let [account, rule] = missing(&namespace, verb, resource);
        assert_eq!((&line["level"], &line["namespace"]), (&"WARN".into(), &namespace.name().into()), "{line}");
        assert_says(line["error"].as_str().unwrap(), &[&account, &rule]);
        service.assert_untouched().await;
        namespace.permit(verb, resource).await;
        assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
        running.terminate().await.expect_code(0);
    }
}

#[tokio::test]
async fn one_service_that_may_not_be_deleted_does_not_keep_the_others() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_, refused) = orphan(&namespace, "app-0").await;
    let (pod, service) = pod_with_service(&namespace, "app-1").await;
    allow_delete_of(&namespace, &["app-1"]).await;
    let running = Run::watcher(&namespace).await.args(SCANS).spawn();
    running.logged(CANNOT_DELETE, |line| line["service"] == "app-0").await;
    let gone = delete(pod).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    two_more_scans(&running).await;
    refused.assert_untouched().await;
    assert_eq!(running.log_of(CANNOT_DELETE).len(), 1, "{}", running.stderr());
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn the_rules_of_the_creator_alone_are_not_needed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (verb, resource) in [("get", "configmaps"), ("create", "services"), ("patch", "pods")] {
        namespace.deny(verb, resource).await;
    }
    let (gone, service) = orphan(&namespace, "app-0").await;
    let running = Run::watcher(&namespace).await.spawn();
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    ends_having_deleted(running, &[&service]).await;
}
