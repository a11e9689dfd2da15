//! Whatever is written comes to nothing: the controller does not try again without end.

use std::time::Duration;

use cluster_tests::{
    net_service::NetService,
    proxy::{Action, Answer, Proxy},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    RECOVERED,
    scene::{Scene, namespace, watching},
    wire::{Ask, through},
};

/// How long it is looked on.
const WHILE: Duration = Duration::from_secs(8);

/// As many tries as are no hot loop, of three NetServices.
const TRIES: usize = 30;

async fn tries(proxy: &Proxy, ask: Ask) -> usize {
    let before = ask.count(proxy);
    tokio::time::sleep(WHILE).await;
    let tries = ask.count(proxy) - before;
    println!("{ask:?}: {tries} in {WHILE:?}");
    tries
}

fn object(object: &impl serde::Serialize) -> Answer {
    Answer::new(StatusCode::OK, serde_json::to_vec(object).unwrap())
        .with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

/// As with a definition that knows less of the status, or none of it.
#[tokio::test]
async fn a_status_that_is_not_kept_is_not_told_without_end() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(&namespace, 1).await;
    let pruned = scene.net_services[0].get().await;
    proxy.set_rule(move |seen| match Ask::TellStatus.is(seen) && seen.path_and_query.contains("/headless/") {
        true => Action::Answer(object(&pruned)),
        false => Action::Pass,
    });
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;
    let tries = tries(&proxy, Ask::TellStatus).await;
    assert!(tries <= TRIES, "{tries} in {WHILE:?}");
    proxy.set_rule(|_| Action::Pass);
    scene.shift().await;
    scene.right(RECOVERED).await;
    watcher.terminate().await.expect_code(0);
}

/// As with a webhook that reverts what was changed.
#[tokio::test]
async fn a_change_of_a_service_that_is_reverted_is_not_made_without_end() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let scene = Scene::set(&namespace, 1).await;
    let watcher = through(&proxy, &namespace).await.spawn();
    scene.right(RECOVERED).await;
    let before = scene.net_services[1].service().await.unwrap();
    proxy.set_rule(move |seen| match Ask::PatchService.is(seen) {
        true => Action::Answer(object(&before)),
        false => Action::Pass,
    });
    scene.net_services[1].edit(json!({"publishNotReadyAddresses": true})).await;
    let tries = tries(&proxy, Ask::PatchService).await;
    assert!(tries <= TRIES, "{tries} in {WHILE:?}");
    proxy.set_rule(|_| Action::Pass);
    let is_changed = |service: &k8s_openapi::api::core::v1::Service| {
        service.spec.as_ref().and_then(|spec| spec.publish_not_ready_addresses) == Some(true)
    };
    scene.net_services[1].service_that("is changed at last", is_changed).await;
    watcher.terminate().await.expect_code(0);
}

/// Somebody's slice, which is none of ours, has the name that one of ours would have.
#[tokio::test]
async fn a_name_that_somebodys_slice_has_is_passed_over() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let scene = Scene::set(&namespace, 1).await;
    let watcher = through(&proxy, &namespace).await.spawn();
    scene.right(RECOVERED).await;
    watcher.terminate().await.expect_code(0);

    let slices: Api<EndpointSlice> = namespace.api();
    let net_service: &NetService<'_> = &scene.net_services[0];
    let name = net_service.slices().await[0].name_any();
    let mut labels = json!({"somebodys": "yes"});
    for label in slices.get(&name).await.unwrap().labels().keys() {
        labels[label] = Value::Null;
    }
    let theirs = json!({"metadata": {"labels": labels, "ownerReferences": null}});
    let theirs = slices.patch(&name, &PatchParams::default(), &Patch::Merge(theirs)).await.unwrap();

    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;
    let tries = tries(&proxy, Ask::CreateSlice).await;
    assert!(tries <= TRIES, "{tries} in {WHILE:?}");
    let told = net_service.told("Reconciled").await;
    assert_eq!(net_service.slices().await.len(), 1, "{told}");
    assert_eq!(slices.get(&name).await.unwrap().resource_version(), theirs.resource_version());
    watcher.terminate().await.expect_code(0);
}
