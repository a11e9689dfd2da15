//! What the scenarios share: templates, permissions, Services that are there already, and what a run left behind.

use std::{fs, time::Duration};

use cluster_tests::harness::{Namespace, Outcome, Pod, Run, manifests};
use k8s_openapi::api::core::v1::{ConfigMap, Pod as PodObject, Service};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The documented ConfigMap's name, and with it the label of Services.
pub(crate) const CREATOR: &str = "ipf-dynamic-nodeport-service-creator";

/// How long what the test waits for may take, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The documented Service template.
pub(crate) fn documented_template() -> String {
    let documents = manifests::read("examples/documented/configmap.yaml");
    documents[0]["data"]["default.yaml"].as_str().unwrap().to_owned()
}

/// The documented Service template with one part of it replaced.
#[track_caller]
pub(crate) fn documented_but(old: &str, new: &str) -> String {
    let documented = documented_template();
    assert!(documented.contains(old), "{old:?} is not in the documented template");
    documented.replacen(old, new, 1)
}

/// A fixed node port that no test gets by chance: Kubernetes allocates from this part of the range only when the rest is
/// used up (KEP-3668). `number` is the test's own, below 86.
pub(crate) fn fixed_port(number: u16) -> u16 {
    30000 + number
}

/// Runs of the creator with a template of the test's own.
pub(crate) trait WithTemplate {
    /// The template as a mounted file.
    fn template(self, text: &str) -> Self;
}

impl WithTemplate for Run {
    fn template(self, text: &str) -> Self {
        let path = self.file("service.yaml", text);
        self.args(["--template", &path])
    }
}

/// Puts another template into the documented ConfigMap.
pub(crate) async fn set_template(namespace: &Namespace<'_>, text: &str) {
    let patch = Patch::Merge(json!({"data": {"default.yaml": text}}));
    namespace.api::<ConfigMap>().patch(CREATOR, &PatchParams::default(), &patch).await.unwrap();
}

/// A Service that is there before the creator comes.
pub(crate) async fn existing_service(namespace: &Namespace<'_>, metadata: Value, selector: Value) -> Service {
    let service = serde_json::from_value(json!({
        "metadata": metadata,
        "spec": {"type": "NodePort", "selector": selector, "ports": [{"name": "akka-artery", "port": 55001}]},
    }));
    namespace.api().create(&PostParams::default(), &service.unwrap()).await.unwrap()
}

/// The original tool's Service of app-0.
pub(crate) async fn original_tools(namespace: &Namespace<'_>) -> Service {
    let metadata = json!({"name": "app-0", "labels": {"creator": CREATOR, "app": "app-0"}});
    existing_service(namespace, metadata, json!({"ipfPodName": "app-0"})).await
}

/// The Service of this name.
pub(crate) async fn service(namespace: &Namespace<'_>, name: &str) -> Service {
    namespace.api().get(name).await.unwrap()
}

/// All Services of the namespace.
pub(crate) async fn services(namespace: &Namespace<'_>) -> Vec<Service> {
    namespace.api().list(&ListParams::default()).await.unwrap().items
}

/// Changes a Service by hand.
pub(crate) async fn edit_service(namespace: &Namespace<'_>, name: &str, patch: Value) -> Service {
    namespace.api().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
}

/// The Service's node port of this name.
#[track_caller]
pub(crate) fn node_port(service: &Service, name: &str) -> i32 {
    let ports = service.spec.as_ref().unwrap().ports.as_ref().unwrap();
    ports.iter().find(|port| port.name.as_deref() == Some(name)).and_then(|port| port.node_port).unwrap()
}

/// The Service's UID.
#[track_caller]
pub(crate) fn uid(service: &Service) -> &str {
    service.metadata.uid.as_deref().unwrap()
}

/// The pod as it is now.
pub(crate) async fn current(pod: &Pod<'_>) -> PodObject {
    pod.namespace().api().get(pod.name()).await.unwrap()
}

/// What the creator asked in this namespace, as `verb resource`, in the order of arrival.
pub(crate) async fn requests(namespace: &Namespace<'_>) -> Vec<String> {
    let events = namespace.requests().await;
    events.iter().map(|event| format!("{} {}", event.verb, event.resource)).collect()
}

/// Fails unless the text holds each of the parts.
#[track_caller]
pub(crate) fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// The names in the run's folder: also what a broken write would have left there.
pub(crate) fn files(outcome: &Outcome) -> Vec<String> {
    let entries = fs::read_dir(outcome.folder()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Fails unless the run left neither a Service nor a change of its pod nor a file beside those it was given.
pub(crate) async fn assert_nothing_left(pod: &Pod<'_>, outcome: &Outcome, given: &[&str]) {
    let left = services(pod.namespace()).await;
    assert!(left.is_empty(), "a Service is left: {left:?}");
    assert_eq!(current(pod).await.metadata.resource_version, pod.object().metadata.resource_version, "the pod changed");
    let mut expected: Vec<_> = given.iter().copied().chain(["termination-log"]).collect();
    expected.sort_unstable();
    assert_eq!(files(outcome), expected);
}
