//! What others have in the namespace, however odd, neither stops the controller nor gets anything of it.

use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, ready};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use net_service::names::{SERVICE_NAME_LABEL, SLICES_MANAGED_BY, SLICES_MANAGED_BY_LABEL};
use serde_json::{Value, json};

fn core() -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}})
}

#[tokio::test]
async fn behaviour_9_slices_of_others_that_look_like_ours_stop_nothing_whatever_is_in_them() {
    let Some(namespace) = scene::namespace().await else { return };
    let api: Api<EndpointSlice> = namespace.api();
    for (name, address_type, address, port) in [
        ("too-large", "IPv4", "192.0.2.1", json!({"name": "", "port": 70_000})),
        ("negative", "IPv4", "192.0.2.1", json!({"name": "", "port": -1})),
        ("nowhere", "IPv4", "192.0.2.1", json!({"name": ""})),
        ("by-name", "FQDN", "example.com", json!({"name": "", "port": 80, "appProtocol": "example.com/odd"})),
    ] {
        let slice = json!({
            "metadata": {
                "name": name,
                "labels": {SLICES_MANAGED_BY_LABEL: SLICES_MANAGED_BY, SERVICE_NAME_LABEL: "another"},
            },
            "addressType": address_type,
            "endpoints": [{"addresses": [address]}],
            "ports": [port],
        });
        api.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();
    }
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    assert_eq!(scene::slices(&namespace, "another").await.len(), 4, "there is no NetService of that name");
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_3_a_service_that_is_no_longer_ours_keeps_none_of_our_endpoints() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    let other = serde_json::from_value(json!({"metadata": {"name": "other"}})).unwrap();
    let other = namespace.api::<ConfigMap>().create(&PostParams::default(), &other).await.unwrap();
    let owner = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other.uid(), "controller": true,
    }]);
    let services: Api<Service> = namespace.api();
    let taken = Patch::Merge(json!({"metadata": {"ownerReferences": owner}}));
    services.patch("sip", &PatchParams::default(), &taken).await.unwrap();
    sip.told("NameConflict").await;
    sip.endpoints_within(PATIENCE, &[]).await;
    running.terminate().await.expect_code(0);
}
