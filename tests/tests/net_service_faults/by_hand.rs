//! What somebody does to the controller's objects by hand leaves nothing behind.

use cluster_tests::{
    harness::eventually,
    net_service::{NetPod, NetService, ready, start},
};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use net_service::names::{SERVICE_NAME_LABEL, SLICES_MANAGED_BY_LABEL};
use serde_json::json;

use crate::{DEADLINE, scene::namespace};

/// Who makes slices of an Endpoints object. Kubernetes keeps the one that it wrote while the Service had a selector, and the
/// controller may not even read those: docs/troubleshooting.md says what to do.
const MIRRORING: &str = "endpointslicemirroring-controller.k8s.io";

/// The addresses that clients of a Service find, whoever wrote them, but for those that are mirrored.
async fn found(namespace: &cluster_tests::harness::Namespace<'_>, service: &str) -> Vec<String> {
    let slices: Api<EndpointSlice> = namespace.api();
    let of_service = ListParams::default().labels(&format!("{SERVICE_NAME_LABEL}={service}"));
    let slices = slices.list(&of_service).await.unwrap().items;
    let is_mirrored =
        |slice: &EndpointSlice| slice.labels().get(SLICES_MANAGED_BY_LABEL).is_some_and(|value| value == MIRRORING);
    let slices = slices.into_iter().filter(|slice| !is_mirrored(slice));
    let endpoints = slices.flat_map(|slice| slice.endpoints.unwrap_or_default());
    let mut found: Vec<_> = endpoints.flat_map(|endpoint| endpoint.addresses).collect();
    found.sort();
    found
}

/// Kubernetes' own controller writes slices for it meanwhile, and then leaves them to themselves.
#[tokio::test]
async fn behaviour_9_a_selector_that_somebody_adds_leaves_nothing_behind() {
    let Some(namespace) = namespace().await else { return };
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let sip = NetService::create(
        &namespace,
        "sip",
        json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": "ClusterIP", "ports": [{"port": 80}]}),
    )
    .await;
    // While nobody leads, so that there is time for it.
    let running = start(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
    let services: Api<Service> = namespace.api();
    let edit = Patch::Merge(json!({"spec": {"selector": {"app": "utils"}}}));
    services.patch("sip", &PatchParams::default(), &edit).await.unwrap();
    eventually(DEADLINE, "the pod network leaks in", async || match found(&namespace, "sip").await {
        found if found.len() == 2 => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;

    let running = start(&namespace).await;
    sip.service_that("has no selector", |service| service.spec.as_ref().unwrap().selector.is_none()).await;
    eventually(DEADLINE, "nothing is left of it", async || match found(&namespace, "sip").await {
        found if found == ["10.50.0.4"] => Ok(()),
        found => Err(format!("{found:?}")),
    })
    .await;
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
