//! Behaviour 11: what the controller needs, and that nothing of it is needed without it.

use cluster_tests::harness::{ControlPlane, Run, manifests};
use cluster_tests::net_service::{self as scene, NetPod, NetService, ROLE, ready};
use serde_json::json;

#[test]
fn behaviour_11_neither_endpoints_nor_secrets_nor_nodes_and_pods_are_only_read() {
    let rules = manifests::rules(ROLE);
    for rule in &rules {
        let (resources, verbs) = (rule.resources.clone().unwrap_or_default(), &rule.verbs);
        for forbidden in ["endpoints", "secrets", "nodes", "configmaps", "network-attachment-definitions", "*"] {
            assert!(!resources.iter().any(|resource| resource == forbidden), "{rule:?}");
        }
        assert!(!verbs.iter().any(|verb| verb == "*" || verb == "deletecollection"), "{rule:?}");
        if resources.iter().any(|resource| resource == "pods" || resource == "netservices") {
            assert!(verbs.iter().all(|verb| ["get", "list", "watch"].contains(&&**verb)), "{rule:?}");
        }
    }
}

/// All tests here run under the Role of one namespace; this one looks at what it is asked beyond that.
#[tokio::test]
async fn behaviour_11_it_asks_for_nothing_but_what_the_role_has() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
    let requests = namespace.requests().await;
    assert!(requests.len() > 10);
    let refused: Vec<_> = requests.iter().filter(|event| event.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(requests.iter().all(|event| event.namespace == namespace.name()), "nothing of all namespaces");
}

#[tokio::test]
async fn behaviour_11_without_it_the_watcher_asks_for_nothing_of_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = Run::watcher(&namespace).await.spawn();
    running.logged("scanned", |_| true).await;
    running.terminate().await.expect_code(0);
    let asked: std::collections::BTreeSet<_> =
        namespace.requests().await.into_iter().map(|event| event.resource).collect();
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["pods", "services"]);
}
