//! Answers that say something else than they should: half a line, no JSON, errors in the stream, events that come twice,
//! late, or are not true.

use std::time::Duration;

use bytes::Bytes;
use cluster_tests::{
    harness::{ControlPlane, Pod, Service},
    proxy::{Action, Answer, Proxy, Tapped, tap},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::{few_lines, watching},
    wire::{Ask, always, through, times},
};

/// What is written into a watch, and whether that ends it.
#[derive(Debug)]
enum Said {
    /// It goes on.
    Open(Bytes),
    /// It ends there.
    Ended(Bytes),
    /// Its connection breaks there.
    Broken(Bytes),
}

fn line(event: &Value) -> Bytes {
    format!("{event}\n").into()
}

fn metadata_only(kind: &str, metadata: &Value) -> Value {
    json!({"type": kind, "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}})
}

fn error(code: u16, reason: &str) -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "etcdserver: no leader", "reason": reason, "code": code,
    });
    line(&json!({"type": "ERROR", "object": status}))
}

/// A live pod, and what can be said of it and its Service that is not true.
fn lies(pod: &Pod<'_>, service: &Service<'_>) -> Vec<(&'static str, Ask, Said)> {
    let of = |kind, value: Value| line(&metadata_only(kind, &value["metadata"]));
    let pod = serde_json::to_value(pod.object()).unwrap();
    let service = serde_json::to_value(service.object()).unwrap();
    let mut replaced = pod.clone();
    replaced["metadata"]["uid"] = "6f9f6a0e-8f4e-4e5c-9d0d-3b1b6b0a4b11".into();
    vec![
        ("a live pod is said to be gone", Ask::WatchPods, Said::Open(of("DELETED", pod.clone()))),
        ("a live pod is said to be replaced", Ask::WatchPods, Said::Open(of("ADDED", replaced.clone()))),
        ("a pod that never was is said to be gone", Ask::WatchPods, Said::Open(of("DELETED", replaced))),
        ("a live pod is said to be new", Ask::WatchPods, Said::Open(of("ADDED", pod))),
        ("a live pod's Service is said to be gone", Ask::WatchServices, Said::Open(of("DELETED", service.clone()))),
        ("it is said to be new", Ask::WatchServices, Said::Open(of("ADDED", service))),
    ]
}

fn nonsense() -> Vec<(&'static str, Ask, Said)> {
    let half = || Bytes::from_static(br#"{"type":"DELETED","object":{"kind":"PartialObj"#);
    let mut cases = Vec::new();
    for ask in Ask::WATCHES {
        cases.extend([
            ("half a line, and the end", ask, Said::Ended(half())),
            ("half a line, and no connection", ask, Said::Broken(half())),
            ("nothing, and the end", ask, Said::Ended(Bytes::new())),
            ("no JSON", ask, Said::Open(Bytes::from_static(b"<html>504 Gateway Time-out</html>\n"))),
            ("JSON that is no event", ask, Said::Open(Bytes::from_static(b"[1, 2]\n"))),
            ("an event without an object", ask, Said::Open(Bytes::from_static(b"{\"type\":\"ADDED\"}\n"))),
            ("an empty line", ask, Said::Open(Bytes::from_static(b"\n"))),
            ("bytes that are no text", ask, Said::Open(Bytes::from_static(b"\xff\xfe\x00\n"))),
            ("a line without end", ask, Said::Open(vec![b' '; 9 * 1024 * 1024].into())),
            ("an event of a kind to come", ask, Said::Open(line(&metadata_only("RENAMED", &json!({"name": "x"}))))),
            ("a bookmark without a version", ask, Said::Open(line(&metadata_only("BOOKMARK", &json!({}))))),
            ("an error 500", ask, Said::Open(error(500, "InternalError"))),
            ("an error 410", ask, Said::Open(error(410, "Expired"))),
            ("an error 403", ask, Said::Open(error(403, "Forbidden"))),
            ("an error without a code", ask, Said::Open(line(&json!({"type": "ERROR", "object": {"kind": "Status"}})))),
        ]);
    }
    cases
}

/// Says it on the watch of this kind that is open now.
fn say(watches: &mut Vec<Tapped>, ask: Ask, said: Said) {
    let at = watches.iter().rposition(|watch| ask.is(&watch.seen)).unwrap();
    match said {
        Said::Open(bytes) => watches[at].write(bytes),
        Said::Ended(bytes) => {
            let watch = watches.remove(at);
            watch.write(bytes);
            watch.end();
        }
        Said::Broken(bytes) => {
            let watch = watches.remove(at);
            watch.write(bytes);
            watch.cut();
        }
    }
}

#[tokio::test]
async fn whatever_a_watch_says_nothing_is_missed_and_nothing_wrong_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 3).await;
    let proxy = control_plane.proxy();
    let (tap, taps) = tap();
    proxy.set_rule(always(&Ask::WATCHES, move || Action::Tap(tap.clone())));
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;

    let mut watches = vec![taps.next(DEADLINE).unwrap(), taps.next(DEADLINE).unwrap()];
    let cases: Vec<_> = nonsense().into_iter().chain(lies(&staying.pods[0], &staying.services[0])).collect();
    let count = cases.len();
    for (number, (case, ask, said)) in cases.into_iter().enumerate() {
        let fleet = Fleet::launch(&namespace, &format!("app-{number}"), 2).await;
        let before = proxy.requests().len();
        say(&mut watches, ask, said);
        fleet.delete_pods().await;
        let took = fleet.collected(RECOVERED).await;
        println!("{case} ({ask:?}): gone after {took:?}, {} requests", proxy.requests().len() - before);
        while let Ok(watch) = taps.next(Duration::ZERO) {
            watches.push(watch);
        }
        assert!(proxy.requests().len() - before <= 60, "{case}: {:#?}", &proxy.requests()[before..]);
        staying.assert_untouched().await;
    }
    few_lines(&watcher, 2 + 3 * count);
    watcher.terminate().await.expect_code(0);
}

