//! The examples, and what a pod of each gets.

use std::{fs, process::Command};

use cluster_tests::harness::{ControlPlane, Namespace, Outcome, cargo, control_plane::NODE_IPV4, manifests};
use common::labels::CREATOR;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use net_service::resource::Group;
use serde_json::{Value, json};

use crate::{
    apply::{dry_run, restricted},
    creator,
    workload::{assert_hardened, assert_token_is_the_creators, create_pod, template},
};

/// The folders whose pods have node ports.
const APPLICATIONS: [&str; 5] = ["deployment", "statefulset", "job", "several-addresses", "non-jvm"];
/// Those of the watcher.
const WATCHERS: [&str; 2] = ["watcher", "watcher-cronjob"];

/// Those of NetServices: objects of both groups, and workloads that they select.
const NET_SERVICES: &str = "net-service";

/// All documents of an example, as `kubectl apply --filename FOLDER` takes them.
fn documents(example: &str) -> Vec<Value> {
    let folder = cargo::workspace().join("examples").join(example);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|found| found == "yaml")).collect();
    files.sort();
    files.into_iter().flat_map(manifests::read).collect()
}

/// The pod template of an example's only workload.
fn pod_template(example: &str) -> Value {
    let templates: Vec<_> = documents(example).iter().filter_map(template).cloned().collect();
    assert_eq!(templates.len(), 1, "{example}");
    templates.into_iter().next().unwrap()
}

#[test]
fn every_folder_is_known_here() {
    let folder = cargo::workspace().join("examples");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir() && !entry.path().is_symlink());
    let mut found: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    found.sort();
    let mut known: Vec<_> =
        APPLICATIONS.into_iter().chain(WATCHERS).chain(["documented", "monitoring", NET_SERVICES]).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[tokio::test]
async fn the_api_server_knows_every_field_of_every_manifest() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    control_plane.serve_net_services(&Group::ALL).await;
    let namespace = restricted(control_plane).await;
    let permissions = ["permissions", "permissions/least-privilege", "permissions/hardened", "permissions/net-service"];
    let others = ["documented", NET_SERVICES];
    for example in APPLICATIONS.into_iter().chain(WATCHERS).chain(others).chain(permissions) {
        for document in documents(example) {
            dry_run(&namespace, &document).await.unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }
    let mut misspelt = documents("deployment").into_iter().find(|document| document["kind"] == "Deployment").unwrap();
    misspelt["spec"]["template"]["spec"]["enableServiceLink"] = false.into();
    let error = dry_run(&namespace, &misspelt).await.unwrap_err().to_string();
    assert!(error.contains("enableServiceLink"), "{error}");
}

#[tokio::test]
async fn the_pods_run_where_only_restricted_ones_may() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    for example in APPLICATIONS.into_iter().chain(WATCHERS) {
        let pod = create_pod(&namespace, &pod_template(example)).await;
        assert_hardened(&pod.unwrap_or_else(|error| panic!("{example}: {error}")), example);
    }
    let net_services = documents(NET_SERVICES);
    let templates: Vec<_> = net_services.iter().filter_map(template).collect();
    assert_eq!(templates.len(), 3);
    for template in templates {
        let pod = create_pod(&namespace, template).await;
        assert_hardened(&pod.unwrap_or_else(|error| panic!("{NET_SERVICES}: {error}")), NET_SERVICES);
    }
    let documented = documents("documented");
    let documented = documented.iter().find_map(template).unwrap();
    let error = create_pod(&namespace, documented).await.unwrap_err().to_string();
    assert!(error.contains("violates PodSecurity \"restricted:latest\""), "{error}");
}

#[test]
fn the_original_samples_have_no_more_fields_than_it_knew() {
    let samples = manifests::read("examples/net-service/samples.yaml");
    let found: Vec<_> = samples
        .iter()
        .map(|sample| {
            assert_eq!(
                (&sample["apiVersion"], &sample["kind"]),
                (&"svcctl.metaswitch.com/v1alpha1".into(), &"NetService".into())
            );
            (sample["metadata"].clone(), sample["spec"].clone())
        })
        .collect();
    let sample = |name: &str, network: &str, app: &str| {
        (json!({"name": name}), json!({"netAttachDef": network, "selector": {"app": app}}))
    };
    let documented = [
        sample("corens", "core", "utils"),
        sample("accessns", "access", "utils"),
        sample("emptyns", "empty", "utils"),
        sample("web", "blah", "nginx"),
    ];
    assert_eq!(found, documented);
}

