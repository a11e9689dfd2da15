//! Pods that kubelets run, waited for and described.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use k8s_openapi::api::core::v1::{Event, Pod, Service};
use kube::{
    Api,
    api::{ListParams, LogParams, PostParams},
};
use serde_json::{Value, json};

use super::{NODES, NodeName};
use crate::harness::{Namespace, eventually, manifests};

/// How long pods may take, on a busy machine.
pub const PODS_READY: Duration = Duration::from_secs(120);

/// The image of the application that test pods run, in place of a user's.
pub const APPLICATION: &str = super::node::SANDBOX_IMAGE;

/// Applies a manifest of this repository, with the test's application in place of the user's.
///
/// # Panics
/// When the API refuses it.
pub async fn apply(namespace: &Namespace<'_>, file: &str) {
    let mut documents = manifests::read(file);
    documents.iter_mut().for_each(use_application);
    manifests::create(&namespace.admin(), namespace.name(), documents).await;
}

/// Creates a pod that runs nothing but the application, on this node, and returns it when it is ready. It has these labels and
/// annotations, and its name as a label.
///
/// # Panics
/// When the API refuses it, or it does not get ready.
pub async fn plain(namespace: &Namespace<'_>, name: &str, node: NodeName, metadata: Value) -> Pod {
    let mut pod = json!({
        "metadata": metadata,
        "spec": {
            "nodeName": node.as_str(),
            "enableServiceLinks": false,
            "automountServiceAccountToken": false,
            "containers": [{"name": "application", "image": APPLICATION}],
        },
    });
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["labels"]["name"] = name.into();
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let created = namespace.api().create(&PostParams::default(), &pod).await;
    created.unwrap_or_else(|error| panic!("cannot create pod {name}: {error}"));
    ready(namespace, &format!("name={name}"), 1).await.remove(0)
}

/// Puts the test's application in place of every container but the project's own, with its ports and the file it reads.
pub fn use_application(document: &mut Value) {
    for path in ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"] {
        let Some(pod) = document.pointer_mut(path).filter(|pod| pod["containers"].is_array()) else { continue };
        let output = pod["initContainers"].as_array().into_iter().flatten().find_map(output);
        for container in pod["containers"].as_array_mut().into_iter().flatten().filter(|container| !is_own(container)) {
            container["image"] = APPLICATION.into();
            let fields = container.as_object_mut().expect("a container is a mapping");
            fields.remove("command");
            fields.remove("args");
            let ports: Vec<_> = container["ports"].as_array().into_iter().flatten().collect();
            let ports: Vec<_> = ports.into_iter().map(|port| port["containerPort"].to_string()).collect();
            let mut env = container["env"].as_array().cloned().unwrap_or_default();
            if !ports.is_empty() {
                env.push(json!({"name": "PORTS", "value": ports.join(",")}));
            }
            env.extend(output.iter().map(|file| json!({"name": "FILE", "value": file})));
            container["env"] = env.into();
        }
    }
}

fn is_own(container: &Value) -> bool {
    container["image"].as_str().is_some_and(|image| image.contains("ipf-dynamic-nodeport-service-"))
}

/// The file that a creator's container writes first.
fn output(container: &Value) -> Option<String> {
    let words = ["command", "args"].into_iter().flat_map(|key| container[key].as_array().into_iter().flatten());
    let mut words = words.filter_map(Value::as_str).skip_while(|word| *word != "--output");
    words.nth(1).map(str::to_owned)
}

/// The pods that have these labels, as they are now.
///
/// # Panics
/// When the API does not answer.
pub async fn list(namespace: &Namespace<'_>, labels: &str) -> Vec<Pod> {
    let pods: Api<Pod> = namespace.api();
    pods.list(&ListParams::default().labels(labels)).await.unwrap_or_else(|error| panic!("no pods: {error}")).items
}

/// Waits until there are just this many pods with these labels, all ready and none going, and returns them.
///
/// # Panics
/// When they do not get ready: with what they say of themselves.
pub async fn ready(namespace: &Namespace<'_>, labels: &str, count: usize) -> Vec<Pod> {
    eventually(PODS_READY, &format!("{count} pods {labels} are ready"), async || {
        let pods = list(namespace, labels).await;
        if pods.len() == count && pods.iter().all(is_ready) { Ok(pods) } else { Err(describe(namespace, &pods).await) }
    })
    .await
}

/// Ready and not being deleted.
#[must_use]
pub fn is_ready(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none() && serves(pod)
}

/// Ready, being deleted or not.
#[must_use]
pub fn serves(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "True")
}

/// Its name.
#[must_use]
pub fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// Their names.
#[must_use]
pub fn names(pods: &[Pod]) -> BTreeSet<String> {
    pods.iter().map(|pod| name(pod).to_owned()).collect()
}

/// Where it runs.
///
/// # Panics
/// When it runs nowhere yet.
#[must_use]
pub fn node(pod: &Pod) -> NodeName {
    let named = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let node = NODES.into_iter().find(|node| Some(node.as_str()) == named);
    node.unwrap_or_else(|| panic!("{} is on {named:?}", name(pod)))
}

/// An address of its own network.
///
/// # Panics
/// When it has none.
#[must_use]
pub fn address(pod: &Pod, port: u16) -> SocketAddr {
    let ip = pod.status.as_ref().and_then(|status| status.pod_ip.as_ref());
    let ip = ip.unwrap_or_else(|| panic!("{} has no address", name(pod)));
    SocketAddr::new(ip.parse().expect("Kubernetes writes addresses"), port)
}

/// The node port of a Service's port, at a node.
///
/// # Panics
/// When there is no such Service or port.
pub async fn node_port(namespace: &Namespace<'_>, service: &str, port: &str) -> u16 {
    let services: Api<Service> = namespace.api();
    let object = services.get(service).await.unwrap_or_else(|error| panic!("no Service {service}: {error}"));
    let mut ports = object.spec.and_then(|spec| spec.ports).unwrap_or_default().into_iter();
    let found = ports.find(|candidate| candidate.name.as_deref() == Some(port)).and_then(|port| port.node_port);
    found
        .and_then(|number| u16::try_from(number).ok())
        .unwrap_or_else(|| panic!("Service {service} has no port {port}"))
}

/// What pods and the events about them say, and the end of their logs.
pub async fn describe(namespace: &Namespace<'_>, pods: &[Pod]) -> String {
    let mut text = String::new();
    for pod in pods {
        let status = pod.status.clone().unwrap_or_default();
        let containers = status.init_container_statuses.into_iter().chain(status.container_statuses).flatten();
        let states: Vec<_> = containers.map(|container| container.state).collect();
        let last = LogParams { tail_lines: Some(80), ..LogParams::default() };
        let log = namespace.api::<Pod>().logs(name(pod), &last).await.unwrap_or_else(|error| error.to_string());
        text += &format!("\n{} {:?} {states:?}\n{log}", name(pod), status.phase);
    }
    let events: Api<Event> = namespace.api();
    let events = events.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    for event in events.iter().rev().take(10) {
        text += &format!("\n{:?}: {:?}", event.involved_object.name, event.message);
    }
    text
}
