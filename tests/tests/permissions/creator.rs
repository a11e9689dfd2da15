//! The creator: each feature under exactly the rules of its file, and without them.

use cluster_tests::harness::{Namespace, NewService, Pod, Run, Running, Service, eventually};
use serde_json::json;

use crate::{
    policies::hardened,
    support::{
        CREATOR, PATIENCE, WATCHER, WithTemplate, assert_lacks, assert_says, file, namespace_of, permitted,
        recommended_template, service, used,
    },
};

#[tokio::test]
async fn a_run_and_the_next_use_each_rule_of_creator_yaml_and_need_no_other() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    let first = Run::creator(&pod).await.recommended().run().await.expect_code(0);
    let second = Run::creator(&pod).await.recommended().run().await.expect_code(0);
    assert!(first.output().is_some());
    assert_eq!(second.output(), first.output());
    assert_eq!(used(&namespace).await, permitted(&["creator"]));
}

#[tokio::test]
async fn without_a_rule_of_creator_yaml_it_says_which() {
    let Some(control_plane) = hardened().await else { return };
    for (verb, resource) in [("create", "services"), ("patch", "pods")] {
        let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
        let pod = namespace.pod("app-0").create().await;
        namespace.deny(verb, resource).await;
        assert_lacks(Run::creator(&pod).await.recommended().run().await, &namespace, verb, resource);
    }
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.recommended().run().await.expect_code(0);
    namespace.deny("get", "services").await;
    assert_lacks(Run::creator(&pod).await.recommended().run().await, &namespace, "get", "services");
}

#[tokio::test]
async fn a_template_that_is_not_mounted_needs_creator_configmap_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    assert_lacks(Run::creator(&pod).await.run().await, &namespace, "get", "configmaps");
    assert_eq!(service(&namespace, "app-0").await, None);

    namespace.grant(&file("creator-configmap")).await;
    Run::creator(&pod).await.run().await.expect_code(0);
    Run::creator(&pod).await.run().await.expect_code(0);
    assert_eq!(used(&namespace).await, permitted(&["creator", "creator-configmap"]));
    // No other ConfigMap: the rule names this one.
    let other = Run::creator(&pod).await.args(["--configmap", "kube-root-ca.crt"]);
    assert_lacks(other.run().await, &namespace, "get", "configmaps");
}

#[tokio::test]
async fn a_stateful_sets_creator_needs_only_creator_statefulset_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator-statefulset"]).await;
    let pod = namespace.pod("app-0").label("statefulset.kubernetes.io/pod-name", "app-0").create().await;
    let template = recommended_template("statefulset.yaml");
    for _ in 0..2 {
        Run::creator(&pod).await.template(&template).run().await.expect_code(0);
    }
    assert_eq!(used(&namespace).await, permitted(&["creator-statefulset"]));
    let other = namespace.pod("other-0").create().await;
    assert_lacks(Run::creator(&other).await.recommended().run().await, &namespace, "patch", "pods");
}

#[tokio::test]
async fn an_address_of_the_node_needs_creator_node_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    let run = async || Run::creator(&pod).await.recommended().args(["--advertise", "InternalIP"]);
    let outcome = run().await.run().await;
    assert_says(&outcome.termination_message(), &["ClusterRole"]);
    assert_lacks(outcome, &namespace, "get", "nodes");
    assert_eq!(service(&namespace, "app-0").await, None);

    namespace.grant(&file("creator-node")).await;
    for _ in 0..2 {
        let outcome = run().await.run().await.expect_code(0);
        assert_says(&outcome.output().unwrap(), &["IPF_NODENAME = 192.0.2.11\n"]);
    }
    assert_eq!(used(&namespace).await, permitted(&["creator", "creator-node"]));
}

/// What reads the pod; permissions/README.md lists it under this name.
#[tokio::test]
async fn what_reads_the_pod_needs_creator_pod_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let recommended = recommended_template("default.yaml");
    let with = |old: &str, new: &str| {
        assert!(recommended.contains(old));
        recommended.replacen(old, new, 1)
    };
    let selector = "ipfPodName: {{.PodName}}";
    for (what, template, arguments) in [
        ("the node's address, without HOST_IP", recommended.clone(), ["--advertise", "host-ip"]),
        ("a label as a value", with("app: {{.PodName}}", "app: {{labels.app}}"), ["--bind", "on"]),
        ("a label to select by", with(selector, "ipfPodName: {{.PodName}}\n    app: shop"), ["--bind", "on"]),
        ("a named port", with("targetPort: 8558", "targetPort: management"), ["--bind", "on"]),
        ("the pod's address, without POD_IP", recommended.clone(), ["--advertise", "template:{{PodIP}}"]),
    ] {
        let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
        let pod = namespace.pod("app-0").label("app", "shop").port("management", 8558).pod_ips(&["10.0.0.7"]);
        let pod = pod.create().await;
        let run = async || Run::creator(&pod).await.template(&template).args(arguments);
        let outcome = run().await.run().await;
        assert_eq!(outcome.code(), Some(4), "{what}: {}", outcome.stderr);
        assert_lacks(outcome, &namespace, "get", "pods");
        assert_eq!(service(&namespace, "app-0").await, None, "{what}");

        namespace.grant(&file("creator-pod")).await;
        for _ in 0..2 {
            run().await.run().await.expect_code(0);
        }
        assert_eq!(used(&namespace).await, permitted(&["creator", "creator-pod"]), "{what}");
    }
}

