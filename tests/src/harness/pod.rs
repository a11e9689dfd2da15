//! Pods without a kubelet: the test says what the kubelet would report.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::{authentication::v1::BoundObjectReference, core::v1::Pod as Object},
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    Namespace, NewService,
    control_plane::{NODE, NODE_IPV4},
    eventually,
    namespace::SERVICE_ACCOUNT,
};

/// How long a deleted object may take to be gone, on a busy machine.
const GONE: Duration = Duration::from_secs(30);

/// A pod's `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Init containers run: the phase in which a creator does its work.
    Pending,
    /// Its containers run.
    Running,
    /// All containers ended well.
    Succeeded,
    /// One did not.
    Failed,
}

/// A pod to be created. It has the documented service account and product label, and lies on [`NODE`].
#[must_use]
pub struct NewPod<'a> {
    namespace: &'a Namespace<'a>,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    node: Option<String>,
    network: Network,
    ports: Vec<(String, u16)>,
    host_ips: Vec<String>,
    pod_ips: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Own,
    Host,
}

/// A pod that was created.
pub struct Pod<'a> {
    namespace: &'a Namespace<'a>,
    object: Object,
}

impl<'a> NewPod<'a> {
    pub(super) fn new(namespace: &'a Namespace<'a>, name: &str) -> Self {
        Self {
            namespace,
            name: name.to_owned(),
            labels: BTreeMap::from([("product".to_owned(), "ipfv2".to_owned())]),
            annotations: BTreeMap::new(),
            node: Some(NODE.to_owned()),
            network: Network::Own,
            ports: Vec::new(),
            host_ips: vec![NODE_IPV4.to_owned()],
            pod_ips: Vec::new(),
        }
    }

    /// One more label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Takes a label away: `product` is there at first.
    pub fn without_label(mut self, key: &str) -> Self {
        self.labels.remove(key);
        self
    }

    /// One more annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Another Node, which must exist.
    pub fn node(mut self, name: &str) -> Self {
        self.node = Some(name.to_owned());
        self
    }

    /// Not yet on any Node.
    pub fn unscheduled(mut self) -> Self {
        self.node = None;
        self
    }

    /// `hostNetwork: true`.
    pub fn host_network(mut self) -> Self {
        self.network = Network::Host;
        self
    }

    /// One more named port of its container.
    pub fn port(mut self, name: &str, port: u16) -> Self {
        self.ports.push((name.to_owned(), port));
        self
    }

    /// The node's addresses that the kubelet reports, the primary one first; none when it has not reported yet.
    pub fn host_ips(mut self, addresses: &[&str]) -> Self {
        self.host_ips = addresses.iter().copied().map(str::to_owned).collect();
        self
    }

    /// The pod's addresses that the kubelet reports; none by default, as when a real init container starts.
    pub fn pod_ips(mut self, addresses: &[&str]) -> Self {
        self.pod_ips = addresses.iter().copied().map(str::to_owned).collect();
        self
    }

    /// Creates it, as admin.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn create(self) -> Pod<'a> {
        let object: Object = serde_json::from_value(self.object()).expect("a Pod");
        let pods: Api<Object> = self.namespace.api();
        let created = pods.create(&PostParams::default(), &object).await;
        let object = created.unwrap_or_else(|error| panic!("cannot create Pod {}: {error}", self.name));
        let mut pod = Pod { namespace: self.namespace, object };
        if !(self.host_ips.is_empty() && self.pod_ips.is_empty()) {
            pod.report(addresses(&self.host_ips, &self.pod_ips)).await;
        }
        pod
    }

    fn object(&self) -> Value {
        let host_network = self.network == Network::Host;
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|(name, port)| match self.network {
                Network::Own => json!({"name": name, "containerPort": port}),
                Network::Host => json!({"name": name, "containerPort": port, "hostPort": port}),
            })
            .collect();
        json!({
            "metadata": {"name": self.name, "labels": self.labels, "annotations": self.annotations},
            "spec": {
                "serviceAccountName": SERVICE_ACCOUNT,
                "nodeName": self.node,
                "hostNetwork": host_network,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 0,
                "initContainers": [{"name": "service-creator", "image": "ipf-dynamic-nodeport-service-creator"}],
                "containers": [{"name": "application", "image": "application", "ports": ports}],
            },
        })
    }
}

fn addresses(host: &[String], pod: &[String]) -> Value {
    let list = |addresses: &[String]| addresses.iter().map(|address| json!({"ip": address})).collect::<Vec<_>>();
    json!({"hostIP": host.first(), "hostIPs": list(host), "podIP": pod.first(), "podIPs": list(pod)})
}