/// What a real event loses when the connection breaks in its middle comes again.
#[tokio::test]
async fn an_event_that_breaks_off_is_not_lost() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 3).await;
    let fleet = Fleet::launch(&namespace, "app", 20).await;
    let proxy = control_plane.proxy();
    proxy.set_rule(times(&Ask::WATCHES, 8, || Action::Truncate));
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;
    fleet.delete_pods().await;
    let took = fleet.collected(RECOVERED).await;
    println!("events that break off: gone after {took:?}");
    // Each is told when it breaks and when it is back.
    few_lines(&watcher, 2 + 8 * 2 + 4);
    staying.assert_untouched().await;
}

#[tokio::test]
async fn events_in_small_pieces_twice_and_late_are_understood() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for (name, action) in [("pieces", (|| Action::InPieces(7)) as fn() -> Action), ("replay", || Action::Replay)] {
        let namespace = control_plane.namespace().await;
        let proxy = control_plane.proxy();
        if name == "pieces" {
            proxy.set_rule(move |_| action());
        } else {
            proxy.set_rule(always(&Ask::WATCHES, action));
        }
        let staying = Fleet::launch(&namespace, "stays", 3).await;
        let watcher = through(&proxy, &namespace).await.spawn();
        watching(&watcher).await;
        for round in 0..5 {
            let fleet = Fleet::launch(&namespace, &format!("app-{round}"), 5).await;
            fleet.delete_pods().await;
            fleet.collected(RECOVERED).await;
        }
        // The same names again: what is said late of the earlier pods is nothing to the later ones.
        let again = Fleet::launch(&namespace, "app-0", 5).await;
        let fleet = Fleet::launch(&namespace, "last", 5).await;
        fleet.delete_pods().await;
        fleet.collected(RECOVERED).await;
        again.assert_untouched().await;
        staying.assert_untouched().await;
        few_lines(&watcher, 2);
    }
}

/// An answer in place of a list.
fn answers() -> Vec<(&'static str, Action)> {
    let json = |text: &str| {
        let body = Bytes::copy_from_slice(text.as_bytes());
        Action::Answer(
            Answer::new(StatusCode::OK, body).with(CONTENT_TYPE, HeaderValue::from_static("application/json")),
        )
    };
    vec![
        ("no JSON", json("<html>please log in</html>")),
        ("nothing", json("")),
        ("half", json(r#"{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},"items":[{"met"#)),
        ("JSON that is no list", json(r#"["a"]"#)),
        ("a Status with 200", json(r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#)),
        ("500", Action::Answer(Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "etcd: no leader"))),
        ("503", Action::Answer(Answer::new(StatusCode::SERVICE_UNAVAILABLE, "<h1>503</h1>"))),
        ("broken off", Action::Truncate),
        ("lost", Action::CutAfter),
    ]
}

/// How many lists a case spoils: those that a start makes, and the first that are made in place of them.
const SPOILED: usize = 5;

fn spoil(proxy: &Proxy, number: usize) {
    proxy.set_rule(times(&Ask::LISTS, SPOILED, move || answers().swap_remove(number).1));
}

#[tokio::test]
async fn whatever_a_list_is_answered_with_it_is_made_again_and_nothing_wrong_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 3).await;
    for (number, (case, _)) in answers().into_iter().enumerate() {
        let fleet = Fleet::launch(&namespace, &format!("app-{number}"), 5).await;
        fleet.delete_pods().await;
        let proxy = control_plane.proxy();
        spoil(&proxy, number);
        let watcher = through(&proxy, &namespace).await.spawn();
        let took = fleet.collected(RECOVERED).await;
        watching(&watcher).await;
        let requests = proxy.requests().len();
        println!("lists answered with {case}: gone after {took:?}, {requests} requests");
        assert!(requests <= 60, "{case}: {:#?}", proxy.requests());
        few_lines(&watcher, 12);
        staying.assert_untouched().await;
        watcher.terminate().await.expect_code(0);
    }
}
