//! The additional networks of pods: what makes Multus attach pods to them, on a node and in the API.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams},
};
use net_service::network::STATUS_ANNOTATION;
use serde_json::{Value, json};

use super::{ADDITIONAL_NETWORKS, AdditionalNetwork, permissions::permit, pods};
use crate::harness::{ControlPlane, Namespace, eventually, manifests};

/// Who Multus says it is.
pub(super) const USER: &str = "multus";

/// How long the API may take to know a new kind, on a busy machine.
const KNOWN: Duration = Duration::from_secs(30);

/// The group of NetworkAttachmentDefinitions.
const GROUP: &str = "k8s.cni.cncf.io";

/// Where a pod says which networks it is to be attached to, as in `core,default/access`.
pub const NETWORKS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";

/// Their plural.
const DEFINITIONS: &str = "network-attachment-definitions";

/// Where the addresses that pods have are kept, on the nodes' machine. Both nodes look there, so neither gives what the other
/// gave.
const ADDRESSES: &str = "/run/additional-networks";

/// The folder that has a file for each address of a network that a pod has.
pub(super) fn addresses(network: AdditionalNetwork) -> PathBuf {
    Path::new(ADDRESSES).join(network.as_str())
}

/// Multus as a node's CNI plugin. It has the pods' own network as a single plugin: of a list, the version that is pinned loses
/// the addresses when a pod ends.
pub(super) fn multus(kubeconfig: &str, pods_network: &str, plugins: &Path, state: &str) -> String {
    json!({
        "cniVersion": "1.0.0",
        "name": "multus",
        "type": "multus",
        "kubeconfig": kubeconfig,
        "clusterNetwork": pods_network,
        "binDir": plugins,
        "cniDir": state,
    })
    .to_string()
}

/// Lets Multus do its work, and tells the API of the additional networks: their kind, and all of them in namespace `default`.
pub(super) async fn define(control_plane: &ControlPlane) {
    let admin = control_plane.admin();
    let mut documents = permit(USER, &rules());
    documents.push(kind());
    manifests::create(&admin, "default", documents).await;
    define_in(&admin, "default").await;
}

/// Multus reads what a pod asks for, and says on the pod what it got.
fn rules() -> Value {
    json!([
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["update"]},
        {"apiGroups": [GROUP], "resources": [DEFINITIONS], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ])
}

/// The additional networks in a namespace of a test, where `core` alone names one of them.
///
/// # Panics
/// When the API refuses them.
pub async fn define_in_namespace(namespace: &Namespace<'_>) {
    define_in(&namespace.admin(), namespace.name()).await;
}

/// The address that Multus says a pod has on an additional network.
///
/// # Panics
/// When it says none.
#[must_use]
pub fn address(pod: &Pod, network: AdditionalNetwork) -> IpAddr {
    attached(pod, network).unwrap_or_else(|| panic!("{} has no address on {network}", pods::name(pod)))
}

/// The same, where it says one.
#[must_use]
pub fn attached(pod: &Pod, network: AdditionalNetwork) -> Option<IpAddr> {
    let status = pod.metadata.annotations.as_ref()?.get(STATUS_ANNOTATION)?;
    let networks: Value = serde_json::from_str(status).ok()?;
    // NAMESPACE/NAME, but for the pod's own network.
    let is_it = |name: &str| name.split_once('/').is_some_and(|(_, name)| name == network.as_str());
    let found = networks.as_array().into_iter().flatten().find(|it| it["name"].as_str().is_some_and(is_it));
    found?["ips"][0].as_str()?.parse().ok()
}

async fn define_in(admin: &Client, namespace: &str) {
    let resource = ApiResource {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{GROUP}/v1"),
        kind: "NetworkAttachmentDefinition".to_owned(),
        plural: DEFINITIONS.to_owned(),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(admin.clone(), namespace, &resource);
    for network in ADDITIONAL_NETWORKS {
        let config = plugin(network).to_string();
        let object = DynamicObject::new(network.as_str(), &resource).data(json!({"spec": {"config": config}}));
        eventually(KNOWN, &format!("NetworkAttachmentDefinition {namespace}/{network} is there"), async || {
            api.create(&PostParams::default(), &object).await.map(drop).map_err(|error| error.to_string())
        })
        .await;
    }
}

/// What attaches a pod.
fn plugin(network: AdditionalNetwork) -> Value {
    let range = network.range();
    let [first, last] = range.pods;
    json!({
        "cniVersion": "1.0.0",
        "name": network.as_str(),
        "type": "bridge",
        "bridge": network.as_str(),
        "ipam": {
            "type": "host-local",
            "dataDir": ADDRESSES,
            "ranges": [[{"subnet": range.subnet, "rangeStart": first, "rangeEnd": last}]],
        },
    })
}

fn kind() -> Value {
    let config = json!({"type": "object", "properties": {"config": {"type": "string"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{DEFINITIONS}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "NetworkAttachmentDefinition",
                "singular": "network-attachment-definition",
                "plural": DEFINITIONS,
                "shortNames": ["net-attach-def"],
            },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": config}}},
            }],
        },
    })
}
