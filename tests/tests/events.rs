//! The watcher's Events, as a real API server takes or refuses them.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace};
use k8s_openapi::api::{
    core::v1::Event,
    rbac::v1::{Role, RoleBinding},
};
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};
use watcher::{
    events::{Deleted, Events},
    orphan::Reason,
};

/// How long writing a few Events may take, on a busy machine.
const TIME: Duration = Duration::from_secs(30);

fn deleted(namespace: &Namespace<'_>, service: &str) -> Deleted {
    Deleted {
        namespace: namespace.name().to_owned(),
        service: service.to_owned(),
        uid: "8f6c5d2e-0000-4000-8000-000000000001".to_owned(),
        pod: "app-0".to_owned(),
        pod_uid: Some("8f6c5d2e-0000-4000-8000-000000000002".to_owned()),
        reason: Reason::PodGone,
    }
}

async fn tell(namespace: &Namespace<'_>, services: &[&str]) {
    let events = Events::start(common::api::client::Api::new(namespace.client().await));
    for service in services {
        events.deleted(&deleted(namespace, service));
    }
    events.finish(TIME).await;
}

/// The one rule more, as permissions/README.md has it.
async fn allow(namespace: &Namespace<'_>) {
    let name = "ipf-dynamic-nodeport-service-events";
    let role: Value = json!({
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}],
    });
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "ipf-dynamic-nodeport-service", "namespace": namespace.name()}],
    });
    let role: Role = serde_json::from_value(role).unwrap();
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    namespace.api().create(&PostParams::default(), &role).await.unwrap();
    namespace.api().create(&PostParams::default(), &binding).await.unwrap();
    namespace.wait_until_allowed("create", "events").await;
}

#[tokio::test]
async fn where_they_are_permitted_they_are_found_as_documented() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    allow(&namespace).await;
    let long = "a".repeat(63);
    tell(&namespace, &["app-0", "app-0", &long]).await;

    let documented = "involvedObject.kind=Service,source=ipf-dynamic-nodeport-service-watcher";
    let found = namespace.api::<Event>().list(&ListParams::default().fields(documented)).await.unwrap().items;
    let mut names: Vec<_> = found.iter().map(|event| event.involved_object.name.as_deref().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [&long, "app-0", "app-0"]);
    let event = found.iter().find(|event| event.involved_object.name.as_deref() == Some("app-0")).unwrap();
    assert_eq!(event.involved_object.uid.as_deref(), Some("8f6c5d2e-0000-4000-8000-000000000001"));
    assert_eq!(event.related.as_ref().unwrap().uid.as_deref(), Some("8f6c5d2e-0000-4000-8000-000000000002"));
    assert_eq!((event.reason.as_deref(), event.type_.as_deref()), (Some("PodGone"), Some("Normal")));
    assert!(event.message.as_deref().unwrap().starts_with("Deleted Service app-0: pod app-0 (UID 8f6c5d2e-"));
    assert!(event.first_timestamp.is_some() && event.count == Some(1));
}

#[tokio::test]
async fn where_they_are_not_permitted_one_is_tried() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    tell(&namespace, &["a", "b", "c"]).await;
    let user = namespace.user();
    let requests = control_plane.audit(|event| event.user == user).await;
    assert_eq!(requests.len(), 1, "{requests:?}");
}
