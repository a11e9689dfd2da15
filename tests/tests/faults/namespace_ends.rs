//! The namespace is being deleted.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Run, eventually, namespace::SERVICE_ACCOUNT};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::{ConfigMap, Namespace as NamespaceObject, Pod, ServiceAccount},
        rbac::v1::{Role, RoleBinding},
    },
};
use kube::{
    Api, Resource,
    api::{DeleteParams, Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{
    DEADLINE,
    check::{failed, services},
};

/// Keeps an object while its namespace goes, as if the namespace's controller had not come to it yet.
async fn keep<K>(api: Api<K>, name: &str)
where
    K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let patch = json!({"metadata": {"finalizers": ["tests.example/kept"]}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test]
async fn a_namespace_that_is_being_deleted_ends_the_run_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    keep::<Pod>(namespace.api(), "app-0").await;
    keep::<ConfigMap>(namespace.api(), "ipf-dynamic-nodeport-service-creator").await;
    keep::<ServiceAccount>(namespace.api(), SERVICE_ACCOUNT).await;
    keep::<Role>(namespace.api(), SERVICE_ACCOUNT).await;
    keep::<RoleBinding>(namespace.api(), SERVICE_ACCOUNT).await;
    let namespaces: Api<NamespaceObject> = Api::all(namespace.admin());
    namespaces.delete(namespace.name(), &DeleteParams::default()).await.unwrap();
    eventually(DEADLINE, "the namespace is terminating", async || {
        let phase = namespaces.get(namespace.name()).await.unwrap().status.and_then(|status| status.phase);
        if phase.as_deref() == Some("Terminating") { Ok(()) } else { Err(format!("{phase:?}")) }
    })
    .await;

    let outcome = run.run().await;

    failed(&outcome, 4, &["cannot create Service", "/app-0", namespace.name(), "because it is being terminated"]);
    assert!(outcome.elapsed() < Duration::from_secs(3), "{:?}", outcome.elapsed());
    assert!(services(&pod).await.is_empty());
}