#[test]
fn every_net_service_of_the_examples_selects_pods_of_the_examples_by_ports_that_they_have() {
    let documents = documents(NET_SERVICES);
    let templates: Vec<_> = documents.iter().filter_map(template).collect();
    let is_ours = |document: &&Value| document["apiVersion"] == "netservice.io/v1alpha1";
    let mut judged = 0;
    for net_service in documents.iter().filter(is_ours) {
        let name = &net_service["metadata"]["name"];
        let app = &net_service["spec"]["selector"]["app"];
        let selected = templates.iter().find(|template| template["metadata"]["labels"]["app"] == *app);
        let selected = selected.unwrap_or_else(|| panic!("{name} selects nothing"));
        let container = selected["spec"]["containers"][0]["ports"].as_array().unwrap();
        for port in net_service["spec"]["ports"].as_array().into_iter().flatten() {
            let protocol = |port: &Value| port["protocol"].as_str().unwrap_or("TCP").to_owned();
            let is_it = |found: &&Value| found["name"] == port["targetPort"] && protocol(found) == protocol(port);
            assert!(container.iter().any(|found| is_it(&found)), "{name}: {port}");
            judged += 1;
        }
    }
    assert!(judged >= 6, "{judged}");
}

#[tokio::test]
async fn only_the_creator_has_the_service_account_token() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    for example in APPLICATIONS {
        let pod = create_pod(&namespace, &pod_template(example)).await.unwrap();
        assert_token_is_the_creators(&pod, example);
    }
}

/// A namespace as the account of creators sees it, with these permissions of permissions/least-privilege.
async fn namespace<'a>(control_plane: &'a ControlPlane, permissions: &[&str]) -> Namespace<'a> {
    let namespace = control_plane.namespace().await.with_account(CREATOR);
    for name in permissions {
        namespace.grant(&format!("permissions/least-privilege/{name}.yaml")).await;
    }
    namespace
}

/// Runs the creator of an example's pod of this name. Returns the Service, how the creator ended, and the verbs of its requests.
async fn run(namespace: &Namespace<'_>, example: &str, pod: &str) -> (Service, Outcome, Vec<String>) {
    run_template(namespace, example, pod, &pod_template(example)).await
}

/// The same with a pod template as the test wants it.
async fn run_template(
    namespace: &Namespace<'_>,
    example: &str,
    pod: &str,
    template: &Value,
) -> (Service, Outcome, Vec<String>) {
    namespace.api::<ConfigMap>().delete(CREATOR, &Default::default()).await.unwrap();
    let config_maps = documents(example).into_iter().filter(|document| document["kind"] == "ConfigMap").collect();
    manifests::create(&namespace.admin(), namespace.name(), config_maps).await;
    let outcome = creator::run(namespace, pod, template).await;
    let service = namespace.api().get(pod).await.unwrap();
    let verbs = namespace.requests().await.into_iter().map(|event| event.verb).collect();
    (service, outcome, verbs)
}

/// The Service's selector has this label of the pod's name, and no other.
#[track_caller]
fn assert_selects(service: &Service, label: &str, pod: &str) {
    let selector = service.spec.as_ref().unwrap().selector.as_ref().unwrap();
    assert_eq!(selector.iter().collect::<Vec<_>>(), [(&label.to_owned(), &pod.to_owned())]);
}

/// The node port of the Service's port of this name.
fn node_port(service: &Service, name: &str) -> i32 {
    let ports = service.spec.as_ref().unwrap().ports.as_ref().unwrap();
    ports.iter().find(|port| port.name.as_deref() == Some(name)).unwrap().node_port.unwrap()
}

#[tokio::test]
async fn the_deployment_gets_its_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = namespace(control_plane, &["creator"]).await;
    let pod = "ipf-example-6d9c-x2x4z";
    let (service, outcome, mut verbs) = run(&namespace, "deployment", pod).await;
    assert_selects(&service, "ipfPodName", pod);
    let file = outcome.output().unwrap();
    assert!(file.contains(&format!("\nIPF_NODENAME = {NODE_IPV4}\n")), "{file}");
    assert!(file.contains("\nakka.remote.artery.bind.port = 55001\n"), "{file}");
    verbs.sort();
    assert_eq!(verbs, ["create", "patch"], "the template is mounted, and the label is put on the pod");
}

