//! NetServices on a real control plane: their definitions, pods on additional networks, and what becomes of them.

use std::{fmt, fmt::Write as _, time::Duration};

use common::labels::WATCHER;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Pod as PodObject, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use net_service::{
    names::{MANAGER, SERVICE_NAME_LABEL, SLICES_MANAGED_BY, SLICES_MANAGED_BY_LABEL},
    network::STATUS_ANNOTATION,
    resource::{Group, KIND},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::harness::{ControlPlane, Namespace, Pod, Run, Running, eventually, net_service::resource};

/// The account that the shipped permissions name.
pub const ACCOUNT: &str = WATCHER;

/// The shipped permissions of one namespace, and what they add to.
pub const ROLE: &str = "permissions/net-service/role.yaml";
const ACCOUNT_FILE: &str = "permissions/least-privilege/watcher.yaml";

/// How long endpoints may take to be right after a pod has changed: what the specification says, with nothing left for a busy
/// machine.
pub const PROMPT: Duration = Duration::from_secs(2);

/// How long anything else may take, on a busy machine. Kubernetes' garbage collector looks for new kinds each 30 seconds: what a
/// NetService owned may stay that long right after the definitions were installed.
pub const PATIENCE: Duration = Duration::from_secs(75);

/// A namespace of the shared control plane with NetServices in it, and the shipped permissions; none where there is no
/// control plane.
pub async fn namespace() -> Option<Namespace<'static>> {
    static SERVED: OnceCell<()> = OnceCell::const_new();
    let control_plane = ControlPlane::shared().await?;
    SERVED.get_or_init(|| control_plane.serve_net_services(&Group::ALL)).await;
    Some(namespace_of(control_plane).await)
}

/// The same of another control plane, where they are installed.
pub async fn namespace_of(control_plane: &ControlPlane) -> Namespace<'_> {
    let namespace = control_plane.namespace().await.with_account(ACCOUNT);
    namespace.grant(ACCOUNT_FILE).await;
    namespace.grant(ROLE).await;
    namespace
}

/// A run of the controller in this namespace.
pub async fn controller(namespace: &Namespace<'_>) -> Run {
    Run::watcher(namespace).await.args(["--controllers", "net-service"])
}

/// Starts the controller, and waits until it leads and has listed everything.
pub async fn start(namespace: &Namespace<'_>) -> Running {
    let running = controller(namespace).await.spawn();
    running.logged("watching NetServices", |_| true).await;
    running
}

/// Who holds the Lease: the candidate's pod, an underscore, and what tells its runs apart; empty where nobody does.
///
/// # Panics
/// When nobody ever did.
pub async fn holder(namespace: &Namespace<'_>) -> String {
    let leases: Api<Lease> = namespace.api();
    let lease = leases.get(MANAGER).await.unwrap_or_else(|error| panic!("no Lease {MANAGER}: {error}"));
    lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
}

/// The NetServices of a group.
#[must_use]
pub fn api(namespace: &Namespace<'_>, group: Group) -> Api<DynamicObject> {
    Api::namespaced_with(namespace.admin(), namespace.name(), &resource(group))
}

/// A NetService in a namespace.
pub struct NetService<'a> {
    namespace: &'a Namespace<'a>,
    group: Group,
    name: String,
}

