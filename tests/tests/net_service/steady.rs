//! Behaviour 10: what is as it should be is not written again, and another one takes over.

use std::time::{Duration, Instant};

use cluster_tests::harness::{Event, Namespace, Running, Signal, eventually};
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, holder, ready};
use serde_json::json;

/// The controller's requests that change something.
async fn writes(namespace: &Namespace<'_>) -> Vec<Event> {
    let requests = namespace.requests().await;
    requests.into_iter().filter(|event| !["get", "list", "watch"].contains(&&*event.verb)).collect()
}

fn not_of_the_lease(writes: &[Event]) -> Vec<String> {
    let others = writes.iter().filter(|event| event.resource != "leases");
    others
        .map(|event| format!("{} {}/{} {} {}", event.verb, event.resource, event.subresource, event.name, event.code))
        .collect()
}

/// Waits until the Lease was renewed once more: a time in which nothing else had to happen.
async fn renewed(namespace: &Namespace<'_>) {
    let count = async || writes(namespace).await.iter().filter(|event| event.resource == "leases").count();
    let before = count().await;
    eventually(PATIENCE, "the Lease is renewed", async || if count().await > before { Ok(()) } else { Err("not yet") })
        .await;
}

#[tokio::test]
async fn behaviour_10_neither_time_nor_a_restart_writes_anything() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let spec =
        json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": "NodePort", "ports": [{"port": 80}]});
    let sip = NetService::create(&namespace, "sip", spec).await;
    let headless =
        NetService::create(&namespace, "headless", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let missing =
        NetService::create(&namespace, "missing", json!({"netAttachDef": "nope", "selector": {"app": "utils"}})).await;
    let _foreign = namespace.foreign_service("taken").create().await;
    let taken = NetService::create(&namespace, "taken", json!({})).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4", "fd00::4"]).create(&namespace).await;
    let _starting = NetPod::new("b").on("core", &["10.50.0.5"]).starting(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00::4", "a"), "10.50.0.5 b"]).await;
    headless.endpoints(&[&ready("10.50.0.4", "a"), &ready("fd00::4", "a"), "10.50.0.5 b"]).await;
    missing.told("NetworkNotFound").await;
    taken.told("NameConflict").await;
    sip.told("Reconciled").await;
    headless.told("Reconciled").await;
    renewed(&namespace).await;
    let before = writes(&namespace).await.len();
    renewed(&namespace).await;
    running.terminate().await.expect_code(0);
    let again = scene::start(&namespace).await;
    renewed(&namespace).await;
    let since = writes(&namespace).await.split_off(before);
    assert_eq!(not_of_the_lease(&since), Vec::<String>::new());
    assert!(since.len() >= 3, "a renewal, giving back, taking");
    again.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_10_a_few_writes_make_many_endpoints() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let mut pods = Vec::new();
    for number in 0..20 {
        let address = format!("10.50.0.{number}");
        pods.push(NetPod::new(&format!("p{number}")).on("core", &[&address]).create(&namespace).await);
    }
    let before = writes(&namespace).await.len();
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let all: Vec<_> = (0..20).map(|number| ready(&format!("10.50.0.{number}"), format!("p{number}"))).collect();
    sip.endpoints(&all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    sip.told("Reconciled").await;
    let since = writes(&namespace).await.split_off(before);
    let mut since = not_of_the_lease(&since);
    since.sort();
    assert_eq!(since.len(), 3, "Service, slice, status: {since:#?}");
    running.terminate().await.expect_code(0);
}

/// Of two controllers the one that leads, and the one that stands by.
async fn two(namespace: &Namespace<'_>) -> (Running, Running) {
    let first = scene::controller(namespace).await.env("HOSTNAME", "first").listening().spawn();
    first.logged("watching NetServices", |_| true).await;
    let second = scene::controller(namespace).await.env("HOSTNAME", "second").listening().spawn();
    let ready = second.get("/readyz").await.body;
    assert_eq!(ready, "[+]net-service standing by ok\nready\n");
    assert!(first.get("/readyz").await.body.contains("[+]net-service pods watch ok\n"));
    assert!(holder(namespace).await.starts_with("first_"));
    (first, second)
}

#[tokio::test]
async fn behaviour_10_when_the_leader_is_killed_another_one_leads_within_20_seconds() {
    let Some(namespace) = scene::namespace().await else { return };
    let (first, second) = two(&namespace).await;
    let sip =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "core", "selector": {"app": "utils"}})).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    assert!(second.log_of("watching NetServices").is_empty(), "it only stands by");
    let killed = Instant::now();
    first.signal(Signal::Kill);
    let _pod = NetPod::new("b").on("core", &["10.50.0.5"]).create(&namespace).await;
    sip.endpoints_within(Duration::from_secs(20), &[&ready("10.50.0.4", "a"), &ready("10.50.0.5", "b")]).await;
    assert!(killed.elapsed() < Duration::from_secs(20));
    assert!(holder(&namespace).await.starts_with("second_"));
    second.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_10_a_leader_that_ends_in_order_gives_the_lease_back() {
    let Some(namespace) = scene::namespace().await else { return };
    let (first, second) = two(&namespace).await;
    let ended = Instant::now();
    first.terminate().await.expect_code(0);
    second.logged("watching NetServices", |_| true).await;
    assert!(ended.elapsed() < Duration::from_secs(8), "{:?}: nobody waits until it has run out", ended.elapsed());
    second.terminate().await.expect_code(0);
    assert_eq!(holder(&namespace).await, "");
}
