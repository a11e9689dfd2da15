//! Behaviour 5: one bad annotation hides nobody, and is told once. What each text means is tested beside the parser.

use cluster_tests::harness::{Namespace, eventually};
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, edit_metadata, ready};
use k8s_openapi::api::core::v1::Event;
use kube::{Api, api::ListParams};
use net_service::network::{OLD_STATUS_ANNOTATION, STATUS_ANNOTATION};
use serde_json::json;

/// The Events about pods, as `POD: MESSAGE`.
async fn events(namespace: &Namespace<'_>) -> Vec<String> {
    let api: Api<Event> = namespace.api();
    let all = api.list(&ListParams::default()).await.unwrap().items;
    let of_pods = all.into_iter().filter(|event| event.involved_object.kind.as_deref() == Some("Pod"));
    let mut lines: Vec<_> = of_pods
        .map(|event| {
            assert_eq!(
                (event.type_.as_deref(), event.reason.as_deref()),
                (Some("Warning"), Some("InvalidNetworkStatus"))
            );
            assert!(event.involved_object.uid.is_some());
            format!("{}: {}", event.involved_object.name.unwrap(), event.message.unwrap())
        })
        .collect();
    lines.sort();
    lines
}

async fn told(namespace: &Namespace<'_>, count: usize) -> Vec<String> {
    eventually(PATIENCE, &format!("{count} Events are there"), async || {
        let events = events(namespace).await;
        if events.len() == count { Ok(events) } else { Err(format!("{events:#?}")) }
    })
    .await
}

#[tokio::test]
async fn behaviour_5_one_bad_pod_hides_no_other_and_is_told_once_per_change() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let _good = NetPod::new("good").on("core", &["10.50.0.4"]).create(&namespace).await;
    let bad = NetPod::new("bad").annotation(STATUS_ANNOTATION, "{").create(&namespace).await;
    let half = r#"[7,{"name":"core","ips":["10.50.0.5","10.50.0.999"]},{"name":["x"]}]"#;
    let _half = NetPod::new("half").annotation(STATUS_ANNOTATION, half).create(&namespace).await;
    // Nobody needs its networks.
    let _other = NetPod::new("other").label("app", "other").annotation(STATUS_ANNOTATION, "{").create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "good"), &ready("10.50.0.5", "half")]).await;
    let events = told(&namespace, 2).await;
    assert!(events[0].starts_with("bad: annotation k8s.v1.cni.cncf.io/network-status is no JSON"), "{events:#?}");
    assert!(
        events[1].contains(r#"entry 0 is 7, not an object; "10.50.0.999" in ips of entry 1 is no address"#),
        "{events:#?}"
    );
    // Anything else about the pod is no reason to tell it again.
    edit_metadata(&bad, json!({"labels": {"more": "labels"}})).await;
    running.terminate().await.expect_code(0);
    let running = scene::start(&namespace).await;
    edit_metadata(&bad, json!({"annotations": {STATUS_ANNOTATION: r#"{"name":"core"}"#}})).await;
    let events = told(&namespace, 3).await;
    assert!(events.iter().any(|event| event.contains("not a list")), "{events:#?}");
    edit_metadata(&bad, json!({"annotations": {STATUS_ANNOTATION: r#"[{"name":"core","ips":["10.50.0.6"]}]"#}})).await;
    sip.endpoints(&[&ready("10.50.0.4", "good"), &ready("10.50.0.5", "half"), &ready("10.50.0.6", "bad")]).await;
    assert_eq!(told(&namespace, 3).await.len(), 3);
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_5_odd_values_that_are_real() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let mut pods = Vec::new();
    let huge: Vec<_> =
        (0..2000).map(|number| format!(r#"{{"name":"n{number}","ips":["10.99.0.1"],"dns":{{}}}}"#)).collect();
    let huge = format!(r#"[{},{{"name":"core","ips":["10.50.0.9"]}}]"#, huge.join(","));
    let own = format!(r#"[{{"name":"{}/core","ips":["10.50.0.8/24"]}}]"#, namespace.name());
    for (name, key, text) in [
        ("old", OLD_STATUS_ANNOTATION, r#"[{"name":"core","ips":["10.50.0.1"]}]"#),
        ("nil", STATUS_ANNOTATION, r#"[{"name":"core","ips":["10.50.0.2"],"gateway":["<nil>"],"mtu":"x","y":null}]"#),
        ("elsewhere", STATUS_ANNOTATION, r#"[{"name":"elsewhere/core","ips":["10.50.0.3"]}]"#),
        ("default", STATUS_ANNOTATION, r#"[{"name":"core","ips":["10.50.0.4"],"default":true}]"#),
        ("none", STATUS_ANNOTATION, r#"[{"name":"core"},{"name":"core","ips":null}]"#),
        ("empty", STATUS_ANNOTATION, ""),
        ("null", STATUS_ANNOTATION, "null"),
        ("own", STATUS_ANNOTATION, &own),
        ("huge", STATUS_ANNOTATION, &huge),
    ] {
        pods.push(NetPod::new(name).annotation(key, text).create(&namespace).await);
    }
    let expected = [("10.50.0.1", "old"), ("10.50.0.2", "nil"), ("10.50.0.8", "own"), ("10.50.0.9", "huge")];
    let expected = expected.map(|(address, pod)| ready(address, pod));
    sip.endpoints(&expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(events(&namespace).await, Vec::<String>::new());
    running.terminate().await.expect_code(0);
}
