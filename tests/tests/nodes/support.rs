//! What several scenarios do.

use cluster_tests::harness::Namespace;
use common::labels::CREATOR;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, PostParams};

/// Changes the documented Service template.
pub(crate) async fn change_template(namespace: &Namespace<'_>, from: &str, to: &str) {
    let maps = namespace.api::<ConfigMap>();
    let mut map = maps.get(CREATOR).await.unwrap();
    let template = map.data.as_mut().unwrap().get_mut("default.yaml").unwrap();
    assert!(template.contains(from), "the template has no {from}");
    *template = template.replace(from, to);
    maps.replace(CREATOR, &PostParams::default(), &map).await.unwrap();
}

/// Deletes a Service.
pub(crate) async fn delete_service(namespace: &Namespace<'_>, name: &str) {
    let services = namespace.api::<Service>();
    services.delete(name, &DeleteParams::default()).await.unwrap();
}
