//! A Service of the pod's name that is someone else's, or may be: it is left exactly as it is.

use cluster_tests::harness::{ControlPlane, Namespace, Pod, Run};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use serde_json::json;

use crate::support::{
    CREATOR, WithTemplate, assert_says, current, documented_but, existing_service, node_port, service, services, uid,
};

/// The creator ends with 5 and says all of this; the Service is the very same afterwards, and there is no file.
async fn is_refused(run: Run, existing: &Service, namespace: &Namespace<'_>, parts: &[&str]) {
    let outcome = run.run().await.expect_code(5);
    let name = existing.metadata.name.as_deref().unwrap();
    let whole = format!("Service {}/{name} exists and is left as it is", namespace.name());
    assert_says(&outcome.termination_message(), &[&whole]);
    assert_says(&outcome.termination_message(), parts);
    assert_eq!(outcome.output(), None);
    assert_eq!(service(namespace, name).await, *existing);
}

#[tokio::test]
async fn a_users_own_service_is_refused() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let metadata = json!({"name": "app-0", "labels": {"team": "shop"}});
    let existing = existing_service(&namespace, metadata, json!({"ipfPodName": "app-0"})).await;
    let parts = ["it was not made by this program", "rename or delete it, or use another metadata.name"];
    is_refused(Run::creator(&pod).await, &existing, &namespace, &parts).await;
}

#[tokio::test]
async fn a_users_own_service_is_refused_although_its_fixed_port_is_the_templates() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let existing = existing_service(&namespace, json!({"name": "app-0"}), json!({"app": "shop"})).await;
    // Kubernetes checks the port before the name, and answers only "provided port is already allocated".
    let port = format!("nodePort: {}", node_port(&existing, "akka-artery"));
    let run = Run::creator(&pod).await.template(&documented_but("nodePort: 0", &port));
    is_refused(run, &existing, &namespace, &["it was not made by this program"]).await;
}

#[tokio::test]
async fn a_service_that_carries_our_label_and_nothing_else_of_ours_is_refused() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let metadata = json!({"name": "app-0", "labels": {"creator": CREATOR}});
    let existing = existing_service(&namespace, metadata, json!({"app": "shop"})).await;
    let parts = ["nobody can tell whose it is", "delete it if nobody needs it"];
    is_refused(Run::creator(&pod).await, &existing, &namespace, &parts).await;
}

#[tokio::test]
async fn what_only_looks_like_ours_is_refused() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let annotations =
        json!({"ipf-dynamic-nodeport-service/pod-name": "app-0", "ipf-dynamic-nodeport-service/pod-uid": "0ld"});
    for (metadata, said) in [
        // A copy that a hand made of one of ours.
        (json!({"name": "app-0", "annotations": annotations}), "it has our annotations, but neither the label"),
        // As the original tool's, but something else owns it.
        (json!({"name": "app-0", "labels": {"creator": CREATOR}}), "nothing on it says which"),
    ] {
        let namespace = control_plane.namespace().await;
        let pod = namespace.pod("app-0").create().await;
        let mut metadata = metadata;
        if metadata.get("annotations").is_none() {
            let owner: ConfigMap = namespace.api().get(CREATOR).await.unwrap();
            metadata["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": CREATOR, "uid": owner.metadata.uid}]);
        }
        let existing = existing_service(&namespace, metadata, json!({"ipfPodName": "app-0"})).await;
        is_refused(Run::creator(&pod).await, &existing, &namespace, &["nobody can tell whose it is", said]).await;
    }
}

#[tokio::test]
async fn a_fixed_name_in_the_template_does_not_let_a_second_pod_take_the_firsts_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let template = documented_but("name: {{.PodName}}", "name: web");
    let first = namespace.pod("app-0").create().await;
    let second = namespace.pod("app-1").create().await;
    Run::creator(&first).await.template(&template).run().await.expect_code(0);
    let existing = service(&namespace, "web").await;
    let parts = ["it belongs to pod app-0", "use {{.PodName}} in the template's metadata.name"];
    is_refused(Run::creator(&second).await.template(&template), &existing, &namespace, &parts).await;
    let again = Run::creator(&first).await.template(&template).run().await.expect_code(0);
    assert_says(&again.stderr, &["kept the Service of an earlier run"]);
}

/// A pod of the name `app-0` with its Service, and the UID of an earlier pod of that name.
async fn successor<'a>(namespace: &'a Namespace<'a>) -> (Pod<'a>, String) {
    let earlier = namespace.pod("app-0").create().await;
    let earlier_uid = earlier.uid().to_owned();
    earlier.delete().await;
    (namespace.pod("app-0").create().await, earlier_uid)
}

#[tokio::test]
async fn a_creator_that_outlived_its_pod_leaves_the_successor_alone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (pod, earlier_uid) = successor(&namespace).await;
    // Without a pod to be labelled, only the look at the Service's owner stands between it and the delete.
    let by_stateful_set =
        documented_but("ipfPodName: {{.PodName}}", "statefulset.kubernetes.io/pod-name: {{.PodName}}");
    for template in [crate::support::documented_template(), by_stateful_set] {
        Run::creator(&pod).await.template(&template).run().await.expect_code(0);
        let (service_before, pod_before) = (service(&namespace, "app-0").await, current(&pod).await);

        let gone = format!("pod app-0 (UID {earlier_uid}) is no longer in namespace {}", namespace.name());
        // With the node's name there is no look at the pod before the Service is asked for.
        for more in [&["--node-name", "node-1"][..], &[]] {
            let run = Run::creator(&pod).await.template(&template).token(&namespace.unbound_token().await);
            let run = run.args(["--pod", "app-0", "--pod-uid", &earlier_uid]).args(more.iter().copied());
            let outcome = run.run().await.expect_code(5);
            assert_says(&outcome.termination_message(), &[&gone, "another pod has its name now"]);
            assert_eq!(outcome.output(), None);
            assert_eq!(service(&namespace, "app-0").await, service_before);
            assert_eq!(current(&pod).await, pod_before);
        }
    }
}

#[tokio::test]
async fn two_creators_of_one_pod_at_once_agree_on_one_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for name in ["app-0", "app-1", "app-2"] {
        let pod = namespace.pod(name).create().await;
        let (one, other) = (Run::creator(&pod).await, Run::creator(&pod).await);
        let (one, other) = (one.spawn(), other.spawn());
        let (one, other) = (one.wait().await.expect_code(0), other.wait().await.expect_code(0));
        assert!(one.output().is_some());
        assert_eq!(one.output(), other.output());
    }
    let left = services(&namespace).await;
    assert_eq!(left.len(), 3, "{:?}", left.iter().map(uid).collect::<Vec<_>>());
}
