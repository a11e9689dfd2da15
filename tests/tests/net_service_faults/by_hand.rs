//! What somebody does to the controller's objects by hand leaves nothing behind.

use cluster_tests::{
    harness::{Namespace, Pod, eventually},
    net_service::{NetPod, NetService, ready, start},
};
use k8s_openapi::api::{
    core::v1::{Endpoints, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use net_service::names::{SERVICE_NAME_LABEL, SLICES_MANAGED_BY_LABEL};
use serde_json::{Value, json};

use crate::{DEADLINE, scene::namespace};

/// The addresses that clients of a Service find, whoever wrote them.
async fn found(namespace: &Namespace<'_>, service: &str) -> Vec<String> {
    let slices: Api<EndpointSlice> = namespace.api();
    let of_service = ListParams::default().labels(&format!("{SERVICE_NAME_LABEL}={service}"));
    let slices = slices.list(&of_service).await.unwrap().items;
    let endpoints = slices.into_iter().flat_map(|slice| slice.endpoints.unwrap_or_default());
    let mut found: Vec<_> = endpoints.flat_map(|endpoint| endpoint.addresses).collect();
    found.sort();
    found
}

/// A NetService, its pod, and a controller that has ended.
async fn left_alone<'a>(namespace: &'a Namespace<'a>) -> (NetService<'a>, Pod<'a>) {
    let pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(namespace).await;
    let spec =
        json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": "NodePort", "ports": [{"port": 80}]});
    let sip = NetService::create(namespace, "sip", spec).await;
    let running = start(namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
    (sip, pod)
}

async fn select(namespace: &Namespace<'_>, selector: Value) {
    let services: Api<Service> = namespace.api();
    let edit = Patch::Merge(json!({"spec": {"selector": selector}}));
    services.patch("sip", &PatchParams::default(), &edit).await.unwrap();
}

/// Waits until clients find so many addresses.
async fn leaked(namespace: &Namespace<'_>, count: usize) {
    eventually(DEADLINE, "the pod network leaks in", async || match found(namespace, "sip").await {
        found if found.len() == count => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;
}

/// Neither Kubernetes' own slices nor the Endpoints that it makes others of; and the Service is the same.
async fn nothing_is_left(namespace: &Namespace<'_>, before: &Service) {
    let running = start(namespace).await;
    let (services, endpoints): (Api<Service>, Api<Endpoints>) = (namespace.api(), namespace.api());
    eventually(DEADLINE, "nothing is left of it", async || {
        let found = found(namespace, "sip").await;
        let selector = services.get("sip").await.unwrap().spec.unwrap().selector;
        let subsets = endpoints.get("sip").await.unwrap().subsets;
        if found == ["10.50.0.4"] && selector.is_none() && subsets.is_none() {
            Ok(())
        } else {
            Err(format!("{found:?}, selector {selector:?}, Endpoints {subsets:?}"))
        }
    })
    .await;
    assert_eq!(services.get("sip").await.unwrap().spec, before.spec, "with its cluster IP and its node port");
    running.terminate().await.expect_code(0);
}

/// Kubernetes writes slices and Endpoints for it meanwhile, and then leaves them to themselves.
#[tokio::test]
async fn behaviour_9_a_selector_that_somebody_adds_leaves_nothing_behind() {
    let Some(namespace) = namespace().await else { return };
    let (sip, _pod) = left_alone(&namespace).await;
    let before = sip.service().await.unwrap();
    select(&namespace, json!({"app": "utils"})).await;
    leaked(&namespace, 2).await;
    nothing_is_left(&namespace, &before).await;
}

/// Of the Endpoints that are left Kubernetes makes slices then.
#[tokio::test]
async fn behaviour_9_a_selector_that_somebody_adds_and_takes_away_leaves_nothing_behind() {
    let Some(namespace) = namespace().await else { return };
    let (sip, _pod) = left_alone(&namespace).await;
    let before = sip.service().await.unwrap();
    select(&namespace, json!({"app": "utils"})).await;
    leaked(&namespace, 2).await;
    select(&namespace, Value::Null).await;
    leaked(&namespace, 3).await;
    nothing_is_left(&namespace, &before).await;
}

/// Whoever runs another controller of Endpoints, or writes them by hand, keeps them.
#[tokio::test]
async fn behaviour_9_endpoints_that_somebody_else_wrote_stay() {
    let Some(namespace) = namespace().await else { return };
    let (sip, pod) = left_alone(&namespace).await;
    let endpoints: Api<Endpoints> = namespace.api();
    let by_hand: Endpoints = serde_json::from_value(json!({
        "metadata": {"name": "sip"},
        "subsets": [{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"port": 80}]}],
    }))
    .unwrap();
    let by_hand = endpoints.create(&PostParams::default(), &by_hand).await.unwrap();
    leaked(&namespace, 2).await;
    let before = sip.service().await.unwrap();
    let running = start(&namespace).await;
    pod.delete().await;
    let _other = NetPod::new("b").on("core", &["10.50.0.5"]).create(&namespace).await;
    eventually(DEADLINE, "its own endpoints follow", async || match found(&namespace, "sip").await {
        found if found == ["10.50.0.5", "192.0.2.7"] => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;
    assert_eq!(sip.service().await.unwrap(), before, "untouched");
    assert_eq!(endpoints.get("sip").await.unwrap(), by_hand);
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_9_a_slice_that_lost_its_label_while_nobody_looked_is_put_right() {
    let Some(namespace) = namespace().await else { return };
    let pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}, "ports": [{"port": 80}]});
    let sip = NetService::create(&namespace, "sip", spec).await;
    let running = start(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
    let slices: Api<EndpointSlice> = namespace.api();
    let name = sip.slices().await[0].name_any();
    let edit = Patch::Merge(json!({"metadata": {"labels": {SLICES_MANAGED_BY_LABEL: null}}}));
    slices.patch(&name, &PatchParams::default(), &edit).await.unwrap();
    sip.edit(json!({"ports": [{"port": 81}]})).await;
    pod.delete().await;
    let _other = NetPod::new("b").on("core", &["10.50.0.5"]).create(&namespace).await;

    let running = start(&namespace).await;
    eventually(DEADLINE, "nothing is left of it", async || match found(&namespace, "sip").await {
        found if found == ["10.50.0.5"] => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;
    running.terminate().await.expect_code(0);
}
