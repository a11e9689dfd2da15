//! Behaviour 4: ports on the nodes, as far as the API has them; that they answer is tested on nodes.

use cluster_tests::harness::eventually;
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, ready};
use serde_json::{Value, json};

fn spec(ports: &Value) -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": "NodePort", "ports": ports})
}

async fn node_ports(net_service: &NetService<'_>) -> Vec<i32> {
    let service = net_service.service_that("has node ports", |service| {
        service.spec.as_ref().unwrap().ports.iter().flatten().all(|port| port.node_port.is_some())
    });
    service.await.spec.unwrap().ports.unwrap().into_iter().filter_map(|port| port.node_port).collect()
}

#[tokio::test]
async fn behaviour_4_a_port_is_allocated_and_told() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", spec(&json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}])))
            .await;
    sip.told("Reconciled").await;
    let ports = node_ports(&sip).await;
    assert_eq!(ports.len(), 2);
    assert_eq!(sip.status().await["nodePorts"], json!(ports));
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    sip.edit(json!({"ports": [{"name": "c", "port": 82}, {"name": "b", "port": 81}]})).await;
    eventually(PATIENCE, "a port that stays keeps its node port", async || {
        let now = sip.status().await["nodePorts"].clone();
        if now[1] == ports[1] && now[0] != ports[0] { Ok(()) } else { Err(now) }
    })
    .await;
    let policies = sip.service().await.unwrap().spec.unwrap();
    assert_eq!(policies.external_traffic_policy.as_deref(), Some("Cluster"));
    running.terminate().await.expect_code(0);
}

/// Each of these tests has node ports of its own, in the band that is never allocated by chance.
#[tokio::test]
async fn behaviour_4_an_explicit_port_in_use_is_told_and_had_once_it_is_free() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let port = json!([{"port": 80, "nodePort": 30041}]);
    let one = NetService::create(&namespace, "one", spec(&port)).await;
    one.told("Reconciled").await;
    assert_eq!(one.status().await["nodePorts"], json!([30041]));
    let two = NetService::create(&namespace, "two", spec(&port)).await;
    let told = two.told("ServiceRefused").await;
    assert!(told.contains("provided port is already allocated"), "{told}");
    let free = NetService::create(&namespace, "free", spec(&json!([{"port": 80, "nodePort": 80}]))).await;
    let told = free.told("ServiceRefused").await;
    assert!(told.contains("not in the valid range"), "{told}");
    // Another spec is asked for at once.
    free.edit(json!({"ports": [{"port": 80, "nodePort": 30042}]})).await;
    free.told("Reconciled").await;
    // A Service that is there keeps what it has.
    free.edit(json!({"ports": [{"port": 80, "nodePort": 30041}]})).await;
    free.told("ServiceRefused").await;
    assert_eq!(node_ports(&free).await, [30042]);
    free.edit(json!({"ports": [{"port": 80, "nodePort": 30042}]})).await;
    free.told("Reconciled").await;
    one.delete().await;
    two.told("Reconciled").await;
    assert_eq!(two.status().await["nodePorts"], json!([30041]));
    // Deleted and created again, with the same port.
    for _ in 0..3 {
        two.delete().await;
        let two = NetService::create(&namespace, "two", spec(&port)).await;
        two.told("Reconciled").await;
        assert_eq!(node_ports(&two).await, [30041]);
    }
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_4_one_number_on_two_protocols_at_once() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let both = json!([
        {"name": "tcp", "port": 5060, "nodePort": 30043},
        {"name": "udp", "port": 5060, "nodePort": 30043, "protocol": "UDP"},
    ]);
    let sip = NetService::create(&namespace, "sip", spec(&both)).await;
    sip.told("Reconciled").await;
    assert_eq!(sip.status().await["nodePorts"], json!([30043, 30043]));
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    // The other type frees them, and this one has them again.
    for kind in ["ClusterIP", "NodePort", "Headless", "NodePort"] {
        sip.edit(json!({"type": kind, "ports": [
            {"name": "tcp", "port": 5060, "nodePort": (kind == "NodePort").then_some(30043)},
            {"name": "udp", "port": 5060, "nodePort": (kind == "NodePort").then_some(30043), "protocol": "UDP"},
        ]}))
        .await;
        sip.told("Reconciled").await;
        let ports = sip.status().await["nodePorts"].clone();
        assert_eq!(ports, if kind == "NodePort" { json!([30043, 30043]) } else { Value::Null }, "{kind}");
    }
    running.terminate().await.expect_code(0);
}
