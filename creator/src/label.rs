//! Puts the selector's labels on the pod; it writes nothing else, and only to the pod of the given UID.

use std::collections::BTreeMap;

use common::{
    api::{
        call::{Call, MetadataOnly},
        classify::Meaning,
        client::{Api, CallError, PersistError},
        resource::Resource,
        retry::{Deadline, Patience, TimeIsUp},
    },
    labels::CREATOR,
};

use crate::{
    effect::Effect,
    pod::{PodGone, PodIdentity},
};

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
    #[error(transparent)]
    Gone(#[from] PodGone),
    /// The API refused, or did not answer in time.
    #[error(transparent)]
    Call(PersistError),
}

/// Sets `labels` on the pod by server-side apply: without force, so that another manager's other value is a conflict,
/// and with the UID, so that a later pod of the same name is never written to.
///
/// # Errors
/// As [`LabelError`] says.
pub async fn label(
    api: &Api,
    pod: &PodIdentity,
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
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "labels": labels},
    });
    let call = effect.on(Call::apply(Resource::Pods, &pod.namespace, &pod.name, object, CREATOR));
    let gone = || PodGone(pod.clone()).into();
    let mut patience = Patience::until(deadline);
    loop {
        let error = match api.persist::<MetadataOnly>(&call, deadline).await {
            Ok(labelled) if labelled.metadata.uid.as_deref() != Some(&pod.uid) => return Err(gone()),
            Ok(_) => {
                tracing::debug!(namespace = pod.namespace, pod = pod.name, ?labels, "pod is labelled");
                return Ok(());
            }
            Err(PersistError::Final(error)) => error,
            Err(error) => return Err(LabelError::Call(error)),
        };
        match explain(&error) {
            Meant::Gone => return Err(gone()),
            Meant::Conflict(conflict) => {
                let PodIdentity { namespace, name, .. } = pod.clone();
                return Err(LabelError::Conflict { namespace, pod: name, conflict });
            }
            Meant::Refusal => return Err(LabelError::Call(PersistError::Final(error))),
            Meant::Passing => {
                if let Err(TimeIsUp) = patience.pause(None).await {
                    return Err(LabelError::Call(PersistError::TimeIsUp(error)));
                }
            }
        }
    }
}

/// What a refusal of the apply means. An apply to a pod that is gone would create it: the API then says, depending on the
/// permissions, that the UID does not match or that `create` is forbidden.
fn explain(error: &CallError) -> Meant {
    let CallError::Refused { refusal, .. } = error else { return Meant::Refusal };
    let other_uid = refusal.causes.iter().any(|cause| cause.field == "metadata.uid");
    match refusal.meaning() {
        Meaning::NotFound => Meant::Gone,
        Meaning::Invalid if other_uid => Meant::Gone,
        Meaning::Conflict if refusal.message.contains("uid mismatch:") => Meant::Gone,
        Meaning::Rbac if refusal.message.contains("cannot create resource \"pods\"") => Meant::Gone,
        Meaning::Conflict if refusal.causes.iter().any(|cause| cause.reason == "FieldManagerConflict") => {
            Meant::Conflict(refusal.message.clone())
        }
        // The pod was written to at the same moment, most often by the kubelet.
        Meaning::Conflict => Meant::Passing,
        _ => Meant::Refusal,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Meant {
    Gone,
    Conflict(String),
    Passing,
    Refusal,
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::api::classify::Refusal;
    use serde_json::json;

    fn refused(code: u16, reason: &str, message: &str, cause: Option<(&str, &str)>) -> CallError {
        let causes: Vec<_> =
            cause.into_iter().map(|(reason, field)| json!({"reason": reason, "field": field, "message": ""})).collect();
        let body = json!({"reason": reason, "message": message, "details": {"causes": causes}}).to_string();
        let call = Call::apply(Resource::Pods, "ns", "app-0", json!({}), CREATOR);
        CallError::Refused { call: Box::new(call), refusal: Refusal::read(code, None, body.as_bytes()) }
    }

    #[test]
    fn refusals_are_told_apart_by_their_causes() {
        let conflict = "Apply failed with 1 conflict: conflict with \"fluid\" using v1: .metadata.labels.uid";
        let table = [
            (
                refused(409, "Conflict", conflict, Some(("FieldManagerConflict", ".metadata.labels.uid"))),
                Meant::Conflict(conflict.into()),
            ),
            (
                refused(
                    409,
                    "Conflict",
                    "Operation cannot be fulfilled on pods \"guid-0\": the object has been modified",
                    None,
                ),
                Meant::Passing,
            ),
            (
                refused(
                    409,
                    "Conflict",
                    "Operation cannot be fulfilled on pods \"app-0\": uid mismatch: the provided object specified uid a, and no existing object was found",
                    None,
                ),
                Meant::Gone,
            ),
            (
                refused(
                    422,
                    "Invalid",
                    "Pod \"app-0\" is invalid: metadata.uid: field is immutable",
                    Some(("FieldValueInvalid", "metadata.uid")),
                ),
                Meant::Gone,
            ),
            (
                refused(
                    422,
                    "Invalid",
                    "Pod \"app-0\" is invalid: metadata.labels",
                    Some(("FieldValueInvalid", "metadata.labels")),
                ),
                Meant::Refusal,
            ),
            (refused(404, "NotFound", "pods \"app-0\" not found", None), Meant::Gone),
            (
                refused(
                    403,
                    "Forbidden",
                    "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\"",
                    None,
                ),
                Meant::Gone,
            ),
            (
                refused(
                    403,
                    "Forbidden",
                    "pods \"app-0\" is forbidden: User \"u\" cannot patch resource \"pods\" in API group \"\"",
                    None,
                ),
                Meant::Refusal,
            ),
        ];
        for (error, meant) in table {
            assert_eq!(explain(&error), meant, "{error}");
        }
    }
}
