//! What the watcher reads of an object's metadata, and what that says about pods and Services; managed fields, most of it,
//! are passed over.

use std::collections::BTreeMap;

use common::key::Key;
use common::labels::POD_NAME_LABEL;
use common::ownership::{Claim, Doubt, claim};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Deserialize;

use crate::uid::Uid;

/// An object of which only the metadata was asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Object {
    /// `metadata`
    pub metadata: Metadata,
}

/// The metadata of one object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub owner_references: Vec<OwnerReference>,
}

/// A pod, as far as the watcher remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSeen {
    /// Its namespace and name.
    pub key: Key,
    /// Its UID.
    pub uid: Uid,
    /// Whether it ever ran the creator: its label says so.
    pub wants_service: bool,
}

/// A Service, as far as the watcher remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSeen {
    /// Its namespace and name.
    pub key: Key,
    /// Its UID.
    pub uid: Uid,
    /// Its resource version.
    pub resource_version: String,
    /// For whom it says that it was made.
    pub lead: Lead,
}

/// What a Service's metadata say about its pod. It leads to a suspicion and never to a deletion: that takes the whole
/// Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// Made for this pod.
    Pod {
        /// The pod's name.
        name: String,
        /// The pod's UID.
        uid: Uid,
    },
    /// If it is the original tool's, which only its spec can tell, then for the pod of its own name.
    ByName,
    /// For nobody: left alone.
    Nobody(Option<Doubt>),
}

impl From<Metadata> for PodSeen {
    fn from(metadata: Metadata) -> Self {
        let wants_service = metadata.labels.contains_key(POD_NAME_LABEL);
        Self { key: metadata.key(), uid: Uid::of(&metadata.uid), wants_service }
    }
}

impl From<Metadata> for ServiceSeen {
    fn from(mut metadata: Metadata) -> Self {
        let key = metadata.key();
        let uid = Uid::of(&metadata.uid);
        let resource_version = std::mem::take(&mut metadata.resource_version);
        Self { key, uid, resource_version, lead: lead(metadata) }
    }
}

impl Metadata {
    fn key(&self) -> Key {
        Key { namespace: self.namespace.as_str().into(), name: self.name.as_str().into() }
    }
}

fn lead(metadata: Metadata) -> Lead {
    let service = Service {
        metadata: ObjectMeta {
            name: Some(metadata.name),
            labels: Some(metadata.labels),
            annotations: Some(metadata.annotations),
            owner_references: Some(metadata.owner_references),
            ..ObjectMeta::default()
        },
        ..Service::default()
    };
    match claim(&service) {
        Claim::Pod(pod) => Lead::Pod { uid: Uid::of(&pod.uid), name: pod.name },
        // The original tool's Services show themselves by their spec.
        Claim::OriginalTool { .. } | Claim::Unclear(Doubt::OnlyLabelled) => Lead::ByName,
        Claim::Unclear(doubt) => Lead::Nobody(Some(doubt)),
        Claim::Foreign => Lead::Nobody(None),
    }
}

#[cfg(test)]
mod tests {
    use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_UID_ANNOTATION};
    use serde_json::json;

    use super::*;

    fn service(metadata: &serde_json::Value) -> ServiceSeen {
        let object: Object = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        object.metadata.into()
    }

    #[test]
    fn metadata_leads_to_a_pod_or_to_nobody() {
        let labels = json!({CREATOR_LABEL: CREATOR});
        let notes = json!({POD_NAME_ANNOTATION: "app-0", POD_UID_ANNOTATION: "u1"});
        let owner = |uid: &str| json!([{"apiVersion": "v1", "kind": "Pod", "name": "app-0", "uid": uid}]);
        let pod = Lead::Pod { name: "app-0".into(), uid: Uid::of("u1") };
        for (case, metadata, expected) in [
            ("ours", json!({"labels": labels, "annotations": notes}), pod.clone()),
            ("ours by its owner", json!({"labels": labels, "ownerReferences": owner("u1")}), pod),
            ("perhaps the original tool's", json!({"labels": labels}), Lead::ByName),
            ("only annotated", json!({"annotations": notes}), Lead::Nobody(Some(Doubt::OnlyAnnotated))),
            ("anyone's", json!({}), Lead::Nobody(None)),
        ] {
            assert_eq!(service(&metadata).lead, expected, "{case}");
        }
        assert!(matches!(
            service(&json!({"labels": labels, "annotations": notes, "ownerReferences": owner("u2")})).lead,
            Lead::Nobody(Some(Doubt::AnnotationsContradictOwner { .. }))
        ));
    }

    #[test]
    fn a_pod_wants_a_service_once_the_creator_labelled_it() {
        let pod = |labels| -> PodSeen {
            let object = json!({"metadata": {"namespace": "ns", "name": "app-0", "uid": "u1", "labels": labels,
                "managedFields": [{"manager": "kubelet"}]}});
            serde_json::from_value::<Object>(object).unwrap().metadata.into()
        };
        assert!(!pod(json!({"product": "ipfv2"})).wants_service);
        assert!(pod(json!({POD_NAME_LABEL: "app-0"})).wants_service);
        assert_eq!(pod(json!({})).key.to_string(), "ns/app-0");
    }
}
