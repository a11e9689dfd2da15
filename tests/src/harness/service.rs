//! Services without a creator: the test says what one would have made, or the original tool, or somebody else.

use std::{collections::BTreeMap, time::Duration};

use common::labels::{
    ADVERTISED_HOST_ANNOTATION, CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION,
};
use k8s_openapi::api::core::v1::Service as Object;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{Namespace, Pod, control_plane::NODE, eventually};

/// How long a Service may take to be gone, on a busy machine.
const GONE: Duration = Duration::from_secs(30);

/// A Service to be created.
#[must_use]
pub struct NewService<'a> {
    namespace: &'a Namespace<'a>,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owners: Vec<Value>,
    finalizers: Vec<String>,
    spec: Value,
}

/// A Service that was created.
pub struct Service<'a> {
    namespace: &'a Namespace<'a>,
    object: Object,
}

impl<'a> NewService<'a> {
    /// Of our creator for this pod: label, annotations, and the pod as owner.
    pub(super) fn of_creator(pod: &Pod<'a>) -> Self {
        Self::of_original_tool(pod.namespace(), pod.name())
            .annotation(POD_NAME_ANNOTATION, pod.name())
            .annotation(POD_UID_ANNOTATION, pod.uid())
            .annotation(ADVERTISED_HOST_ANNOTATION, NODE)
            .owner("v1", "Pod", pod.name(), pod.uid())
    }

    /// Of the original tool for a pod of this name: label and selector, but no owner, and no UID anywhere.
    pub(super) fn of_original_tool(namespace: &'a Namespace<'a>, pod: &str) -> Self {
        Self::foreign(namespace, pod)
            .label(CREATOR_LABEL, CREATOR)
            .label("app", pod)
            .spec(json!({"selector": {POD_NAME_LABEL: pod}}))
    }

    /// Of someone else, with nothing of ours.
    pub(super) fn foreign(namespace: &'a Namespace<'a>, name: &str) -> Self {
        Self {
            namespace,
            name: name.to_owned(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            owners: Vec::new(),
            finalizers: Vec::new(),
            spec: json!({
                "type": "NodePort",
                "publishNotReadyAddresses": true,
                "selector": {"app": name},
                "ports": [
                    {"name": "akka-management", "port": 8558},
                    {"name": "akka-artery", "port": 55001},
                ],
            }),
        }
    }

    /// Another name.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// One more label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Takes a label away.
    pub fn without_label(mut self, key: &str) -> Self {
        self.labels.remove(key);
        self
    }

    /// One more annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Takes an annotation away.
    pub fn without_annotation(mut self, key: &str) -> Self {
        self.annotations.remove(key);
        self
    }

    /// One more owner. Kubernetes' garbage collector removes the Service when all its owners are gone.
    pub fn owner(mut self, api_version: &str, kind: &str, name: &str, uid: &str) -> Self {
        self.owners.push(json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}));
        self
    }

    /// No owner, as with `owner-reference: none`: the garbage collector leaves it alone.
    pub fn without_owner(mut self) -> Self {
        self.owners.clear();
        self
    }

    /// One more finalizer: deleted, it stays until that is taken away.
    pub fn finalizer(mut self, name: &str) -> Self {
        self.finalizers.push(name.to_owned());
        self
    }

    /// Replaces fields of its spec; null takes one away.
    pub fn spec(mut self, fields: Value) -> Self {
        if let Value::Object(fields) = fields {
            for (key, value) in fields {
                self.spec[key] = value;
            }
        }
        self
    }

    /// Without node ports, of which there are only 2,768 by default.
    pub fn headless(self) -> Self {
        self.spec(json!({"type": "ClusterIP", "clusterIP": "None"}))
    }

    /// Creates it, as admin.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn create(self) -> Service<'a> {
        let object: Object = serde_json::from_value(json!({
            "metadata": {
                "name": self.name,
                "labels": self.labels,
                "annotations": self.annotations,
                "ownerReferences": self.owners,
                "finalizers": self.finalizers,
            },
            "spec": self.spec,
        }))
        .expect("a Service");
        let created = self.namespace.api().create(&PostParams::default(), &object).await;
        let object = created.unwrap_or_else(|error| panic!("cannot create Service {}: {error}", self.name));
        Service { namespace: self.namespace, object }
    }
}

impl Service<'_> {
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

    /// The object as last seen.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The object as it is now; None when it is gone, or another has its name.
    ///
    /// # Panics
    /// When the API does not say.
    pub async fn current(&self) -> Option<Object> {
        let found = self.api().get_opt(self.name()).await;
        let found = found.unwrap_or_else(|error| panic!("cannot read Service {}: {error}", self.name()));
        found.filter(|object| object.metadata.uid == self.object.metadata.uid)
    }

    /// Changes it by hand.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn edit(&mut self, patch: Value) {
        let edited = self.api().patch(self.name(), &PatchParams::default(), &Patch::Merge(patch)).await;
        self.object = edited.unwrap_or_else(|error| panic!("cannot change Service {}: {error}", self.name()));
    }

    /// Deletes it by hand; where a finalizer holds it, it stays.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn delete(&self) {
        let deleted = self.api().delete(self.name(), &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete Service {}: {error}", self.name()));
    }

    /// Waits until it is gone.
    ///
    /// # Panics
    /// When it stays.
    pub async fn gone(&self) {
        eventually(GONE, &format!("Service {} is gone", self.name()), async || match self.current().await {
            None => Ok(()),
            Some(_) => Err("it is still there"),
        })
        .await;
    }

    /// Fails unless it is still there, exactly as it was last seen.
    ///
    /// # Panics
    /// When it is gone or differs.
    pub async fn assert_untouched(&self) {
        assert_eq!(self.current().await.as_ref(), Some(&self.object), "Service {} was touched", self.name());
    }

    fn api(&self) -> Api<Object> {
        self.namespace.api()
    }
}