/// A creator that waits for an earlier pod's Service, which it may not delete.
async fn waiting(pod: &Pod<'_>) -> Running {
    let running = Run::creator(pod).await.recommended().spawn();
    eventually(PATIENCE, "the creator says that it waits", async || {
        let seen = running.stderr();
        if seen.contains("the garbage collector or the watcher will delete it") { Ok(()) } else { Err(seen) }
    })
    .await;
    running
}

/// An earlier pod's Service without an owner, that nobody removes by himself, and the pod that has the name now.
async fn successor<'a>(namespace: &'a Namespace<'a>) -> (Pod<'a>, Service<'a>, (String, String)) {
    let earlier = namespace.pod("app-0").create().await;
    let existing = earlier.service().without_owner().create().await;
    let owner = (earlier.name().to_owned(), earlier.uid().to_owned());
    earlier.delete().await;
    (namespace.pod("app-0").create().await, existing, owner)
}

#[tokio::test]
async fn without_creator_replace_yaml_an_earlier_pods_service_is_waited_for_until_the_collector_takes_it() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let (pod, mut existing, (name, uid)) = successor(&namespace).await;
    let running = waiting(&pod).await;
    assert!(existing.current().await.is_some());
    // With its owner, who is gone, the Service is the collector's.
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}]);
    existing.edit(json!({"metadata": {"ownerReferences": owner}})).await;
    running.wait().await.expect_code(0);
    existing.gone().await;
    assert!(service(&namespace, "app-0").await.is_some());
    assert_eq!(used(&namespace).await, permitted(&["creator"]));
}

#[tokio::test]
async fn without_creator_replace_yaml_an_earlier_pods_service_is_waited_for_until_the_watcher_takes_it() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let (pod, existing, _) = successor(&namespace).await;
    let running = waiting(&pod).await;
    let of_watcher = namespace.with_account(WATCHER);
    of_watcher.grant(&file("watcher")).await;
    let watcher = Run::watcher(&of_watcher).await.spawn();
    running.wait().await.expect_code(0);
    existing.gone().await;
    assert!(service(&namespace, "app-0").await.is_some());
    watcher.terminate().await.expect_code(0);
}

#[tokio::test]
async fn with_creator_replace_yaml_an_earlier_pods_service_is_replaced_at_once() {
    let Some(control_plane) = hardened().await else { return };
    let files = ["creator", "creator-replace"];
    let namespace = namespace_of(control_plane, CREATOR, &files).await;
    let (pod, existing, _) = successor(&namespace).await;
    let outcome = Run::creator(&pod).await.recommended().run().await.expect_code(0);
    assert_says(&outcome.stderr, &["deleted an obsolete Service", "it belongs to an earlier pod of this name"]);
    assert!(!outcome.stderr.contains("waiting"), "{}", outcome.stderr);
    existing.gone().await;
    assert_eq!(used(&namespace).await, permitted(&files));
}

/// A Service that only the creator would ever remove.
async fn needs_creator_replace(
    existing: impl for<'a> FnOnce(&'a Namespace<'a>, &Pod<'a>) -> NewService<'a>,
    needed: &[(&str, &str)],
) {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    let existing = existing(&namespace, &pod).create().await;
    for (verb, resource) in needed {
        let outcome = Run::creator(&pod).await.recommended().run().await;
        assert_says(&outcome.termination_message(), &["must be replaced, because"]);
        assert_lacks(outcome, &namespace, verb, resource);
        existing.assert_untouched().await;
        namespace.permit(verb, resource).await;
    }
    Run::creator(&pod).await.recommended().run().await.expect_code(0);
    existing.gone().await;
}

#[tokio::test]
async fn the_original_tools_service_needs_creator_replace_yaml() {
    let needed = [("get", "pods"), ("delete", "services")];
    assert_eq!(permitted(&["creator-replace"]).len(), needed.len());
    needs_creator_replace(|namespace, _| namespace.original_tools_service("app-0"), &needed).await;
}

#[tokio::test]
async fn this_pods_service_of_another_template_needs_creator_replace_yaml() {
    let existing = |pod: &Pod<'_>| json!({"selector": {"member": pod.name()}});
    needs_creator_replace(|_, pod| pod.service().spec(existing(pod)), &[("delete", "services")]).await;
}
