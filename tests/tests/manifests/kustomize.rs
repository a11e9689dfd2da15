//! The kustomizations, as kubectl builds them.

use std::{fs, process::Command};

use cluster_tests::harness::{ControlPlane, cargo, programs};
use common::labels::CREATOR;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use serde_json::Value;

use crate::{
    apply::{dry_run, restricted},
    chart_values::same,
    creator,
    workload::{assert_hardened, assert_token_is_the_creators, create_pod, template},
};

fn build(folder: &str) -> Vec<Value> {
    let kubectl = programs::kubectl().unwrap_or_else(|error| panic!("{error}"));
    let output = Command::new(kubectl).arg("kustomize").arg(cargo::workspace().join(folder)).output().unwrap();
    assert!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    serde_saphyr::from_multiple(&String::from_utf8_lossy(&output.stdout)).unwrap()
}

#[test]
fn what_the_base_has_are_copies_of_the_repositorys_own() {
    let read = |file: &str| fs::read_to_string(cargo::workspace().join(file)).unwrap();
    for (copy, of) in [
        ("creator-permissions.yaml", "permissions/least-privilege/creator.yaml"),
        ("watcher-permissions.yaml", "permissions/least-privilege/watcher.yaml"),
        ("watcher.yaml", "examples/watcher/watcher.yaml"),
    ] {
        same(&format!("kustomize/base/{copy}"), &read(of));
    }
    let configmap: Value = serde_saphyr::from_str(&read("examples/deployment/configmap.yaml")).unwrap();
    same("kustomize/creator/default.yaml", configmap["data"]["default.yaml"].as_str().unwrap());
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
