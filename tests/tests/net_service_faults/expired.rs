//! Resource versions that are too old: in the stream, or as the answer to a watch.

use std::time::Duration;

use cluster_tests::{
    harness::Namespace,
    proxy::{Action, Answer, Recorded, tap, times},
};
use http::StatusCode;

use crate::{
    DEADLINE, RECOVERED,
    log::few_complaints,
    scene::{Scene, namespace, watching},
    wire::{Ask, through},
};

const TOO_OLD: &str = "too old resource version: 577 (601)";

/// What is watched: NetServices of both groups, pods, Services, slices.
const WATCHES: usize = 5;

/// How long an answer that stays the same is borne.
const WHILE: Duration = Duration::from_secs(12);

/// As kube-apiserver answers a watch whose version etcd no longer has: before it has begun to stream.
fn plain() -> Action {
    Action::Answer(Answer::failure(StatusCode::GONE, "Expired", TOO_OLD))
}

/// As it does where its own cache no longer has the version: an event.
fn event() -> Action {
    let status = Answer::failure(StatusCode::GONE, "Expired", TOO_OLD).body;
    let line = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", String::from_utf8_lossy(&status));
    Action::Answer(Answer::new(StatusCode::OK, line))
}

#[tokio::test]
async fn watches_that_expire_are_replaced_by_lists_and_nothing_is_missed() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;
    let mut scene = Scene::set(&namespace, 4).await;
    scene.right(RECOVERED).await;
    for (name, action) in [("plain", plain as fn() -> Action), ("event", event)] {
        proxy.set_rule(times(|seen| Ask::Watch.is(seen), 2 * WATCHES, action));
        let lists = Ask::List.count(&proxy);
        proxy.cut_connections();
        scene.shift().await;
        println!("410 {name}: right after {:?}", scene.right(RECOVERED).await);
        let is_list = |asked: &&Recorded| Ask::List.is(&asked.seen);
        proxy.wait_until(DEADLINE, |requests| requests.iter().filter(is_list).count() >= lists + WATCHES).unwrap();
    }
    few_complaints(&watcher, 2 * WATCHES + 5);
    watcher.terminate().await.expect_code(0);
}

/// An API that finds every version too old, for a while: it is asked ever more slowly, and nothing is written meanwhile.
#[tokio::test]
async fn a_version_that_is_always_too_old_makes_no_busy_loop() {
    let Some(first) = namespace().await else { return };
    let Some(second) = namespace().await else { return };
    let stubborn = async |namespace: &Namespace<'_>, action: fn() -> Action| {
        let proxy = namespace.control_plane().proxy();
        let mut scene = Scene::set(namespace, 2).await;
        proxy.set_rule(times(|seen| Ask::Watch.is(seen), usize::MAX, action));
        let watcher = through(&proxy, namespace).await.spawn();
        scene.right(RECOVERED).await;
        let writes = scene.writes().await;
        tokio::time::sleep(WHILE).await;
        let (watches, lists) = (Ask::Watch.count(&proxy), Ask::List.count(&proxy));
        println!("410 for ever: {watches} watches and {lists} lists");
        assert!(watches <= 20 * WATCHES && lists <= 20 * WATCHES, "{:#?}", proxy.requests());
        assert_eq!(scene.writes().await, writes);
        proxy.set_rule(|_| Action::Pass);
        scene.shift().await;
        scene.right(RECOVERED).await;
        few_complaints(&watcher, 2 * WATCHES);
        watcher.terminate().await.expect_code(0);
    };
    tokio::join!(stubborn(&first, plain), stubborn(&second, event));
}

/// Of each kind as the API writes it, once a minute: what is empty may be null.
const BOOKMARKS: [(&str, &str); 4] = [
    (
        "/netservices?",
        r#"{"kind":"NetService","apiVersion":"netservice.io/v1alpha1","metadata":{"resourceVersion":"7"}}"#,
    ),
    (
        "/pods?",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"},"spec":{"containers":null},"status":{}}"#,
    ),
    (
        "/services?",
        r#"{"kind":"Service","apiVersion":"v1","metadata":{"resourceVersion":"7"},"spec":{},"status":{"loadBalancer":{}}}"#,
    ),
    (
        "/endpointslices?",
        r#"{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"7"},"addressType":"","endpoints":null,"ports":null}"#,
    ),
];

#[tokio::test]
async fn a_bookmark_ends_no_watch() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let (tap, taps) = tap();
    proxy.set_rule(times(|seen| Ask::Watch.is(seen), usize::MAX, move || Action::Tap(tap.clone())));
    let mut scene = Scene::set(&namespace, 1).await;
    let watcher = through(&proxy, &namespace).await.spawn();
    scene.right(RECOVERED).await;
    let watches: Vec<_> = (0..WATCHES).map(|_| taps.next(DEADLINE).unwrap()).collect();
    for watch in &watches {
        let is_of = |(path, _): &&(&str, &str)| watch.seen.path_and_query.contains(path);
        let (_, object) = BOOKMARKS.iter().find(is_of).unwrap();
        watch.write(format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n"));
    }
    scene.shift().await;
    scene.right(RECOVERED).await;
    assert_eq!(Ask::Watch.count(&proxy), WATCHES, "{}", watcher.stderr());
    few_complaints(&watcher, 0);
    watcher.terminate().await.expect_code(0);
}