impl<'a> Pod<'a> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its UID.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Where it is.
    #[must_use]
    pub fn namespace(&self) -> &'a Namespace<'a> {
        self.namespace
    }

    /// The object as last seen.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The HOSTNAME that a kubelet gives its containers: the name cut at 63 characters; in the host's network the
    /// machine's own, which need not be the Node's name.
    #[must_use]
    pub fn hostname(&self) -> String {
        if self.object.spec.as_ref().and_then(|spec| spec.host_network) == Some(true) {
            return "machine-of-node-1".to_owned();
        }
        let cut: String = self.name().chars().take(63).collect();
        cut.trim_end_matches(['-', '.']).to_owned()
    }

    /// Merges these fields into its status, as a kubelet would.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn report(&mut self, status: Value) {
        let pods: Api<Object> = self.namespace.api();
        let patch = Patch::Merge(json!({"status": status}));
        let patched = pods.patch_status(self.name(), &PatchParams::default(), &patch).await;
        self.object = patched.unwrap_or_else(|error| panic!("cannot set the status of Pod {}: {error}", self.name()));
    }

    /// Sets its phase.
    pub async fn phase(&mut self, phase: Phase) {
        self.report(json!({"phase": format!("{phase:?}")})).await;
    }

    /// Ends all its containers, so long ago, in this phase: [`Phase::Succeeded`] or [`Phase::Failed`].
    pub async fn finish(&mut self, phase: Phase, ago: Duration) {
        let finished = Timestamp::now() - ago;
        let terminated = |name: &str| {
            json!({
                "name": name, "image": name, "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {
                    "exitCode": i32::from(phase == Phase::Failed),
                    "startedAt": (finished - Duration::from_secs(60)).to_string(),
                    "finishedAt": finished.to_string(),
                }},
            })
        };
        self.report(json!({
            "phase": format!("{phase:?}"),
            "initContainerStatuses": [terminated("service-creator")],
            "containerStatuses": [terminated("application")],
        }))
        .await;
    }

    /// Evicts it before any of its containers ran: a Failed pod whose status names no container.
    pub async fn evict(&mut self) {
        let message = "The node was low on resource: memory.";
        self.report(json!({"phase": "Failed", "reason": "Evicted", "message": message})).await;
    }

    /// A Service to be created as our creator would for it.
    pub fn service(&self) -> NewService<'a> {
        NewService::of_creator(self)
    }

    /// Sets the addresses that its kubelet reports.
    pub async fn addresses(&mut self, host_ips: &[&str], pod_ips: &[&str]) {
        let owned = |list: &[&str]| list.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        self.report(addresses(&owned(host_ips), &owned(pod_ips))).await;
    }

    /// A token of its service account bound to it: what a kubelet mounts. It ends with the pod.
    pub async fn bound_token(&self) -> String {
        let reference = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(self.name().to_owned()),
            uid: Some(self.uid().to_owned()),
        };
        self.namespace.token(Some(reference)).await
    }

    /// Asks it to end, as `kubectl delete` does: it has a deletionTimestamp, and stays until [`Self::delete`], since
    /// there is no kubelet to end it.
    ///
    /// # Panics
    /// When the API refuses.
    pub async fn ask_to_end(&self) {
        let pods: Api<Object> = self.namespace.api();
        let asked = pods.delete(self.name(), &DeleteParams::default().grace_period(600)).await;
        asked.unwrap_or_else(|error| panic!("cannot delete Pod {}: {error}", self.name()));
        let left = pods.get_opt(self.name()).await.unwrap_or_else(|error| panic!("cannot read Pod: {error}"));
        let asked_at = left.and_then(|pod| pod.metadata.deletion_timestamp);
        assert!(asked_at.is_some(), "Pod {} is gone at once: it must lie on a node, and not be finished", self.name());
    }

    /// Deletes it at once and waits until it is gone.
    ///
    /// # Panics
    /// When the API refuses, or it stays.
    pub async fn delete(self) {
        let pods: Api<Object> = self.namespace.api();
        match pods.delete(self.name(), &DeleteParams::default().grace_period(0)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("cannot delete Pod {}: {error}", self.name()),
        }
        eventually(GONE, &format!("Pod {} is gone", self.name()), async || match pods.get_opt(self.name()).await {
            Ok(Some(pod)) if pod.metadata.uid.as_deref() == Some(self.uid()) => Err("it is still there".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        })
        .await;
    }
}