impl<'a> NetService<'a> {
    /// Creates one of our group.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn create(namespace: &'a Namespace<'a>, name: &str, spec: Value) -> Self {
        Self::of(namespace, Group::Own, name).made(spec).await
    }

    /// One that may be there or not.
    #[must_use]
    pub fn of(namespace: &'a Namespace<'a>, group: Group, name: &str) -> Self {
        Self { namespace, group, name: name.to_owned() }
    }

    /// Creates it.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn made(self, spec: Value) -> Self {
        self.try_make(spec).await.unwrap_or_else(|error| panic!("cannot create NetService {}: {error}", self.name));
        self
    }

    /// Tries to create it.
    ///
    /// # Errors
    /// What the API says against it.
    pub async fn try_make(&self, spec: Value) -> Result<DynamicObject, kube::Error> {
        let object = json!({
            "apiVersion": self.group.api_version(), "kind": KIND, "metadata": {"name": self.name}, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("a NetService");
        self.api().create(&PostParams::default(), &object).await
    }

    /// The resource.
    #[must_use]
    pub fn api(&self) -> Api<DynamicObject> {
        api(self.namespace, self.group)
    }

    /// The object.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn get(&self) -> DynamicObject {
        let found = self.api().get(&self.name).await;
        found.unwrap_or_else(|error| panic!("no NetService {}: {error}", self.name))
    }

    /// Changes its spec by a merge patch.
    ///
    /// # Panics
    /// When the API refuses that.
    pub async fn edit(&self, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        let edited = self.api().patch(&self.name, &PatchParams::default(), &patch).await;
        edited.unwrap_or_else(|error| panic!("cannot edit NetService {}: {error}", self.name));
    }

    /// Deletes it.
    ///
    /// # Panics
    /// When the API refuses that.
    pub async fn delete(&self) {
        let deleted = self.api().delete(&self.name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete NetService {}: {error}", self.name));
    }

    /// Its status.
    pub async fn status(&self) -> Value {
        self.get().await.data["status"].clone()
    }

    /// Waits until its condition `Ready` has this reason, for the spec as it is now; what it says.
    ///
    /// # Panics
    /// When it never has.
    pub async fn told(&self, reason: &str) -> String {
        eventually(PATIENCE, &format!("NetService {} is {reason}", self.name), async || {
            let object = self.get().await;
            let condition = &object.data["status"]["conditions"][0];
            let is_current = condition["observedGeneration"] == json!(object.metadata.generation);
            match condition["reason"].as_str() {
                Some(found) if found == reason && is_current => {
                    Ok(condition["message"].as_str().unwrap_or_default().to_owned())
                }
                _ => Err(object.data["status"].to_string()),
            }
        })
        .await
    }

    /// Its Service, if there is one of the name.
    pub async fn service(&self) -> Option<Service> {
        self.namespace.api().get_opt(&self.name).await.expect("the API answers")
    }

    /// Waits for its Service, as it should be.
    ///
    /// # Panics
    /// When it never is.
    pub async fn service_that(&self, what: &str, is: impl Fn(&Service) -> bool) -> Service {
        eventually(PATIENCE, &format!("Service {} {what}", self.name), async || match self.service().await {
            Some(service) if is(&service) => Ok(service),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    /// Its slices, by name.
    pub async fn slices(&self) -> Vec<EndpointSlice> {
        slices(self.namespace, &self.name).await
    }

    /// Waits until its endpoints are these, one `ADDRESS POD STATE` a line, in any order; how long that took.
    ///
    /// # Panics
    /// When they never are within this time.
    pub async fn endpoints_within(&self, deadline: Duration, expected: &[&str]) -> Duration {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let begun = std::time::Instant::now();
        eventually(deadline, &format!("the endpoints of {} are {expected:#?}", self.name), async || {
            let lines = lines(&self.slices().await);
            if lines == expected { Ok(()) } else { Err(format!("{lines:#?}")) }
        })
        .await;
        begun.elapsed()
    }

    /// Waits until its endpoints are these.
    ///
    /// # Panics
    /// As [`Self::endpoints_within`].
    pub async fn endpoints(&self, expected: &[&str]) {
        self.endpoints_within(PATIENCE, expected).await;
    }

    /// Waits until its endpoints are these, as soon as they should be.
    ///
    /// # Panics
    /// As [`Self::endpoints_within`].
    pub async fn promptly(&self, expected: &[&str]) {
        self.endpoints_within(PROMPT, expected).await;
    }
}

/// The slices of a Service that the controller made, by name.
pub async fn slices(namespace: &Namespace<'_>, service: &str) -> Vec<EndpointSlice> {
    let labels = format!("{SERVICE_NAME_LABEL}={service},{SLICES_MANAGED_BY_LABEL}={SLICES_MANAGED_BY}");
    let api: Api<EndpointSlice> = namespace.api();
    let mut slices = api.list(&ListParams::default().labels(&labels)).await.expect("the API lists slices").items;
    slices.sort_by_key(ResourceExt::name_any);
    slices
}

/// Their endpoints, one `ADDRESS POD STATE` a line, sorted.
#[must_use]
pub fn lines(slices: &[EndpointSlice]) -> Vec<String> {
    let mut lines = Vec::new();
    for endpoint in slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()) {
        let pod = endpoint.target_ref.as_ref().and_then(|pod| pod.name.as_deref()).unwrap_or("-");
        let mut line = format!("{} {pod}", endpoint.addresses.join(","));
        let conditions = endpoint.conditions.as_ref();
        let is = |condition: fn(&k8s_openapi::api::discovery::v1::EndpointConditions) -> Option<bool>| {
            conditions.and_then(condition) == Some(true)
        };
        for (word, is) in [
            ("ready", is(|conditions| conditions.ready)),
            ("serving", is(|conditions| conditions.serving)),
            ("terminating", is(|conditions| conditions.terminating)),
        ] {
            if is {
                let _never_fails = write!(line, " {word}");
            }
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

/// The line of an endpoint that is ready.
#[must_use]
pub fn ready(address: &str, pod: impl fmt::Display) -> String {
    format!("{address} {pod} ready serving")
}

/// A pod to be created on additional networks.
#[must_use]
pub struct NetPod {
    name: String,
    template: Value,
    networks: Vec<Value>,
    addresses: Vec<String>,
}

impl NetPod {
    /// A pod with label `app: utils`, on the pod network.
    pub fn new(name: &str) -> Self {
        let template = json!({
            "metadata": {"labels": {"app": "utils"}, "annotations": {}},
            "spec": {
                "serviceAccountName": "default",
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "utils", "image": "utils", "ports": []}],
            },
        });
        let default = json!({"name": "pods", "interface": "eth0", "ips": ["10.244.0.9"], "default": true, "dns": {}});
        Self { name: name.to_owned(), template, networks: vec![default], addresses: vec!["10.244.0.9".to_owned()] }
    }

    /// And on a network, at the next interface.
    pub fn on(mut self, network: &str, addresses: &[&str]) -> Self {
        let interface = format!("net{}", self.networks.len());
        self.networks.push(json!({"name": network, "interface": interface, "ips": addresses, "dns": {}}));
        self
    }

    /// One more label, or another value.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.template["metadata"]["labels"][key] = json!(value);
        self
    }

    /// This annotation instead.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.template["metadata"]["annotations"][key] = json!(value);
        self.networks.clear();
        self
    }

    /// A field of its spec.
    pub fn spec(mut self, field: &str, value: Value) -> Self {
        self.template["spec"][field] = value;
        self
    }

    /// A named port of its container.
    pub fn port(mut self, name: &str, number: u16, protocol: &str) -> Self {
        let ports = self.template["spec"]["containers"][0]["ports"].as_array_mut().expect("a list");
        ports.push(json!({"name": name, "containerPort": number, "protocol": protocol}));
        self
    }

    /// Addresses on the pod network.
    pub fn pod_ips(mut self, addresses: &[&str]) -> Self {
        self.addresses = addresses.iter().map(|&address| address.to_owned()).collect();
        self
    }

    /// Creates it, not ready yet.
    pub async fn starting<'a>(mut self, namespace: &'a Namespace<'a>) -> Pod<'a> {
        if !self.networks.is_empty() {
            let status = Value::from(self.networks).to_string();
            self.template["metadata"]["annotations"][STATUS_ANNOTATION] = json!(status);
        }
        let mut pod = namespace.pod_of(&self.name, &self.template).await;
        let addresses: Vec<_> = self.addresses.iter().map(|address| json!({"ip": address})).collect();
        pod.report(json!({"phase": "Running", "podIP": self.addresses.first(), "podIPs": addresses})).await;
        pod
    }

    /// Creates it, ready.
    pub async fn create<'a>(self, namespace: &'a Namespace<'a>) -> Pod<'a> {
        let mut pod = self.starting(namespace).await;
        is_ready(&mut pod, "True").await;
        pod
    }
}

/// Sets a pod's condition `Ready`.
pub async fn is_ready(pod: &mut Pod<'_>, status: &str) {
    pod.report(json!({"conditions": [{"type": "Ready", "status": status}]})).await;
}

/// Changes a pod's metadata by a merge patch, as its user would.
///
/// # Panics
/// When the API refuses that.
pub async fn edit_metadata(pod: &Pod<'_>, metadata: Value) {
    let pods: Api<PodObject> = pod.namespace().api();
    let patch = Patch::Merge(json!({"metadata": metadata}));
    let edited = pods.patch(pod.name(), &PatchParams::default(), &patch).await;
    edited.unwrap_or_else(|error| panic!("cannot edit Pod {}: {error}", pod.name()));
}
