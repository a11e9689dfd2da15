//! Behaviour 2, too: each field of the spec is followed, also where Kubernetes does not change a Service in place.

use cluster_tests::{
    harness::{ControlPlane, Options, eventually},
    net_service::{self as scene, NetPod, NetService, PATIENCE, ready},
};
use kube::ResourceExt;
use net_service::resource::Group;
use serde_json::{Value, json};

fn ports() -> Value {
    json!([{"name": "sip", "port": 5060}])
}

#[tokio::test]
async fn behaviour_2_each_field_of_the_spec_is_followed() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let mut starting = NetPod::new("a")
        .on("core", &["10.50.0.4", "10.50.0.5"])
        .on("access", &["10.51.0.4", "fd00::4"])
        .on("access", &["10.51.0.6"])
        .starting(&namespace)
        .await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    sip.endpoints(&["10.50.0.4 a", "10.50.0.5 a"]).await;
    for (edit, expected) in [
        (json!({"addressPolicy": "First"}), &["10.50.0.4 a"][..]),
        (json!({"netAttachDef": "access"}), &["10.51.0.4 a", "fd00::4 a"]),
        (json!({"addressPolicy": "All"}), &["10.51.0.4 a", "10.51.0.6 a", "fd00::4 a"]),
        (json!({"interface": "net3"}), &["10.51.0.6 a"]),
        (json!({"interface": null, "ipFamilies": ["IPv6"]}), &["fd00::4 a"]),
        (json!({"ipFamilies": null, "selector": {"app": "none"}}), &[]),
        (json!({"selector": {"app": "utils"}, "netAttachDef": null}), &["10.244.0.9 a"]),
        (json!({"publishNotReadyAddresses": true}), &["10.244.0.9 a ready"]),
    ] {
        sip.edit(edit).await;
        sip.endpoints(expected).await;
    }
    scene::is_ready(&mut starting, "True").await;
    sip.edit(json!({"ports": ports()})).await;
    let has_port = |port: i32| {
        move |service: &k8s_openapi::api::core::v1::Service| {
            service.spec.as_ref().unwrap().ports.iter().flatten().map(|found| found.port).eq([port])
        }
    };
    let before = sip.service_that("has the port", has_port(5060)).await;
    sip.edit(json!({"ports": [{"name": "sip", "port": 5061, "protocol": "UDP"}]})).await;
    let after = sip.service_that("has the other", has_port(5061)).await;
    assert_eq!(after.uid(), before.uid(), "changed in place");
    // The slice with the new ports is there before the other one goes.
    eventually(PATIENCE, "the slices have the other port", async || {
        let slices = sip.slices().await;
        let mut ports = slices.iter().flat_map(|slice| slice.ports.iter().flatten());
        let are_new = ports.all(|port| port.port == Some(5061) && port.protocol.as_deref() == Some("UDP"));
        if are_new { Ok(()) } else { Err(format!("{slices:?}")) }
    })
    .await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_2_from_each_type_to_each_other() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}, "ports": ports()});
    let sip = NetService::create(&namespace, "sip", spec).await;
    for to in ["ClusterIP", "NodePort", "Headless", "NodePort", "ClusterIP", "Headless"] {
        sip.edit(json!({"type": to})).await;
        let service = sip
            .service_that(&format!("is a {to}"), |service| {
                let spec = service.spec.as_ref().unwrap();
                let is_headless = spec.cluster_ip.as_deref() == Some("None");
                let kind = if is_headless { Some("Headless") } else { spec.type_.as_deref() };
                kind == Some(to)
            })
            .await;
        let node_ports = service.spec.unwrap().ports.into_iter().flatten().filter_map(|port| port.node_port).count();
        assert_eq!(node_ports, usize::from(to == "NodePort"), "{to}");
        sip.told("Reconciled").await;
        sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    }
    running.terminate().await.expect_code(0);
}

fn of_families(families: &Value, kind: &str) -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}, "ports": ports(), "type": kind, "ipFamilies": families})
}

#[tokio::test]
async fn behaviour_6_families_are_those_that_the_service_was_given() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4", "fd00::4"]).create(&namespace).await;
    let (four, six) = (ready("10.50.0.4", "a"), ready("fd00::4", "a"));
    let (four, six) = (four.as_str(), six.as_str());
    let sip = NetService::create(&namespace, "sip", of_families(&json!(["IPv4"]), "ClusterIP")).await;
    sip.endpoints(&[four]).await;
    for kind in ["ClusterIP", "Headless"] {
        for (families, expected) in [
            (json!(["IPv4", "IPv6"]), &[four, six][..]),
            (json!(["IPv4"]), &[four]),
            (json!(["IPv6"]), &[six]),
            (json!(["IPv6", "IPv4"]), &[four, six]),
            (json!(["IPv4", "IPv6"]), &[four, six]),
        ] {
            sip.edit(json!({"ipFamilies": families, "type": kind})).await;
            sip.told("Reconciled").await;
            sip.endpoints(expected).await;
            let given = sip.service().await.unwrap().spec.unwrap().ip_families;
            assert_eq!(json!(given), families, "{kind}");
        }
        sip.edit(json!({"ipFamilies": null})).await;
        sip.told("Reconciled").await;
        sip.endpoints(&[four, six]).await;
    }
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_6_on_a_cluster_of_one_family_the_other_is_for_headless_only() {
    let flag = "--service-cluster-ip-range=10.96.0.0/16".to_owned();
    let options = Options { apiserver_flags: vec![flag], ..Options::default() };
    let Some(control_plane) = ControlPlane::start(options).await else { return };
    control_plane.serve_net_services(&Group::ALL).await;
    let namespace = scene::namespace_of(&control_plane).await;
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4", "fd00::4"]).create(&namespace).await;
    let (four, six) = (ready("10.50.0.4", "a"), ready("fd00::4", "a"));
    for (name, families, kind, expected) in [
        ("headless", json!([]), "Headless", vec![&*four, &*six]),
        ("both", json!(["IPv4", "IPv6"]), "Headless", vec![&*four, &*six]),
        ("six", json!(["IPv6"]), "Headless", vec![&*six]),
        ("cluster", json!([]), "ClusterIP", vec![&*four]),
    ] {
        let service = NetService::create(&namespace, name, of_families(&families, kind)).await;
        service.told("Reconciled").await;
        service.endpoints(&expected).await;
    }
    for (name, families) in [("dual", json!(["IPv4", "IPv6"])), ("none", json!(["IPv6"]))] {
        let refused = NetService::create(&namespace, name, of_families(&families, "NodePort")).await;
        let told = refused.told("ServiceRefused").await;
        assert!(told.contains("not configured on this cluster"), "{told}");
    }
    running.terminate().await.expect_code(0);
    control_plane.close().await;
}
