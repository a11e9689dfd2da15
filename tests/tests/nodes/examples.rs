//! The examples, as kubelets run them where only restricted pods may run; but for the application, which is the test's.

use std::fs;

use cluster_tests::{
    harness::{cargo, eventually, manifests},
    nodes::{Cluster, Network, pods},
};
use common::labels::{CREATOR, POD_UID_ANNOTATION, WATCHER};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

/// The manifests of a folder.
fn documents(folder: &str) -> Vec<Value> {
    let path = format!("examples/{folder}");
    let mut files: Vec<_> =
        fs::read_dir(cargo::workspace().join(&path)).unwrap().flatten().map(|file| file.file_name()).collect();
    files.sort();
    let yaml = files.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".yaml"));
    yaml.filter(|name| *name != "kustomization.yaml")
        .flat_map(|name| manifests::read(format!("{path}/{name}")))
        .collect()
}

/// Runs an example, and reaches each of its pods at each port of its Service.
async fn runs(folder: &str) {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await.with_account("ipf-dynamic-nodeport-service-creator");
    namespace.restrict().await;
    // What a user is told to bring.
    let secret = json!({"metadata": {"name": "ipf-example-valkey"}, "stringData": {"password": "secret"}});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    namespace.api().create(&PostParams::default(), &secret).await.unwrap();
    namespace.api::<ConfigMap>().delete(CREATOR, &Default::default()).await.unwrap();

    namespace.grant("permissions/least-privilege/creator.yaml").await;
    if folder == "several-addresses" {
        namespace.grant("permissions/least-privilege/creator-node.yaml").await;
    }
    let mut documents = documents(folder);
    let count = |document: &Value| ["replicas", "parallelism"].iter().find_map(|key| document["spec"][key].as_u64());
    let expected: u64 = documents.iter().filter_map(count).sum();
    assert!(expected > 0, "{folder} runs pods");
    documents.iter_mut().for_each(pods::use_application);
    manifests::create(&namespace.admin(), namespace.name(), documents).await;

    let ready = pods::ready(&namespace, "", usize::try_from(expected).unwrap()).await;
    reach(&cluster, &namespace, folder, &ready).await;
}

/// Reaches each pod at each port of the one Service that was made for it, and finds the ports in its file.
async fn reach(cluster: &Cluster, namespace: &cluster_tests::harness::Namespace<'_>, folder: &str, ready: &[Pod]) {
    let services = namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
    for pod in ready {
        let uid = pod.metadata.uid.as_ref().unwrap();
        let is_its = |service: &&Service| {
            service.metadata.annotations.as_ref().and_then(|all| all.get(POD_UID_ANNOTATION)) == Some(uid)
        };
        let own: Vec<_> = services.iter().filter(is_its).collect();
        assert_eq!(own.len(), 1, "{folder}: Services of {}", pods::name(pod));
        let ports = own[0].spec.as_ref().unwrap().ports.as_ref().unwrap();
        let node = pods::node(pod);
        let mut file = String::new();
        for port in ports {
            let number = u16::try_from(port.node_port.unwrap()).unwrap();
            let answer = cluster.reach(Network::Client, node.at(number), "/").await;
            // The pods of an indexed Job have a host name of their own, the beginning of the pod's.
            assert!(pods::name(pod).starts_with(&answer), "{folder}: {:?} of {}: {answer}", port.name, pods::name(pod));
            if file.is_empty() {
                file = cluster.reach(Network::Client, node.at(number), "/file").await;
            }
            assert!(file.contains(&number.to_string()), "{folder}: {number} is not in {file}");
        }
        assert!(file.contains(node.address()), "{folder}: {} is not in {file}", node.address());
    }
}

#[tokio::test]
async fn the_deployment() {
    runs("deployment").await;
}

#[tokio::test]
async fn the_stateful_set() {
    runs("statefulset").await;
}

#[tokio::test]
async fn the_job() {
    runs("job").await;
}

#[tokio::test]
async fn the_one_with_several_addresses() {
    runs("several-addresses").await;
}

#[tokio::test]
async fn the_one_without_a_jvm() {
    runs("non-jvm").await;
}

#[tokio::test]
async fn the_watcher() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    namespace.apply("permissions/least-privilege/watcher.yaml").await;
    manifests::create(&namespace.admin(), namespace.name(), documents("watcher")).await;
    // Its readiness probe has it that both watches have listed.
    pods::ready(&namespace, "app=ipf-dynamic-nodeport-service-watcher", 1).await;
}

/// The hardened policies, for one namespace only: other tests on these nodes do what they refuse.
fn policies(namespace: &str) -> Vec<Value> {
    let files = ["services", "pods", "deletions", "watcher"].map(|name| format!("permissions/hardened/{name}.yaml"));
    let mut documents: Vec<_> = files.iter().flat_map(manifests::read).collect();
    for binding in documents.iter_mut().filter(|document| document["kind"] == "ValidatingAdmissionPolicyBinding") {
        let labels = json!({"kubernetes.io/metadata.name": namespace});
        binding["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": labels}});
    }
    documents
}

#[tokio::test]
async fn least_privilege_and_the_hardened_policies() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let create = async |documents| manifests::create(&namespace.admin(), namespace.name(), documents).await;
    namespace.api::<ConfigMap>().delete(CREATOR, &Default::default()).await.unwrap();
    for file in ["creator", "watcher"] {
        create(manifests::read(format!("permissions/least-privilege/{file}.yaml"))).await;
    }
    create(policies(namespace.name())).await;
    let creator = cluster.control_plane().client_as(
        &format!("system:serviceaccount:{}:{CREATOR}", namespace.name()),
        &["system:serviceaccounts", "system:authenticated"],
    );
    let service = json!({"metadata": {"name": "theft"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let service: Service = serde_json::from_value(service).unwrap();
    eventually(pods::PODS_READY, "the policies have effect", async || {
        let services: Api<Service> = Api::namespaced(creator.clone(), namespace.name());
        match services.create(&PostParams { dry_run: true, ..PostParams::default() }, &service).await {
            Err(error) if error.to_string().contains("bound to no pod") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;

    create(documents("watcher")).await;
    for file in ["examples/deployment/configmap.yaml", "examples/deployment/application.yaml"] {
        create(manifests::read(file)).await;
    }
    let mut application = manifests::read("permissions/least-privilege/deployment.yaml");
    application.iter_mut().for_each(pods::use_application);
    create(application).await;
    pods::ready(&namespace, &format!("app={WATCHER}"), 1).await;
    let first = pods::ready(&namespace, "product=ipfv2", 3).await;
    reach(&cluster, &namespace, "least-privilege", &first).await;

    namespace.api::<Pod>().delete(pods::name(&first[0]), &Default::default()).await.unwrap();
    eventually(pods::PODS_READY, "its Service is gone", async || {
        let left = namespace.api::<Service>().get_opt(pods::name(&first[0])).await.unwrap();
        if left.is_none() { Ok(()) } else { Err("it is there") }
    })
    .await;
    let second = pods::ready(&namespace, "product=ipfv2", 3).await;
    reach(&cluster, &namespace, "least-privilege", &second).await;
}
