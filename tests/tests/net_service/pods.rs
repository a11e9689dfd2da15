//! Behaviour 2: endpoints follow their pods.

use cluster_tests::harness::{Phase, eventually};
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, edit_metadata, is_ready, ready};
use net_service::network::STATUS_ANNOTATION;
use serde_json::json;

fn core() -> serde_json::Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}})
}

#[tokio::test]
async fn behaviour_2_endpoints_follow_what_becomes_of_a_pod() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    sip.promptly(&[]).await;
    let mut pod = NetPod::new("a").on("core", &["10.50.0.4"]).starting(&namespace).await;
    sip.promptly(&["10.50.0.4 a"]).await;
    is_ready(&mut pod, "True").await;
    sip.promptly(&[&ready("10.50.0.4", "a")]).await;
    is_ready(&mut pod, "False").await;
    sip.promptly(&["10.50.0.4 a"]).await;
    is_ready(&mut pod, "True").await;
    edit_metadata(&pod, json!({"labels": {"app": "other"}})).await;
    sip.promptly(&[]).await;
    edit_metadata(&pod, json!({"labels": {"app": "utils"}})).await;
    sip.promptly(&[&ready("10.50.0.4", "a")]).await;
    edit_metadata(&pod, json!({"annotations": {STATUS_ANNOTATION: r#"[{"name":"core","ips":["10.50.0.77"]}]"#}})).await;
    sip.promptly(&[&ready("10.50.0.77", "a")]).await;
    edit_metadata(&pod, json!({"annotations": {STATUS_ANNOTATION: null}})).await;
    sip.promptly(&[]).await;
    edit_metadata(&pod, json!({"annotations": {STATUS_ANNOTATION: r#"[{"name":"core","ips":["10.50.0.4"]}]"#}})).await;
    sip.promptly(&[&ready("10.50.0.4", "a")]).await;
    pod.phase(Phase::Failed).await;
    sip.promptly(&[]).await;
    let other = NetPod::new("b").on("core", &["10.50.0.5"]).create(&namespace).await;
    sip.promptly(&[&ready("10.50.0.5", "b")]).await;
    other.delete().await;
    sip.promptly(&[]).await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_2_a_scale_from_3_to_30_and_back() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let mut pods = Vec::new();
    let expected = |count: u8| {
        (0..count).map(|number| ready(&format!("10.50.0.{number}"), format!("p{number}"))).collect::<Vec<_>>()
    };
    for number in 0..30 {
        let address = format!("10.50.0.{number}");
        pods.push(NetPod::new(&format!("p{number}")).on("core", &[&address]).create(&namespace).await);
        if number == 2 || number == 29 {
            let expected = expected(number + 1);
            sip.promptly(&expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
    }
    for pod in pods.drain(3..) {
        pod.delete().await;
    }
    let expected = expected(3);
    sip.promptly(&expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(sip.slices().await.len(), 1);
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_2_what_a_net_service_owned_goes_with_it() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4", "fd00::4"]).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00::4", "a")]).await;
    sip.delete().await;
    eventually(PATIENCE, "Service and slices are gone", async || {
        let (service, slices) = (sip.service().await, sip.slices().await);
        if service.is_none() && slices.is_empty() { Ok(()) } else { Err(format!("{service:?} {slices:?}")) }
    })
    .await;
    // Deleted and created again in one breath: the new one waits until the old one's Service is collected.
    for _ in 0..5 {
        let sip = NetService::create(&namespace, "sip", core()).await;
        sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00::4", "a")]).await;
        sip.delete().await;
    }
    let sip = NetService::create(&namespace, "sip", core()).await;
    sip.told("Reconciled").await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00::4", "a")]).await;
    running.terminate().await.expect_code(0);
}

/// With foreground deletion the NetService is still there while garbage collection takes away what it owned.
#[tokio::test]
async fn behaviour_2_a_net_service_that_is_being_deleted_gets_nothing_back() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    sip.api().delete("sip", &kube::api::DeleteParams::foreground()).await.unwrap();
    eventually(PATIENCE, "all of it is gone", async || {
        let there = (sip.api().get_opt("sip").await.unwrap(), sip.service().await, sip.slices().await);
        if there == (None, None, vec![]) { Ok(()) } else { Err(format!("{there:?}")) }
    })
    .await;
    running.terminate().await.expect_code(0);
}
