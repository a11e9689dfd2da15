//! Shows what a run would do, by asking the API with `dryRun=All`; it changes nothing.

use common::{
    api::{
        call::Call,
        classify::Meaning,
        client::{Api, PersistError},
        resource::Resource,
        retry::Deadline,
    },
    labels::CREATOR,
};
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use crate::{
    effect::Effect,
    ensure::Task,
    ensure_error::EnsureError,
    judge::{Verdict, judge},
    service::Port,
};

/// What a run would find and do.
#[derive(Debug)]
pub struct Preview {
    /// One line about an existing Service of the name, if there is one.
    pub existing: Option<String>,
    /// The Service as it would be created; `None` where the existing one would be kept.
    pub service: Option<Value>,
}

impl Preview {
    /// As YAML; the remark is a comment.
    #[must_use]
    pub fn text(&self) -> String {
        let remark = self.existing.iter().map(|existing| format!("# {existing}\n"));
        // JSON is YAML too, should the Service not be printable otherwise.
        let print = |service: &Value| serde_saphyr::to_string(service).unwrap_or_else(|_| format!("{service:#}\n"));
        remark.chain(self.service.iter().map(print)).collect()
    }
}

/// Asks the API what it would create, and reads what has the name already.
///
/// # Errors
/// As a real run: the API refuses the Service, or its name is someone else's.
pub async fn preview(api: &Api, task: Task<'_>, deadline: Deadline) -> Result<Preview, EnsureError> {
    let Task { namespace, name, body, wanted } = task;
    let create = Effect::DryRun.on(Call::create(Resource::Services, namespace, name, body.clone(), CREATOR));
    let refused = match api.persist::<Value>(&create, deadline).await {
        Ok(service) => return Ok(Preview { existing: None, service: Some(as_created(service, wanted.ports)) }),
        Err(PersistError::Final(error)) => error,
        Err(error) => return Err(EnsureError::Call(error)),
    };
    let meaning = refused.meaning();
    if meaning != Some(Meaning::AlreadyExists) && !meaning.is_some_and(Meaning::is_no_port) {
        return Err(EnsureError::Refused(refused));
    }
    let get = Call::get(Resource::Services, namespace, name);
    let Some(existing) = api.read::<Service>(&get, deadline).await.map_err(EnsureError::Call)? else {
        return Err(EnsureError::Refused(refused));
    };
    match judge(&existing, wanted) {
        Verdict::Adopt(_) => Ok(Preview {
            existing: Some(format!("Service {} is this pod's already, and would be kept", task.label())),
            service: None,
        }),
        Verdict::Replace(why) => Ok(Preview {
            existing: Some(format!("Service {} would be deleted first: {why}", task.label())),
            service: Some(body.clone()),
        }),
        Verdict::Wait => Ok(Preview {
            existing: Some(format!("Service {} is being deleted, and would be waited for", task.label())),
            service: Some(body.clone()),
        }),
        Verdict::Refuse(whose) => Err(EnsureError::Taken { service: task.label(), whose }),
    }
}

/// The answer without what is not decided yet: the API invents node ports and cluster addresses in a dry run.
fn as_created(mut service: Value, wanted: &[Port]) -> Value {
    if let Some(metadata) = service.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["managedFields", "uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(key);
        }
    }
    if let Some(object) = service.as_object_mut() {
        object.remove("status");
    }
    if let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) {
        for key in ["clusterIP", "clusterIPs"] {
            spec.remove(key);
        }
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let fixed = port["nodePort"].as_u64();
            if !wanted.iter().any(|wanted| wanted.node_port.is_some() && wanted.node_port.map(u64::from) == fixed)
                && let Some(port) = port.as_object_mut()
            {
                port.remove("nodePort");
            }
        }
    }
    service
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Protocol, TargetPort};

    #[test]
    fn invented_values_are_not_shown() {
        let port = |node_port| Port {
            name: None,
            port: 80,
            protocol: Protocol::TCP,
            target_port: TargetPort::Number(80),
            node_port,
        };
        let answer = serde_json::json!({
            "metadata": {"name": "app-0", "uid": "u", "resourceVersion": "1", "managedFields": [], "labels": {"a": "b"}},
            "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 32769}, {"port": 81, "nodePort": 30100}]},
            "status": {},
        });
        assert_eq!(
            as_created(answer, &[port(None), port(Some(30100))]),
            serde_json::json!({"metadata": {"name": "app-0", "labels": {"a": "b"}}, "spec": {"ports": [{"port": 80}, {"port": 81, "nodePort": 30100}]}})
        );
    }
}
