//! The watcher under exactly the rules of its files.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace, Options, Phase, Run, Service, eventually};
use k8s_openapi::api::core::v1::{Event, Service as Object};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

use crate::{
    policies::hardened,
    support::{PATIENCE, WATCHER, namespace_of, permitted, used},
};

/// What a watcher must remove, in all its ways to notice it: what was gone before it started, goes while it runs, or has
/// finished; and nothing else.
async fn cleans_up(namespace: &Namespace<'_>, run: Run) {
    let gone = namespace.pod("gone").create().await;
    let of_gone = gone.service().without_owner().create().await;
    gone.delete().await;
    let going = namespace.pod("going").create().await;
    let of_going = going.service().without_owner().create().await;
    let mut finished = namespace.pod("finished").create().await;
    let of_finished = finished.service().create().await;
    finished.finish(Phase::Failed, Duration::from_secs(600)).await;
    let living = namespace.pod("living").create().await;
    let of_living = living.service().create().await;
    let foreign = namespace.foreign_service("foreign").create().await;

    let running = run.args(["--scan-interval", "1s"]).spawn();
    of_gone.gone().await;
    going.delete().await;
    of_going.gone().await;
    of_finished.gone().await;
    running.logged_times(running.log_of("scanned").len() + 2, "scanned").await;
    of_living.assert_untouched().await;
    foreign.assert_untouched().await;
    let outcome = running.terminate().await.expect_code(0);
    let warnings: Vec<_> = outcome.log().into_iter().filter(|line| line["level"] != "INFO").collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[tokio::test]
async fn it_cleans_up_under_watcher_yaml_uses_each_of_its_rules_and_needs_no_other() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, WATCHER, &["watcher"]).await;
    cleans_up(&namespace, Run::watcher(&namespace).await).await;
    assert_eq!(used(&namespace).await, permitted(&["watcher"]));
    let refused: Vec<_> = namespace.requests().await.into_iter().filter(|event| event.code == 403).collect();
    assert!(refused.iter().all(|event| event.resource == "events"), "{refused:#?}");
    assert_eq!(refused.len(), 1, "Events are optional, and asked for once");
}

#[tokio::test]
async fn it_cleans_up_everywhere_under_watcher_all_namespaces_yaml() {
    // To itself: it looks after every namespace.
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let files = ["watcher-all-namespaces", "watcher-all-namespaces-events"];
    let here = namespace_of(&control_plane, WATCHER, &files).await;
    let there = control_plane.namespace().await;
    cleans_up(&there, Run::watcher(&here).await.args(["--all-namespaces"])).await;
    assert_eq!(used(&here).await, permitted(&files));
    let events = there.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    assert!(events.iter().any(|event| event.reason.as_deref() == Some("PodGone")), "{events:?}");
    control_plane.close().await;
}

#[tokio::test]
async fn events_need_watcher_events_yaml() {
    let Some(control_plane) = hardened().await else { return };
    let files = ["watcher", "watcher-events"];
    let namespace = namespace_of(control_plane, WATCHER, &files).await;
    let gone = namespace.pod("gone").create().await;
    let service: Service<'_> = gone.service().without_owner().create().await;
    gone.delete().await;
    let running = Run::watcher(&namespace).await.spawn();
    eventually(PATIENCE, "there is an Event about the Service", async || {
        let about = ListParams::default().fields(&format!("involvedObject.uid={}", service.uid()));
        let events = namespace.api::<Event>().list(&about).await.unwrap().items;
        if events.is_empty() { Err("there is none") } else { Ok(()) }
    })
    .await;
    running.terminate().await.expect_code(0);
    assert!(used(&namespace).await.contains("create events"));
}

#[tokio::test]
async fn under_the_policies_it_deletes_services_of_which_a_net_service_is_the_controller() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, WATCHER, &["watcher"]).await;
    let as_watcher: Api<Object> = Api::namespaced(namespace.client().await, namespace.name());
    for (name, api_version, kind, controller, permitted) in [
        ("own", "netservice.io/v1alpha1", "NetService", true, true),
        ("original", "svcctl.metaswitch.com/v1alpha1", "NetService", true, true),
        ("no-controller", "netservice.io/v1alpha1", "NetService", false, false),
        ("other-group", "netservice-io.example.com/v1", "NetService", true, false),
        ("other-kind", "netservice.io/v1alpha1", "Network", true, false),
    ] {
        let owner =
            json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": controller});
        let service =
            json!({"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"ports": [{"port": 80}]}});
        let service: Object = serde_json::from_value(service).unwrap();
        namespace.api().create(&PostParams::default(), &service).await.unwrap();
        let deleted = as_watcher.delete(name, &DeleteParams::default().dry_run()).await;
        assert_eq!(deleted.is_ok(), permitted, "{name}: {deleted:?}");
    }
}
