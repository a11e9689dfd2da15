//! A control plane that serves NetServices, and what it makes of one.

use cluster_tests::harness::{ControlPlane, Namespace, net_service::resource};
use http::{Request, header::CONTENT_TYPE};
use kube::{Api, api::DynamicObject};
use net_service::resource::{Group, KIND};
use serde_json::{Value, json};

/// The shared one, serving both groups.
pub(crate) async fn served() -> Option<&'static ControlPlane> {
    let control_plane = ControlPlane::shared().await?;
    control_plane.serve_net_services(&Group::ALL).await;
    Some(control_plane)
}

/// A NetService of this name and spec.
pub(crate) fn net_service(group: Group, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": group.api_version(), "kind": KIND, "metadata": {"name": name}, "spec": spec})
}

/// Creates it as a dry run, strictly: what is stored if it is accepted, or what the API server says.
pub(crate) async fn create(namespace: &Namespace<'_>, group: Group, document: Value) -> Result<Value, String> {
    let api: Api<DynamicObject> = Api::namespaced_with(namespace.admin(), namespace.name(), &resource(group));
    let path = format!("{}?dryRun=All&fieldValidation=Strict", api.resource_url());
    let request = Request::post(path).header(CONTENT_TYPE, "application/json").body(document.to_string().into_bytes());
    match namespace.admin().request(request.unwrap()).await {
        Ok(stored) => Ok(stored),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(other) => panic!("no answer: {other}"),
    }
}
