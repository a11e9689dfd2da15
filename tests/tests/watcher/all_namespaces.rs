//! `--all-namespaces`, which needs the ClusterRole. These have control planes to themselves: nobody else's Services are to
//! be looked after.

use cluster_tests::harness::{ControlPlane, Namespace, Options, Run, manifests};

use crate::support::{
    SCANS, assert_deletion, assert_says, delete, deletion, ends_having_deleted, orphan, pod_with_service, settled,
    watching,
};

/// Applies the documented ClusterRole and its binding; the service account is there already.
async fn apply_cluster_role(namespace: &Namespace<'_>) {
    let documents = manifests::read("permissions/cluster-role.yaml");
    assert_eq!(documents[0]["kind"], "ServiceAccount");
    manifests::create(&namespace.admin(), namespace.name(), documents[1..].to_vec()).await;
}

#[tokio::test]
async fn namespaces_with_the_same_names_do_not_mix() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let (here, there, third) =
        (control_plane.namespace().await, control_plane.namespace().await, control_plane.namespace().await);
    apply_cluster_role(&here).await;
    there.wait_until_user_allowed(&here.user(), "delete", "services").await;
    let (pod, service) = pod_with_service(&here, "app-0").await;
    let (pod_there, service_there) = pod_with_service(&there, "app-0").await;
    // In a third namespace a pod of the orphan's name lives.
    let _namesake = third.pod("app-1").create().await;
    let (gone_early, orphaned) = orphan(&there, "app-1").await;
    let (_living, living) = pod_with_service(&here, "app-1").await;

    let running = watching(Run::watcher(&here).await.args(SCANS).args(["--all-namespaces"])).await;
    assert_eq!(running.log_of("watching")[0]["namespace"], "all");
    assert_deletion(&deletion(&running, &orphaned).await, &orphaned, &gone_early, "PodGone");
    let gone = delete(pod).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    settled(&here, &running).await;
    service_there.assert_untouched().await;
    living.assert_untouched().await;
    let gone = delete(pod_there).await;
    assert_deletion(&deletion(&running, &service_there).await, &service_there, &gone, "PodGone");
    settled(&there, &running).await;
    living.assert_untouched().await;
    ends_having_deleted(running, &[&orphaned, &service, &service_there]).await;
    control_plane.close().await;
}

#[tokio::test]
async fn without_the_cluster_role_it_says_which_rule_is_missing_and_goes_on_when_that_is_there() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let (here, there) = (control_plane.namespace().await, control_plane.namespace().await);
    let (gone, service) = orphan(&there, "app-0").await;
    let running = Run::watcher(&here).await.args(["--all-namespaces"]).spawn();
    for resource in ["pods", "services"] {
        let line = running.logged("watch lost; trying again", |line| line["resource"] == resource).await;
        assert_eq!(line["level"], "WARN");
        let account = format!("service account {}/ipf-dynamic-nodeport-service", here.name());
        let may_not = format!("may not list {resource}");
        let rule = format!("resources: [\"{resource}\"], verbs: [\"list\"");
        assert_says(line["error"].as_str().unwrap(), &[&account, &may_not, &rule, "ClusterRole"]);
    }
    let once = Run::watcher(&here).await.args(["--all-namespaces", "--once"]).run().await.expect_code(4);
    assert_says(&once.stderr, &["ClusterRole"]);

    apply_cluster_role(&here).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    running.terminate().await.expect_code(0);
    control_plane.close().await;
}
