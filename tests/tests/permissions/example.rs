//! least-privilege/deployment.yaml.

use cluster_tests::harness::{Namespace, Run, manifests};
use k8s_openapi::api::core::v1::{Container, Namespace as Object, Pod, ServiceAccount};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    policies::hardened,
    support::{CREATOR, assert_says, namespace_of, recommended_template, requests, service},
};

/// The pod template.
fn template() -> Value {
    let documents = manifests::read("permissions/least-privilege/deployment.yaml");
    documents[0]["spec"]["template"].clone()
}

/// The pod that the API server makes of a template, as a dry run.
async fn pod_of(namespace: &Namespace<'_>, mut template: Value) -> Pod {
    template["metadata"]["name"] = "app-0".into();
    let pod: Pod = serde_json::from_value(template).unwrap();
    namespace.api().create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await.unwrap()
}

/// How many of the containers have the service account's token mounted.
fn with_token<'a>(containers: impl IntoIterator<Item = &'a Container>) -> usize {
    let path = "/var/run/secrets/kubernetes.io/serviceaccount";
    let has = |container: &Container| container.volume_mounts.iter().flatten().any(|mount| mount.mount_path == path);
    containers.into_iter().filter(|container| has(container)).count()
}

#[tokio::test]
async fn only_the_init_container_has_the_token_and_the_pod_is_a_restricted_one() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let restricted = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    let namespaces: Api<Object> = Api::all(namespace.admin());
    namespaces.patch(namespace.name(), &PatchParams::default(), &Patch::Merge(restricted)).await.unwrap();
    let spec = pod_of(&namespace, template()).await.spec.unwrap();
    assert_eq!(spec.service_account_name.as_deref(), Some(CREATOR));
    assert_eq!(with_token(spec.init_containers.iter().flatten()), 1);
    assert_eq!(with_token(&spec.containers), 0);
    assert_eq!(spec.enable_service_links, Some(false));
}

#[tokio::test]
async fn a_pod_that_says_nothing_of_it_gets_no_token_of_the_creators_account() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let bare = |account: &str| json!({"spec": {"serviceAccountName": account, "containers": [{"name": "application", "image": "application"}]}});
    let mounted = async |account| with_token(&pod_of(&namespace, bare(account)).await.spec.unwrap().containers);
    assert_eq!(mounted(CREATOR).await, 0);
    assert_eq!(mounted("ipf-dynamic-nodeport-service").await, 1);
    let account: ServiceAccount = namespace.api().get(CREATOR).await.unwrap();
    assert_eq!(account.automount_service_account_token, Some(false));
}

#[tokio::test]
async fn the_creator_of_the_example_makes_two_requests_under_creator_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let container = template()["spec"]["initContainers"][0].take();
    assert_eq!(container["env"].as_array().unwrap().len(), 1, "the test sets what there is: HOST_IP");
    let pod = namespace.pod("ipf-example-6d9c-x2x4z").create().await;
    let run = Run::creator(&pod).await.env("HOST_IP", "192.0.2.11");
    let mounted = [
        ("/template/default.yaml", run.file("default.yaml", recommended_template("default.yaml"))),
        ("/nodeport/nodeport.conf", run.path("nodeport.conf")),
    ];
    let args = container["args"].as_array().unwrap().iter().map(|arg| {
        let arg = arg.as_str().unwrap();
        mounted.iter().find(|(path, _)| *path == arg).map_or_else(|| arg.to_owned(), |(_, here)| here.clone())
    });
    let args: Vec<_> = args.collect();
    let outcome = run.args(args).run().await.expect_code(0);
    assert_says(&outcome.output().unwrap(), &["\nIPF_NODENAME = 192.0.2.11\n"]);
    assert!(service(&namespace, pod.name()).await.is_some());
    let mut requests = requests(&namespace).await;
    requests.sort();
    assert_eq!(requests, ["create services", "patch pods"]);
}
