//! The kustomizations, as kubectl builds them.

use std::{fs, path::Path, process::Command};

use cluster_tests::harness::{ControlPlane, cargo, programs};
use common::labels::CREATOR;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    apply::{dry_run, restricted},
    chart_values::same,
    creator,
    workload::{assert_hardened, assert_token_is_the_creators, create_pod, template},
};

fn build(folder: &str) -> Vec<Value> {
    build_of(&cargo::workspace().join(folder))
}

fn build_of(folder: &Path) -> Vec<Value> {
    let kubectl = programs::kubectl().unwrap_or_else(|error| panic!("{error}"));
    let output = Command::new(kubectl).arg("kustomize").arg(folder).output().unwrap();
    assert!(output.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
    serde_saphyr::from_multiple(&String::from_utf8_lossy(&output.stdout)).unwrap()
}

#[test]
fn what_the_base_has_are_copies_of_the_repositorys_own() {
    let read = |file: &str| fs::read_to_string(cargo::workspace().join(file)).unwrap();
    for (copy, of) in [
        ("base/creator-permissions.yaml", "permissions/least-privilege/creator.yaml"),
        ("base/watcher-permissions.yaml", "permissions/least-privilege/watcher.yaml"),
        ("base/watcher.yaml", "examples/watcher/watcher.yaml"),
        ("net-service/permissions.yaml", "permissions/net-service/role.yaml"),
    ] {
        same(&format!("kustomize/{copy}"), &read(of));
    }
    let configmap: Value = serde_saphyr::from_str(&read("examples/deployment/configmap.yaml")).unwrap();
    same("kustomize/creator/default.yaml", configmap["data"]["default.yaml"].as_str().unwrap());
}

#[tokio::test]
async fn with_the_component_two_watchers_look_after_net_services_under_its_permissions() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    let folder = TempDir::new().unwrap();
    for name in ["base", "net-service"] {
        let from = cargo::workspace().join("kustomize").join(name);
        assert!(Command::new("cp").arg("-R").arg(from).arg(folder.path()).status().unwrap().success());
    }
    let user = folder.path().join("user");
    fs::create_dir(&user).unwrap();
    let kustomization =
        format!("namespace: {}\nresources: [../base]\ncomponents: [../net-service]\n", namespace.name());
    fs::write(user.join("kustomization.yaml"), kustomization).unwrap();
    let documents = build_of(&user);
    for document in &documents {
        dry_run(&namespace, document).await.unwrap_or_else(|error| panic!("{}: {error}", document["metadata"]["name"]));
    }
    let watcher = documents.iter().find(|document| document["kind"] == "Deployment").unwrap();
    assert_eq!(watcher["spec"]["replicas"], 2);
    let arguments = watcher["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    assert_eq!(arguments.last().unwrap(), "--controllers=cleanup,net-service");
    assert_hardened(&create_pod(&namespace, template(watcher).unwrap()).await.unwrap(), "kustomize/net-service");
    let is_ours = |document: &&Value| document["metadata"]["name"] == "ipf-dynamic-nodeport-service-net-service";
    let binding = documents.iter().filter(is_ours).find(|document| document["kind"] == "RoleBinding").unwrap();
    assert_eq!(binding["subjects"][0]["name"], template(watcher).unwrap()["spec"]["serviceAccountName"]);
    assert_eq!(binding["subjects"][0]["namespace"], namespace.name());
}

#[tokio::test]
async fn the_example_is_accepted_and_its_pods_get_a_node_port() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await.with_account(CREATOR);
    let mut documents = build("kustomize/example");
    assert!(documents.iter().all(|document| document["metadata"]["namespace"] == "ipf-example"), "{documents:?}");
    for document in &mut documents {
        document["metadata"]["namespace"] = namespace.name().into();
        dry_run(&namespace, document).await.unwrap_or_else(|error| panic!("{}: {error}", document["metadata"]["name"]));
        if let Some(template) = template(document) {
            assert_hardened(&create_pod(&namespace, template).await.unwrap(), "kustomize/example");
        }
    }
    let is_named = |document: &&Value| document["metadata"]["name"] == "ipf-example";
    let application = template(documents.iter().find(is_named).unwrap()).unwrap();
    assert_token_is_the_creators(&create_pod(&namespace, application).await.unwrap(), "kustomize/example");

    let configmap = documents.iter().find(|document| document["kind"] == "ConfigMap").unwrap();
    let configmap: ConfigMap = serde_json::from_value(configmap.clone()).unwrap();
    namespace.api().create(&PostParams::default(), &configmap).await.unwrap();
    namespace.wait_until_allowed("create", "services").await;
    let outcome = creator::run(&namespace, "app-0", application).await;
    assert!(outcome.file("nodeport.conf").unwrap().contains("IPF_NODEPORT = "));
}
