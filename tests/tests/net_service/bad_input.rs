//! Behaviour 12: what no schema has refused, since the definition has none.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Options, eventually};
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, ready};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, api::PostParams};
use net_service::resource::{Group, KIND, PLURAL, VERSION};
use serde_json::json;

/// The definitions as an older tool may have left them: anything goes.
async fn install_without_schema(control_plane: &ControlPlane) {
    let definitions: Api<CustomResourceDefinition> = Api::all(control_plane.admin());
    for group in Group::ALL {
        let definition = serde_json::from_value(json!({
            "metadata": {"name": format!("{PLURAL}.{group}")},
            "spec": {
                "group": group.as_str(), "scope": "Namespaced", "names": {"plural": PLURAL, "kind": KIND},
                "versions": [{
                    "name": VERSION, "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }))
        .unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
}

#[tokio::test]
async fn behaviour_12_bad_input_becomes_a_condition_that_says_what_to_do() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    // The controller may be there before its resources.
    let namespace = scene::namespace_of(&control_plane).await;
    let running = scene::start(&namespace).await;
    install_without_schema(&control_plane).await;
    let port = json!({"name": "a", "port": 80});
    let mut all = Vec::new();
    for (name, spec, reason, says) in [
        ("empty", json!({"netAttachDef": ""}), "InvalidSpec", "leave the field out for the pod network"),
        ("slashes", json!({"netAttachDef": "a/b/c"}), "InvalidSpec", "neither NAME nor NAMESPACE/NAME"),
        ("twice", json!({"ports": [port, {"name": "b", "port": 80}]}), "InvalidSpec", "port 80 of TCP a second time"),
        ("no.name", json!({}), "InvalidSpec", "create it under a name of at most 63"),
        ("portless", json!({"type": "NodePort"}), "InvalidSpec", "name the ports"),
        ("type", json!({"type": "LoadBalancer"}), "InvalidSpec", "expected one of `Headless`, `ClusterIP`, `NodePort`"),
        ("text", json!("core"), "InvalidSpec", "spec cannot be read"),
        (
            "missing",
            json!({"netAttachDef": "nope", "selector": {"app": "utils"}}),
            "NetworkNotFound",
            "k8s.v1.cni.cncf.io/networks",
        ),
        ("good", json!({"netAttachDef": "core", "selector": {"app": "utils"}, "unknown": [1]}), "Reconciled", ""),
        ("nothing", json!(null), "Reconciled", ""),
    ] {
        let net_service = NetService::of(&namespace, Group::Own, name);
        eventually(PATIENCE, "the definition is served", async || net_service.try_make(spec.clone()).await.map(drop))
            .await;
        all.push((net_service, reason, says));
    }
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    // It asks for what was not there every 30 s.
    eventually(Duration::from_secs(60), "the first is told", async || {
        let status = all[0].0.status().await;
        if status.is_null() { Err("nothing") } else { Ok(()) }
    })
    .await;
    for (net_service, reason, says) in &all {
        let told = net_service.told(reason).await;
        assert!(told.contains(says), "{told}");
    }
    all[8].0.endpoints(&[&ready("10.50.0.4", "a")]).await;
    // No hot loop: all of it is told once.
    let count = async || namespace.requests().await.iter().filter(|event| event.resource != "leases").count();
    let before = count().await;
    let renewals = async || namespace.requests().await.iter().filter(|event| event.resource == "leases").count();
    let at = renewals().await;
    eventually(
        PATIENCE,
        "two renewals have passed",
        async || if renewals().await >= at + 2 { Ok(()) } else { Err("not yet") },
    )
    .await;
    assert_eq!(count().await, before);
    running.terminate().await.expect_code(0);
    control_plane.close().await;
}
