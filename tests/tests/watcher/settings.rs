//! Settings: the documented ones, and those that are wrong.

use std::net::TcpListener;

use cluster_tests::harness::{ControlPlane, Namespace, Run};

use crate::support::{assert_deletion, assert_says, deletion, ends_having_deleted, orphan, orphaned, watching};

const FOLDER: &str = "home/.config/ipf-dynamic-nodeport-service-watcher";

/// A kubeconfig's own namespace must not be what is watched: another namespace's account, and rights here.
async fn run_elsewhere(namespace: &Namespace<'_>) -> Run {
    let elsewhere = namespace.control_plane().namespace().await;
    Run::watcher(&elsewhere).await.token(&namespace.unbound_token().await)
}

#[tokio::test]
async fn the_documented_config_yaml_is_found_in_the_home_folder_and_a_variable_beats_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let text = format!("namespace: {}\nscan-interval: 2m\n", namespace.name());
    let run = run_elsewhere(&namespace).await;
    let home = run.path("home");
    run.file(&format!("{FOLDER}/config.yaml"), &text);
    let (gone, service) = orphan(&namespace, "app-0").await;
    let running = watching(run.env("HOME", &home)).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    ends_having_deleted(running, &[&service]).await;

    let run = run_elsewhere(&namespace).await;
    let home = run.path("home");
    run.file(&format!("{FOLDER}/config.yaml"), "namespace: somewhere-else\nscan-interval: 2m\n");
    let (gone, service) = orphan(&namespace, "app-1").await;
    let running = watching(run.env("HOME", &home).env("NAMESPACE", namespace.name())).await;
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn the_documented_environment_is_obeyed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for name in ["SCAN-INTERVAL", "SCAN_INTERVAL"] {
        // As documented: a bare number is seconds.
        let run = run_elsewhere(&namespace).await.env("NAMESPACE", namespace.name()).env(name, "1");
        let running = watching(run).await;
        assert_eq!(running.log_of("watching")[0]["namespace"], namespace.name());
        running.logged_times(3, "scanned").await;
        ends_having_deleted(running, &[]).await;
    }
}

#[tokio::test]
async fn selectors_choose_what_is_looked_after() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (gone, ours) = orphaned(&namespace, "app-0", |pod| pod.service().without_owner().label("team", "shop")).await;
    let (_, others) = orphan(&namespace, "app-1").await;
    let args = ["--service-selector", "team in (shop, bank)", "--pod-selector", "product=ipfv2,!canary"];
    let running = watching(Run::watcher(&namespace).await.args(args)).await;
    assert_deletion(&deletion(&running, &ours).await, &ours, &gone, "PodGone");
    others.assert_untouched().await;
    ends_having_deleted(running, &[&ours]).await;
}

#[tokio::test]
async fn wrong_ones_are_named_with_their_source() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let refused = async |run: Run, parts: &[&str]| {
        let outcome = run.run().await.expect_code(2);
        assert_says(&outcome.stderr, parts);
    };
    let run = async || Run::watcher(&namespace).await;
    refused(run().await.args(["--scan-intervall", "1m"]), &["--scan-intervall", "--scan-interval"]).await;
    refused(run().await.env("SCAN_INTERVAL", "0"), &["SCAN_INTERVAL", "0"]).await;
    refused(run().await.env("LISTEN", "8080"), &["LISTEN", "8080", "0.0.0.0:8080"]).await;
    refused(run().await.args(["--pod-selector", "product=ipfv2,"]), &["--pod-selector"]).await;
    refused(run().await.args(["--namespace", "one", "--all-namespaces"]), &["--namespace", "--all-namespaces"]).await;
    refused(run().await.args(["--config", "/none/config.yaml"]), &["/none/config.yaml"]).await;
    let with_file = run().await;
    let file = with_file.file("config.yaml", "namespace: here\nscaninterval: 1m\n");
    refused(with_file.args(["--config", &file]), &[&file, "line 2", "scaninterval", "scan-interval"]).await;
    refused(run().await.env("KUBECONFIG", "/none/kubeconfig"), &["/none/kubeconfig"]).await;
    // Neither a kubeconfig nor a service account.
    refused(run().await.env("KUBECONFIG", ""), &["KUBERNETES_SERVICE_HOST", ".kube/config"]).await;
    assert!(namespace.requests().await.is_empty(), "nothing was asked of the API");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let outcome = Run::watcher(&namespace).await.args(["--listen", &address]).run().await.expect_code(1);
    assert_says(&outcome.stderr, &[&address, "cannot listen", "in use", "--listen"]);
    assert!(namespace.requests().await.is_empty(), "nothing was asked of the API");
}
