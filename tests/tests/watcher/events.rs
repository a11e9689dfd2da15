//! Kubernetes Events about what was deleted: where a Role permits them, and quietly none where not.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Run, eventually};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;

use crate::support::{delete, deletion, ends_having_deleted, noticed, orphan, pod_with_service, watching};

#[tokio::test]
async fn where_permitted_each_deletion_is_told() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    namespace.permit("create", "events").await;
    let (gone_before, before) = orphan(&namespace, "app-0").await;
    let (pod, service) = pod_with_service(&namespace, "app-1").await;
    let running = watching(Run::watcher(&namespace).await).await;
    let gone = delete(pod).await;
    for (gone, service) in [(gone_before, &before), (gone, &service)] {
        let event = eventually(Duration::from_secs(30), "the Event is there", async || {
            let about = ListParams::default().fields(&format!("involvedObject.uid={}", service.uid()));
            let found = namespace.api::<Event>().list(&about).await.map_err(|error| error.to_string())?;
            found.items.into_iter().next().ok_or_else(|| "there is none".to_owned())
        })
        .await;
        let about = &event.involved_object;
        assert_eq!((about.kind.as_deref(), about.name.as_deref()), (Some("Service"), Some(service.name())));
        assert_eq!(about.namespace.as_deref(), Some(namespace.name()));
        assert_eq!((event.type_.as_deref(), event.reason.as_deref()), (Some("Normal"), Some("PodGone")));
        let message = event.message.unwrap();
        assert!(message.contains(&gone.name) && message.contains(&gone.uid) && message.contains("gone"), "{message}");
    }
    ends_having_deleted(running, &[&before, &service]).await;
}

#[tokio::test]
async fn where_not_permitted_that_is_found_out_once_and_nothing_is_in_the_way() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut services = Vec::new();
    for name in ["app-0", "app-1", "app-2"] {
        services.push(orphan(&namespace, name).await.1);
    }
    let running = watching(Run::watcher(&namespace).await).await;
    for name in ["app-3", "app-4"] {
        let (pod, service) = pod_with_service(&namespace, name).await;
        delete(pod).await;
        services.push(service);
    }
    for service in &services {
        deletion(&running, service).await;
    }
    noticed(&namespace, &running).await;
    let requests = namespace.requests().await;
    let tries: Vec<_> = requests.iter().filter(|event| event.resource == "events").map(|event| event.code).collect();
    assert_eq!(tries, [403]);
    let deleted: Vec<_> = services.iter().collect();
    ends_having_deleted(running, &deleted).await;
}
