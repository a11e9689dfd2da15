//! Puts the selector's labels on the pod; it writes nothing else, and only to the pod of the given UID.

use std::collections::BTreeMap;

use common::{
    api::{
        call::{Call, Resource},
        classify::Meaning,
        client::{Api, CallError, PersistError},
        retry::Deadline,
    },
    labels::CREATOR,
    ownership::PodRef,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::effect::Effect;

/// The pod cannot be labelled.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The label has another value, set by someone else.
    #[error(
        "cannot label pod {namespace}/{pod}: {conflict}; the Service selects by this label: remove it from the pod's template, or select by another one"
    )]
    Conflict {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
        /// The API's text, which names the field and the manager.
        conflict: String,
    },
    /// The pod of this name is another one now, or there is none.
    #[error("{pod} is no longer in namespace {namespace}: it was deleted, or another pod has its name now")]
    Gone {
        /// The pod.
        pod: PodRef,
        /// Its namespace.
        namespace: String,
    },
    /// The API refused, or did not answer in time.
    #[error(transparent)]
    Call(PersistError),
}

#[derive(Deserialize)]
struct Labelled {
    metadata: ObjectMeta,
}

/// Sets `labels` on the pod by server-side apply: without force, so that another manager's other value is a conflict,
/// and with the UID, so that a later pod of the same name is never written to.
///
/// # Errors
/// As [`LabelError`] says.
pub async fn label(
    api: &Api,
    namespace: &str,
    pod: &PodRef,
    labels: &BTreeMap<String, String>,
    effect: Effect,
    deadline: Deadline,
) -> Result<(), LabelError> {
    if labels.is_empty() {
        return Ok(());
    }
    let object = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "namespace": namespace, "uid": pod.uid, "labels": labels},
    });
    let call = effect.on(Call::apply(Resource::Pods, namespace, &pod.name, object, CREATOR));
    let gone = || LabelError::Gone { pod: pod.clone(), namespace: namespace.to_owned() };
    match api.persist::<Labelled>(&call, deadline).await {
        Ok(labelled) if labelled.metadata.uid.as_deref() != Some(&pod.uid) => Err(gone()),
        Ok(_) => {
            tracing::debug!(namespace, pod = pod.name, ?labels, "pod is labelled");
            Ok(())
        }
        Err(PersistError::Final(error)) => Err(explain(error, namespace, pod).unwrap_or_else(LabelError::Call)),
        Err(error) => Err(LabelError::Call(error)),
    }
}

/// What a refusal of the apply means. An apply to a pod that is gone would create it: the API then says, depending on
/// the permissions, that the UID does not match or that `create` is forbidden.
fn explain(error: CallError, namespace: &str, pod: &PodRef) -> Result<LabelError, PersistError> {
    let gone = || LabelError::Gone { pod: pod.clone(), namespace: namespace.to_owned() };
    let CallError::Refused { refusal, .. } = &error else {
        return Err(PersistError::Final(error));
    };
    let about_uid = refusal.causes.iter().any(|cause| cause.field == "metadata.uid") || refusal.message.contains("uid");
    match refusal.meaning() {
        Meaning::NotFound => Ok(gone()),
        Meaning::Invalid | Meaning::Conflict if about_uid => Ok(gone()),
        Meaning::Rbac if refusal.message.contains("cannot create resource \"pods\"") => Ok(gone()),
        Meaning::Conflict => Ok(LabelError::Conflict {
            namespace: namespace.to_owned(),
            pod: pod.name.clone(),
            conflict: refusal.message.clone(),
        }),
        _ => Err(PersistError::Final(error)),
    }
}
