//! Behaviours 6 and 9: the EndpointSlices themselves.

use cluster_tests::harness::eventually;
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, ready};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

fn core() -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}})
}

#[tokio::test]
async fn behaviour_9_a_slice_says_all_that_one_of_kubernetes_own_would() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let pod = NetPod::new("sip-0").on("core", &["10.50.0.4"]).label("topology.kubernetes.io/zone", "zone-1");
    let pod = pod.spec("hostname", json!("sip-0")).spec("subdomain", json!("sip")).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "sip-0")]).await;
    let slice = serde_json::to_value(&sip.slices().await[0]).unwrap();
    assert_eq!(
        slice["endpoints"],
        json!([{
            "addresses": ["10.50.0.4"],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "hostname": "sip-0", "nodeName": "node-1", "zone": "zone-1",
            "targetRef": {"kind": "Pod", "namespace": namespace.name(), "name": "sip-0", "uid": pod.uid()},
        }])
    );
    assert_eq!(
        slice["metadata"]["labels"],
        json!({
            "kubernetes.io/service-name": "sip", "service.kubernetes.io/headless": "",
            "endpointslice.kubernetes.io/managed-by": "net-service-controller.netservice.io",
        })
    );
    let uid = sip.get().await.uid().unwrap();
    let owner = json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": "sip", "uid": uid, "controller": true}]);
    assert_eq!(slice["metadata"]["ownerReferences"], owner);
    let service = serde_json::to_value(sip.service().await.unwrap()).unwrap();
    assert_eq!(service["metadata"]["ownerReferences"], owner);
    assert_eq!(service["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "net-service-controller"}));
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_9_ours_are_repaired_and_those_of_others_left_alone() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let expected = [ready("10.50.0.4", "a")];
    let expected = [expected[0].as_str()];
    sip.endpoints(&expected).await;
    sip.told("Reconciled").await;
    let api: Api<EndpointSlice> = namespace.api();
    let foreign: EndpointSlice = serde_json::from_value(json!({
        "metadata": {"name": "foreign", "labels": {"kubernetes.io/service-name": "sip", "endpointslice.kubernetes.io/managed-by": "somebody"}},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.50.0.99"]}], "ports": [],
    }))
    .unwrap();
    let foreign = api.create(&PostParams::default(), &foreign).await.unwrap();
    let whole = |slice: &EndpointSlice| {
        let mut slice = serde_json::to_value(slice).unwrap();
        for field in ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"] {
            slice["metadata"][field].take();
        }
        slice
    };
    let before = sip.slices().await.remove(0);
    let wanted = whole(&before);
    for edit in [
        json!({"endpoints": [{"addresses": ["10.50.0.5"]}]}),
        json!({"endpoints": []}),
        json!({"endpoints": [{"addresses": ["10.50.0.4"], "conditions": {"ready": false}, "hints": {"forZones": [{"name": "z"}]}}]}),
        json!({"ports": [{"name": "x", "port": 1}]}),
        json!({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
        json!({"metadata": {"labels": {"service.kubernetes.io/headless": null}}}),
        json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": null}}}),
        json!({"metadata": {"ownerReferences": []}}),
    ] {
        // One whose ports were edited is replaced.
        let name = sip.slices().await.remove(0).name_any();
        api.patch(&name, &PatchParams::default(), &Patch::Merge(edit.clone())).await.unwrap();
        eventually(PATIENCE, &format!("{edit} is undone"), async || {
            let now = sip.slices().await;
            let now: Vec<_> = now.iter().map(whole).collect();
            let same = matches!(&now[..], [only] if { let mut only = only.clone(); only["metadata"]["name"] = wanted["metadata"]["name"].clone(); only == wanted });
            if same { Ok(()) } else { Err(Value::from(now)) }
        })
        .await;
    }
    // One more than there should be, and one less.
    let mut copy = before.clone();
    (copy.metadata.name, copy.metadata.resource_version, copy.metadata.uid) = (Some("stray".to_owned()), None, None);
    api.create(&PostParams::default(), &copy).await.unwrap();
    sip.endpoints(&expected).await;
    for slice in sip.slices().await {
        api.delete(&slice.name_any(), &DeleteParams::default()).await.unwrap();
    }
    sip.endpoints(&expected).await;
    assert_eq!(api.get("foreign").await.unwrap().resource_version(), foreign.resource_version());
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_9_the_service_is_repaired_too() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let ports = json!([{"name": "sip", "port": 5060}]);
    let mut spec = core();
    (spec["type"], spec["ports"]) = (json!("NodePort"), ports);
    let sip = NetService::create(&namespace, "sip", spec).await;
    sip.told("Reconciled").await;
    let api: Api<Service> = namespace.api();
    let whole = |service: &Service| {
        let mut service = serde_json::to_value(service).unwrap();
        for field in ["resourceVersion", "managedFields"] {
            service["metadata"][field].take();
        }
        service
    };
    let wanted = whole(&sip.service().await.unwrap());
    for edit in [
        json!({"spec": {"selector": {"app": "utils"}}}),
        json!({"spec": {"ports": [{"name": "sip", "port": 5060, "targetPort": 1}]}}),
        json!({"spec": {"ports": [{"name": "sip", "port": 5060, "nodePort": wanted["spec"]["ports"][0]["nodePort"]}, {"name": "b", "port": 2}]}}),
        json!({"spec": {"publishNotReadyAddresses": true}}),
        json!({"spec": {"externalIPs": ["192.0.2.1"]}}),
        json!({"spec": {"externalTrafficPolicy": "Local"}}),
        json!({"spec": {"internalTrafficPolicy": "Local"}}),
        json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}),
        json!({"metadata": {"ownerReferences": null}}),
    ] {
        api.patch("sip", &PatchParams::default(), &Patch::Merge(edit.clone())).await.unwrap();
        eventually(PATIENCE, &format!("{edit} is undone"), async || {
            let now = whole(&sip.service().await.unwrap());
            if now == wanted { Ok(()) } else { Err(now) }
        })
        .await;
    }
    // What others add stays.
    let annotation = json!({"metadata": {"annotations": {"theirs": "1"}, "labels": {"theirs": "1"}}});
    api.patch("sip", &PatchParams::default(), &Patch::Merge(annotation)).await.unwrap();
    api.patch("sip", &PatchParams::default(), &Patch::Merge(json!({"spec": {"selector": {"app": "utils"}}})))
        .await
        .unwrap();
    sip.service_that("has no selector", |service| service.spec.as_ref().unwrap().selector.is_none()).await;
    let service = sip.service().await.unwrap();
    assert_eq!((service.annotations().len(), service.labels().len()), (1, 2));
    api.delete("sip", &DeleteParams::default()).await.unwrap();
    sip.service_that("is there again", |_| true).await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_6_slices_hold_a_hundred_and_a_change_rewrites_one() {
    let Some(namespace) = scene::namespace().await else { return };
    let mut pods = Vec::new();
    for number in 0..130 {
        let (one, two) = (format!("10.50.1.{number}"), format!("10.50.2.{number}"));
        pods.push(NetPod::new(&format!("p{number:03}")).on("core", &[&one, &two]).create(&namespace).await);
    }
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let versions = async |sizes: &[usize]| {
        eventually(PATIENCE, &format!("there are slices of {sizes:?}"), async || {
            let slices = sip.slices().await;
            let mut found: Vec<_> = slices.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).collect();
            found.sort_unstable();
            let versions: std::collections::BTreeSet<_> =
                slices.iter().map(|slice| (slice.name_any(), slice.resource_version())).collect();
            if found == sizes { Ok(versions) } else { Err(format!("{found:?}")) }
        })
        .await
    };
    let before = versions(&[60, 100, 100]).await;
    sip.told("Reconciled").await;
    let last = pods.pop().unwrap();
    last.delete().await;
    let after = versions(&[58, 100, 100]).await;
    assert_eq!(before.difference(&after).count(), 1, "two endpoints of one slice");
    scene::is_ready(&mut pods[0], "False").await;
    sip.told("Reconciled").await;
    eventually(PATIENCE, "256 endpoints are ready", async || {
        let status = sip.status().await;
        if status["endpoints"] == 256 { Ok(()) } else { Err(status) }
    })
    .await;
    assert_eq!(after.difference(&versions(&[58, 100, 100]).await).count(), 1);
    running.terminate().await.expect_code(0);
}
