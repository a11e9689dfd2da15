//! Behaviours 6, 7 and 8: which addresses, of which pods, with which ports.

use cluster_tests::net_service::{self as scene, NetPod, NetService, ready};
use serde_json::json;

#[tokio::test]
async fn behaviour_6_addresses_that_cannot_be_endpoints_are_refused() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let bad =
        ["127.0.0.1", "169.254.0.1", "224.0.0.1", "0.0.0.0", "::1", "fe80::1", "ff02::1", "::", "::ffff:10.0.0.1"];
    let pod = NetPod::new("a").on("core", &bad).create(&namespace).await;
    let told = sip.told("NoUsableAddress").await;
    assert!(told.contains("network core"), "{told}");
    pod.delete().await;
    let _pod = NetPod::new("a").on("core", &[&bad[..], &["10.50.0.4"]].concat()).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    sip.told("Reconciled").await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_7_conditions_are_as_the_endpoint_slice_controller_sets_them() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let core = json!({"netAttachDef": "core", "selector": {"app": "utils"}});
    let mut published = core.clone();
    published["publishNotReadyAddresses"] = json!(true);
    let (sip, published) = (
        NetService::create(&namespace, "sip", core).await,
        NetService::create(&namespace, "published", published).await,
    );
    let mut pod = NetPod::new("a")
        .on("core", &["10.50.0.4"])
        .spec("terminationGracePeriodSeconds", json!(30))
        .starting(&namespace)
        .await;
    sip.endpoints(&["10.50.0.4 a"]).await;
    published.endpoints(&["10.50.0.4 a ready"]).await;
    scene::is_ready(&mut pod, "True").await;
    sip.endpoints(&["10.50.0.4 a ready serving"]).await;
    pod.ask_to_end().await;
    sip.endpoints(&["10.50.0.4 a serving terminating"]).await;
    published.endpoints(&["10.50.0.4 a ready serving terminating"]).await;
    let service = published.service().await.unwrap().spec.unwrap();
    assert_eq!(service.publish_not_ready_addresses, Some(true));
    pod.delete().await;
    sip.endpoints(&[]).await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_7_pods_in_their_nodes_network_and_pods_with_one_address() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let core =
        NetService::create(&namespace, "core", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let pods = NetService::create(&namespace, "pods", json!({"selector": {"app": "utils"}})).await;
    let _host = NetPod::new("host")
        .on("core", &["10.50.0.3"])
        .pod_ips(&["192.0.2.11"])
        .spec("hostNetwork", json!(true))
        .create(&namespace)
        .await;
    pods.endpoints(&[&ready("192.0.2.11", "host")]).await;
    core.endpoints(&[]).await;
    let old = NetPod::new("old")
        .on("core", &["10.50.0.4"])
        .pod_ips(&["10.244.0.4"])
        .spec("terminationGracePeriodSeconds", json!(30))
        .create(&namespace)
        .await;
    core.endpoints(&[&ready("10.50.0.4", "old")]).await;
    old.ask_to_end().await;
    let _new = NetPod::new("new").on("core", &["10.50.0.4"]).pod_ips(&["10.244.0.5"]).create(&namespace).await;
    core.endpoints(&[&ready("10.50.0.4", "new")]).await;
    old.delete().await;
    core.endpoints(&[&ready("10.50.0.4", "new")]).await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_8_ports_by_name_are_each_pods_own() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let ports = json!([
        {"name": "sip", "port": 5060, "targetPort": "sip", "protocol": "UDP", "appProtocol": "example.com/sip"},
        {"name": "m3ua", "port": 2905, "protocol": "SCTP"},
    ]);
    let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": "ClusterIP", "ports": ports});
    let sip = NetService::create(&namespace, "sip", spec).await;
    let _one = NetPod::new("one").on("core", &["10.50.0.1"]).port("sip", 5060, "UDP").create(&namespace).await;
    let _two = NetPod::new("two").on("core", &["10.50.0.2"]).port("sip", 5070, "UDP").create(&namespace).await;
    let _tcp = NetPod::new("tcp").on("core", &["10.50.0.3"]).port("sip", 5080, "TCP").create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.1", "one"), &ready("10.50.0.2", "two"), &ready("10.50.0.3", "tcp")]).await;
    let mut sets: Vec<_> = sip
        .slices()
        .await
        .into_iter()
        .map(|slice| {
            let address = slice.endpoints.unwrap()[0].addresses[0].clone();
            let port = |port: k8s_openapi::api::discovery::v1::EndpointPort| {
                let (name, protocol) = (port.name.unwrap(), port.protocol.unwrap());
                format!("{name} {} {protocol} {}", port.port.unwrap(), port.app_protocol.unwrap_or_default())
            };
            (address, slice.ports.unwrap().into_iter().map(port).collect::<Vec<_>>())
        })
        .collect();
    sets.sort();
    let m3ua = "m3ua 2905 SCTP ".to_owned();
    assert_eq!(
        sets,
        [
            ("10.50.0.1".to_owned(), vec!["sip 5060 UDP example.com/sip".to_owned(), m3ua.clone()]),
            ("10.50.0.2".to_owned(), vec!["sip 5070 UDP example.com/sip".to_owned(), m3ua.clone()]),
            ("10.50.0.3".to_owned(), vec![m3ua]),
        ]
    );
    sip.edit(json!({"ports": [{"name": "sip", "port": 5060, "targetPort": "sip", "protocol": "UDP"}]})).await;
    sip.endpoints(&[&ready("10.50.0.1", "one"), &ready("10.50.0.2", "two")]).await;
    running.terminate().await.expect_code(0);
}
