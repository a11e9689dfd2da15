//! Which pod the creator takes itself for, by each source there is.

use cluster_tests::harness::{
    ControlPlane, Run,
    preflight::{self, Level},
};

use crate::support::{
    WithTemplate, assert_nothing_left, assert_says, current, documented_but, node_port, requests, service, services,
    uid,
};

#[tokio::test]
async fn hostname_names_the_pod_where_the_token_does_not() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.token(&namespace.unbound_token().await).run().await.expect_code(0);
    let owner = service(&namespace, "app-0").await.metadata.owner_references.unwrap().remove(0);
    assert_eq!(owner.uid, pod.uid());
    let mut requests = requests(&namespace).await;
    requests.sort();
    assert_eq!(requests, ["create services", "get configmaps", "get pods", "patch pods"]);
}

#[tokio::test]
async fn the_token_beats_hostname_and_the_option_beats_the_token() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let first = namespace.pod("app-0").create().await;
    namespace.pod("app-1").create().await;
    Run::creator(&first).await.env("HOSTNAME", "app-1").run().await.expect_code(0);
    let names = async || {
        let services = services(&namespace).await;
        services.into_iter().filter_map(|service| service.metadata.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["app-0"]);
    Run::creator(&first).await.args(["--pod", "app-1"]).run().await.expect_code(0);
    assert_eq!(names().await, ["app-0", "app-1"]);
}

#[tokio::test]
async fn on_the_hosts_network_a_bound_token_still_names_the_pod() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").host_network().create().await;
    assert_ne!(pod.hostname(), "app-0");
    Run::creator(&pod).await.run().await.expect_code(0);
    service(&namespace, "app-0").await;
}

#[tokio::test]
async fn on_the_hosts_network_hostname_is_no_pods_name() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").host_network().create().await;
    let unbound = namespace.unbound_token().await;
    let outcome = Run::creator(&pod).await.token(&unbound).env("HOSTNAME", "node-1").run().await.expect_code(2);
    let missing = format!("pod {}/node-1 does not exist", namespace.name());
    let parts = [&missing, "HOSTNAME", "the machine's name", "set POD from the field metadata.name"];
    assert_says(&outcome.termination_message(), &parts);
    assert_nothing_left(&pod, &outcome, &[]).await;

    // A pod of the machine's name is another pod, or is this one by chance: nothing tells.
    let namesake = namespace.pod("node-1").host_network().create().await;
    let outcome = Run::creator(&pod).await.token(&unbound).env("HOSTNAME", "node-1").run().await.expect_code(2);
    assert_says(&outcome.termination_message(), &["uses the host's network", "set POD from the field metadata.name"]);
    assert_nothing_left(&namesake, &outcome, &[]).await;
}

#[tokio::test]
async fn names_that_no_service_can_have_get_a_short_form_and_the_next_run_finds_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (seventy, longest) = ("a".repeat(70), format!("{}-z", "a.b-c".repeat(51).split_at(251).0));
    assert_eq!(longest.len(), 253);
    for name in [&seventy, &longest, "a.b-0", "1pod", "123"] {
        let pod = namespace.pod(name).create().await;
        let first = Run::creator(&pod).await.run().await.expect_code(0);
        let own = |service: &k8s_openapi::api::core::v1::Service| {
            service.metadata.owner_references.iter().flatten().any(|owner| owner.uid == pod.uid())
        };
        let made: Vec<_> = services(&namespace).await.into_iter().filter(own).collect();
        let [made] = made.as_slice() else { panic!("{name} has {} Services", made.len()) };
        let artery = format!("IPF_NODEPORT = {}\n", node_port(made, "akka-artery"));
        assert!(first.output().unwrap().starts_with(&artery), "{name}");
        let service_name = made.metadata.name.as_deref().unwrap();
        assert!(service_name.len() <= 63 && service_name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert_eq!(made.metadata.annotations.as_ref().unwrap()["ipf-dynamic-nodeport-service/pod-name"], name);
        let label = &current(&pod).await.metadata.labels.unwrap()["ipfPodName"];
        assert_eq!(&made.spec.as_ref().unwrap().selector.as_ref().unwrap()["ipfPodName"], label);

        let second = Run::creator(&pod).await.run().await.expect_code(0);
        assert_eq!(second.output(), first.output(), "{name}");
        assert_eq!(uid(&service(&namespace, service_name).await), uid(made), "{name}");
    }
    assert_eq!(services(&namespace).await.len(), 5);
}

