//! Pods without a kubelet: the test says what the kubelet would report.

use std::time::Duration;

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
    new_pod::addresses,
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

/// A pod that was created.
pub struct Pod<'a> {
    pub(super) namespace: &'a Namespace<'a>,
    pub(super) object: Object,
}

impl<'a> Pod<'a> {
    pub(super) async fn of_template(namespace: &'a Namespace<'a>, name: &str, template: &Value) -> Self {
        let mut object = template.clone();
        object["metadata"]["name"] = name.into();
        if object["spec"]["nodeName"].is_null() {
            object["spec"]["nodeName"] = NODE.into();
        }
        let object: Object = serde_json::from_value(object).expect("a pod template");
        let created = namespace.api().create(&PostParams::default(), &object).await;
        let object = created.unwrap_or_else(|error| panic!("cannot create Pod {name}: {error}"));
        let mut pod = Self { namespace, object };
        pod.addresses(&[NODE_IPV4], &[]).await;
        pod
    }

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
