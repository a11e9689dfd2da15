//! What several scenarios do.

use cluster_tests::{
    harness::Namespace,
    nodes::{NodeName, pods},
};
use common::labels::CREATOR;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

/// Creates a pod that runs nothing but the application, on this node, and returns it when it is ready.
pub(crate) async fn plain_pod(namespace: &Namespace<'_>, name: &str, node: NodeName, labels: &[(&str, &str)]) -> Pod {
    let mut all: serde_json::Map<_, _> = labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    all.insert("name".to_owned(), json!(name));
    let pod = json!({
        "metadata": {"name": name, "labels": all},
        "spec": {
            "nodeName": node.as_str(),
            "enableServiceLinks": false,
            "automountServiceAccountToken": false,
            "containers": [{"name": "application", "image": pods::APPLICATION}],
        },
    });
    let pod: Pod = serde_json::from_value(pod).unwrap();
    namespace.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    pods::ready(namespace, &format!("name={name}"), 1).await.remove(0)
}

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
    let services = namespace.api::<k8s_openapi::api::core::v1::Service>();
    services.delete(name, &DeleteParams::default()).await.unwrap();
}
