//! The manifests that users apply, as the API server judges them: strictly, as a dry run.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

use std::fs;

use cluster_tests::harness::{ControlPlane, Namespace, Run, cargo, manifests};
use k8s_openapi::api::core::v1::{self, Pod, Service};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, TypeMeta},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

const RECOMMENDED: [&str; 6] = ["configmap", "application", "deployment", "statefulset", "watcher", "watcher-cronjob"];

/// A namespace in which only restricted pods run.
async fn restricted(control_plane: &ControlPlane) -> Namespace<'_> {
    let namespace = control_plane.namespace().await;
    let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    let namespaces: Api<v1::Namespace> = Api::all(namespace.admin());
    namespaces.patch(namespace.name(), &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    namespace
}

/// Applies a document server-side as a dry run; a field that Kubernetes does not know is refused.
async fn apply(namespace: &Namespace<'_>, document: &Value) -> Result<(), kube::Error> {
    let kind: TypeMeta = serde_json::from_value(document.clone()).unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(kind.clone()).unwrap());
    let api: Api<DynamicObject> = if manifests::is_cluster_wide(document) {
        Api::all_with(namespace.admin(), &resource)
    } else {
        let named = document["metadata"]["namespace"].as_str();
        Api::namespaced_with(namespace.admin(), named.unwrap_or(namespace.name()), &resource)
    };
    let parameters = PatchParams::apply("cluster-tests").force().dry_run().validation_strict();
    api.patch(document["metadata"]["name"].as_str().unwrap(), &parameters, &Patch::Apply(document)).await.map(drop)
}

/// The pod template of what creates pods, by itself or by jobs.
fn template(document: &Value) -> Option<&Value> {
    ["/spec/template", "/spec/jobTemplate/spec/template"].into_iter().find_map(|path| document.pointer(path))
}

/// Creates, as a dry run, the pod that a Deployment, a StatefulSet or a CronJob's Job would: Pod Security judges only that.
async fn create_pod(namespace: &Namespace<'_>, document: &Value) -> Result<Pod, kube::Error> {
    let mut pod = template(document).unwrap().clone();
    pod["metadata"]["name"] = "app-0".into();
    let pod: Pod = serde_json::from_value(pod).unwrap();
    namespace.api().create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await
}

/// The manifests of a folder.
fn manifests_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(cargo::workspace().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".yaml")).map(|name| format!("{folder}/{name}")).collect()
}

fn workloads(file: &str) -> Vec<Value> {
    manifests::read(file).into_iter().filter(|document| template(document).is_some()).collect()
}

#[tokio::test]
async fn the_api_server_knows_every_field_of_every_manifest() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    let recommended = RECOMMENDED.map(|name| format!("examples/recommended/{name}.yaml"));
    let documented = ["configmap", "deployment", "watcher"].map(|name| format!("examples/documented/{name}.yaml"));
    let permissions = ["permissions", "permissions/least-privilege", "permissions/hardened"].map(manifests_in).concat();
    assert!(permissions.len() >= 17, "{permissions:?}");
    for file in recommended.iter().chain(&documented).chain(&permissions) {
        for document in manifests::read(file) {
            apply(&namespace, &document).await.unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
    let mut misspelt = workloads(&recommended[2]).remove(0);
    misspelt["spec"]["template"]["spec"]["enableServiceLink"] = false.into();
    let error = apply(&namespace, &misspelt).await.unwrap_err().to_string();
    assert!(error.contains("enableServiceLink"), "{error}");
}

#[tokio::test]
async fn the_recommended_pods_run_where_only_restricted_ones_may() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    for file in RECOMMENDED.map(|name| format!("examples/recommended/{name}.yaml")) {
        for document in workloads(&file) {
            create_pod(&namespace, &document).await.unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
    let documented = workloads("examples/documented/deployment.yaml").remove(0);
    let error = create_pod(&namespace, &documented).await.unwrap_err().to_string();
    assert!(error.contains("violates PodSecurity \"restricted:latest\""), "{error}");
}

#[tokio::test]
async fn only_the_creator_has_the_service_account_token() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    for file in ["deployment", "statefulset"].map(|name| format!("examples/recommended/{name}.yaml")) {
        let document = workloads(&file).remove(0);
        // The API server's own admission adds a token to every container where it is to be mounted.
        let spec = create_pod(&namespace, &document).await.unwrap().spec.unwrap();
        let with_token = |container: &v1::Container| {
            let mounts = container.volume_mounts.iter().flatten();
            let path = "/var/run/secrets/kubernetes.io/serviceaccount";
            mounts.filter(|mount| mount.mount_path.starts_with(path)).count()
        };
        assert_eq!(spec.init_containers.iter().flatten().map(with_token).collect::<Vec<_>>(), [1], "{file}");
        assert_eq!(spec.containers.iter().map(with_token).collect::<Vec<_>>(), [0], "{file}");
        assert_eq!(spec.enable_service_links, Some(false), "{file}");
    }
}

/// The environment and arguments of the init container, for a run of the creator as it would be started.
async fn run(namespace: &Namespace<'_>, file: &str, pod: &str) -> (Service, String) {
    namespace.api::<v1::ConfigMap>().delete("ipf-dynamic-nodeport-service-creator", &Default::default()).await.unwrap();
    namespace.apply("examples/recommended/configmap.yaml").await;
    let document = workloads(file).remove(0);
    let container = &document["spec"]["template"]["spec"]["initContainers"][0];
    assert_eq!(container["env"].as_array().unwrap().len(), 1, "the test sets what there is: HOST_IP");
    let arguments: Vec<_> = container["args"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect();

    let pod = namespace.pod(pod).label("statefulset.kubernetes.io/pod-name", pod).create().await;
    let run = Run::creator(&pod).await;
    let output = run.path("nodeport.conf");
    let arguments = arguments.into_iter().map(|text| text.replace("/nodeport/nodeport.conf", &output));
    let outcome = run.args(arguments).env("HOST_IP", "192.0.2.11").run().await.expect_code(0);
    let service = namespace.api().get(pod.name()).await.unwrap();
    (service, outcome.output().unwrap())
}

#[tokio::test]
async fn the_recommended_deployment_gets_its_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (service, file) = run(&namespace, "examples/recommended/deployment.yaml", "ipf-example-6d9c-x2x4z").await;
    assert_eq!(service.spec.unwrap().selector.unwrap()["ipfPodName"], "ipf-example-6d9c-x2x4z");
    assert!(file.contains("\nIPF_NODENAME = 192.0.2.11\n"), "{file}");
    assert!(file.contains("\nakka.remote.artery.bind.port = 55001\n"), "{file}");
    let user = namespace.user();
    let verbs: Vec<_> = control_plane.audit(|event| event.user == user).await.into_iter().map(|e| e.verb).collect();
    assert_eq!(verbs.len(), 3, "{verbs:?}");
}

#[tokio::test]
async fn the_recommended_stateful_set_needs_no_label_and_two_requests() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (service, file) = run(&namespace, "examples/recommended/statefulset.yaml", "ipf-example-stateful-0").await;
    let selector = service.spec.unwrap().selector.unwrap();
    assert_eq!(selector["statefulset.kubernetes.io/pod-name"], "ipf-example-stateful-0");
    assert!(file.contains("\nIPF_NODENAME = 192.0.2.11\n"), "{file}");
    let user = namespace.user();
    let verbs: Vec<_> = control_plane.audit(|event| event.user == user).await.into_iter().map(|e| e.verb).collect();
    assert_eq!(verbs, ["get", "create"]);
}
