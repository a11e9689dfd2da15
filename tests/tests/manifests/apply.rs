//! Applying documents to the API server, strictly: a field that Kubernetes does not know is refused.

use cluster_tests::harness::{ControlPlane, Namespace, manifests};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams, TypeMeta},
    core::GroupVersionKind,
};
use serde_json::Value;

/// A namespace in which only restricted pods run, with the accounts of least privilege.
pub(crate) async fn restricted(control_plane: &ControlPlane) -> Namespace<'_> {
    let namespace = control_plane.namespace().await;
    for program in ["creator", "watcher"] {
        namespace.apply(&format!("permissions/least-privilege/{program}.yaml")).await;
    }
    namespace.restrict().await;
    namespace
}

/// Applies a document server-side as a dry run.
pub(crate) async fn dry_run(namespace: &Namespace<'_>, document: &Value) -> Result<(), kube::Error> {
    apply(namespace, document, PatchParams::apply("cluster-tests").force().dry_run().validation_strict()).await
}

async fn apply(namespace: &Namespace<'_>, document: &Value, parameters: PatchParams) -> Result<(), kube::Error> {
    let kind: TypeMeta = serde_json::from_value(document.clone()).unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(kind).unwrap());
    let api: Api<DynamicObject> = if manifests::is_cluster_wide(document) {
        Api::all_with(namespace.admin(), &resource)
    } else {
        let named = document["metadata"]["namespace"].as_str();
        Api::namespaced_with(namespace.admin(), named.unwrap_or(namespace.name()), &resource)
    };
    api.patch(document["metadata"]["name"].as_str().unwrap(), &parameters, &Patch::Apply(document)).await.map(drop)
}