#[tokio::test]
async fn the_stateful_set_needs_no_label_and_one_request() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = namespace(control_plane, &["creator-statefulset"]).await;
    let pod = "ipf-example-stateful-0";
    let (service, outcome, verbs) = run(&namespace, "statefulset", pod).await;
    assert_selects(&service, "statefulset.kubernetes.io/pod-name", pod);
    let file = outcome.output().unwrap();
    assert!(file.contains(&format!("\nIPF_NODENAME = {NODE_IPV4}\n")), "{file}");
    assert!(file.contains("\npekko.remote.artery.bind.port = 55001\n"), "{file}");
    assert_eq!(verbs, ["create"]);
}

#[tokio::test]
async fn the_job_gets_its_port_as_json() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = namespace(control_plane, &["creator"]).await;
    let pod = "ipf-example-job-0-x2x4z";
    let (service, outcome, _) = run(&namespace, "job", pod).await;
    assert_selects(&service, "ipfPodName", pod);
    let file: Value = serde_json::from_str(&outcome.file("nodeport.json").unwrap()).unwrap();
    assert_eq!(file["host"], NODE_IPV4);
    assert_eq!(file["ports"], json!({"receiver": node_port(&service, "receiver")}));
}

#[tokio::test]
async fn the_external_address_is_advertised_where_there_is_one_and_all_are_listed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = namespace(control_plane, &["creator", "creator-node"]).await;
    let addresses = [(NODE_IPV4, "InternalIP"), ("198.51.100.7", "ExternalIP"), ("outside", "Hostname")];
    control_plane.create_node("outside", &addresses).await;
    let mut outside = pod_template("several-addresses");
    outside["spec"]["nodeName"] = "outside".into();
    let pod = "ipf-example-addresses-6d9c-x2x4z";
    let (service, outcome, verbs) = run_template(&namespace, "several-addresses", pod, &outside).await;
    let file = outcome.output().unwrap();
    assert!(file.contains("\nIPF_NODENAME = 198.51.100.7\n"), "{file}");
    let clients = node_port(&service, "clients");
    let lines = ["198.51.100.7", NODE_IPV4, "outside"].map(|address| format!("{address} {clients}\n"));
    assert_eq!(outcome.file("clients.txt").unwrap(), lines.concat());
    assert!(verbs.len() == 3 && verbs.contains(&"get".to_owned()), "the Node is read: {verbs:?}");

    let outcome =
        creator::run(&namespace, "ipf-example-addresses-6d9c-inside", &pod_template("several-addresses")).await;
    let file = outcome.output().unwrap();
    assert!(file.contains(&format!("\nIPF_NODENAME = {NODE_IPV4}\n")), "{file}");
}

#[tokio::test]
async fn the_application_without_a_jvm_gets_variables_that_a_shell_reads() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = namespace(control_plane, &["creator-statefulset"]).await;
    let pod = "ipf-example-valkey-0";
    let (service, outcome, verbs) = run(&namespace, "non-jvm", pod).await;
    assert_eq!(verbs, ["create"]);
    // What the application's container does with it, but for the server itself.
    let script = pod_template("non-jvm")["spec"]["containers"][0]["args"][0].as_str().unwrap().to_owned();
    let script = script.replace("/nodeport/", &format!("{}/", outcome.folder().display()));
    let script = script.replace("exec valkey-server", "echo valkey-server");
    let shell = Command::new("sh").args(["-c", &script]).env("PASSWORD", "secret").output().unwrap();
    let printed = String::from_utf8(shell.stdout).unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    let (valkey, bus) = (node_port(&service, "valkey"), node_port(&service, "bus"));
    let announced = format!(
        "--cluster-announce-ip {NODE_IPV4} --cluster-announce-port {valkey} --cluster-announce-bus-port {bus}\n"
    );
    assert!(printed.starts_with(&format!("{NODE_IPV4}:{valkey}\n")), "{printed}");
    assert!(printed.ends_with(&announced), "{printed}");
}