#[tokio::test]
async fn a_hostname_that_the_kubelet_may_have_cut_is_no_name() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod(&"a".repeat(70)).create().await;
    let unbound = namespace.unbound_token().await;
    let outcome = Run::creator(&pod).await.token(&unbound).run().await.expect_code(2);
    let parts = ["HOSTNAME", "may be cut", "63 characters", "set POD from the field metadata.name"];
    assert_says(&outcome.termination_message(), &parts);
    assert_nothing_left(&pod, &outcome, &[]).await;
    let outcome = Run::creator(&pod).await.token(&unbound).without_env("HOSTNAME").run().await.expect_code(2);
    assert_says(&outcome.termination_message(), &["HOSTNAME is not set", "set POD from the field metadata.name"]);
}

#[tokio::test]
async fn a_pod_that_does_not_exist_is_named_with_where_its_name_came_from() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&pod).await.args(["--pod", "app-9"]).run().await.expect_code(2);
    let missing = format!("pod {}/app-9 does not exist; the name came from the option pod", namespace.name());
    assert_says(&outcome.termination_message(), &[&missing]);
    assert_nothing_left(&pod, &outcome, &[]).await;

    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await);
    let outcome = run.args(["--pod", "app-9", "--pod-uid", "gone"]).run().await.expect_code(5);
    let gone = format!("pod app-9 (UID gone) is no longer in namespace {}: it was deleted", namespace.name());
    assert_says(&outcome.termination_message(), &[&gone]);
}

#[tokio::test]
async fn another_namespace_than_the_pods_is_refused() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&pod).await.args(["--namespace", "elsewhere"]).run().await.expect_code(2);
    let actual = format!("this is pod app-0 in namespace {}", namespace.name());
    let parts = ["namespace is set to elsewhere", &actual, "leave namespace out"];
    assert_says(&outcome.termination_message(), &parts);
    assert!(requests(&namespace).await.is_empty());
}

#[tokio::test]
async fn another_uid_than_the_tokens_is_refused() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&pod).await.args(["--pod-uid", "another"]).run().await.expect_code(2);
    assert_says(&outcome.termination_message(), &["pod-uid is set to another", pod.uid(), "leave pod-uid out"]);
    assert!(requests(&namespace).await.is_empty());
}

#[tokio::test]
async fn a_pod_without_its_token_is_told_how_to_mount_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator_in_cluster(&pod).await.without_token();
    let outcome = run.run().await.expect_code(2);
    let parts = ["is its token mounted", "automountServiceAccountToken: true", "project a token into this container"];
    assert_says(&outcome.termination_message(), &parts);
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn without_a_cluster_the_creator_says_where_it_looked() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&pod).await.env("KUBECONFIG", "").run().await.expect_code(2);
    let parts = ["no Kubernetes API to speak to", "KUBERNETES_SERVICE_HOST is not set", "no usable kubeconfig"];
    assert_says(&outcome.termination_message(), &parts);
    let outcome = Run::creator(&pod).await.env("KUBECONFIG", "/none/config").run().await.expect_code(2);
    assert_says(&outcome.termination_message(), &["cannot use the kubeconfig", "/none/config"]);
}

#[tokio::test]
async fn values_of_the_pod_are_data_whatever_they_look_like() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let note = "\"quoted\": [x]\nkind: Deployment # {{.PodName}}";
    let template = documented_but("spec:", "  annotations:\n    note: {{annotations.note}}\nspec:");
    for name in ["1e5", "true", "null"] {
        let pod = namespace.pod(name).annotation("note", note).create().await;
        Run::creator(&pod).await.template(&template).run().await.expect_code(0);
        let made = services(&namespace).await;
        let annotations = made.into_iter().map(|service| service.metadata.annotations.unwrap());
        let made = annotations.filter(|noted| noted["ipf-dynamic-nodeport-service/pod-name"] == name);
        assert_eq!(made.map(|noted| noted["note"].clone()).collect::<Vec<_>>(), [note], "{name}");
    }
}
