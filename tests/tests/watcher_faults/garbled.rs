//! Answers that say something else than they should: half a line, no JSON, errors in the stream, events that come twice,
//! late, or are not true.

use std::{iter, time::Duration};

use bytes::Bytes;
use cluster_tests::{
    harness::{ControlPlane, Pod, Service, all},
    proxy::{Action, Answer, Proxy, Tapped, Taps, tap},
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

/// The watches of one watcher.
struct Watches {
    taps: Taps,
    open: Vec<Tapped>,
}

impl Watches {
    fn new(taps: Taps) -> Self {
        Self { taps, open: Vec::new() }
    }

    /// Takes out the newest watch of this kind that is open. One that was ended is opened anew after a pause: waits for it.
    fn take(&mut self, ask: Ask) -> Tapped {
        self.open.extend(iter::from_fn(|| self.taps.next(Duration::ZERO).ok()));
        self.open.retain(Tapped::is_open);
        loop {
            match self.open.iter().rposition(|watch| ask.is(&watch.seen)) {
                Some(at) => return self.open.remove(at),
                None => self.open.push(self.taps.next(DEADLINE).unwrap()),
            }
        }
    }

    /// Says it on the watch of this kind.
    fn say(&mut self, ask: Ask, said: Said) {
        let watch = self.take(ask);
        match said {
            Said::Open(bytes) => {
                watch.write(bytes);
                self.open.push(watch);
            }
            Said::Ended(bytes) => {
                watch.write(bytes);
                watch.end();
            }
            Said::Broken(bytes) => {
                watch.write(bytes);
                watch.cut();
            }
        }
    }
}

/// Cases that one watcher has to bear: each makes its pauses longer.
const IN_A_ROW: usize = 4;

#[tokio::test]
async fn whatever_a_watch_says_nothing_is_missed_and_nothing_wrong_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 3).await;
    let mut cases: Vec<_> = nonsense().into_iter().chain(lies(&staying.pods[0], &staying.services[0])).collect();
    while !cases.is_empty() {
        let proxy = control_plane.proxy();
        let (tap, taps) = tap();
        proxy.set_rule(always(&Ask::WATCHES, move || Action::Tap(tap.clone())));
        let watcher = through(&proxy, &namespace).await.spawn();
        watching(&watcher).await;
        let mut watches = Watches::new(taps);
        for (case, ask, said) in cases.split_off(cases.len().saturating_sub(IN_A_ROW)) {
            let fleet = Fleet::launch(&namespace, &format!("app-{}", cases.len()), 2).await;
            let before = proxy.requests().len();
            watches.say(ask, said);
            fleet.delete_pods().await;
            let took = fleet.collected(RECOVERED).await;
            let requests = proxy.requests().len() - before;
            println!("{case} ({ask:?}): gone after {took:?}, {requests} requests");
            assert!(requests <= 60, "{case}: {:#?}", &proxy.requests()[before..]);
            staying.assert_untouched().await;
        }
        few_lines(&watcher, 2 + 3 * IN_A_ROW);
        watcher.terminate().await.expect_code(0);
    }
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

/// What may come in place of a pod, from something on the way to the API or from an API in trouble. None of it says that the
/// pod is gone.
fn no_pods() -> Vec<(&'static str, Answer)> {
    let json = |status, text: &'static str| {
        Answer::new(status, text).with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
    };
    vec![
        ("a text 404", Answer::new(StatusCode::NOT_FOUND, "404 page not found")),
        ("a page 404", Answer::new(StatusCode::NOT_FOUND, "<html><h1>404 Not Found</h1></html>")),
        ("a 404 of another API", json(StatusCode::NOT_FOUND, r#"{"error":"no such route","code":404}"#)),
        ("410", Answer::failure(StatusCode::GONE, "Expired", "too old")),
        ("401", Answer::failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")),
        ("403", Answer::failure(StatusCode::FORBIDDEN, "Forbidden", "pods is forbidden: no")),
        ("500", Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "no leader")),
        ("a page", Answer::new(StatusCode::OK, "<html>please log in</html>")),
        ("nothing", json(StatusCode::OK, "")),
        ("an empty object", json(StatusCode::OK, "{}")),
        ("null", json(StatusCode::OK, "null")),
        ("a Status", json(StatusCode::OK, r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#)),
        ("another kind", json(StatusCode::OK, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#)),
        ("a pod without metadata", json(StatusCode::OK, r#"{"kind":"Pod","apiVersion":"v1"}"#)),
    ]
}

#[tokio::test]
async fn whatever_comes_in_place_of_a_pod_a_live_one_keeps_its_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    // In no list of the scan: only a look of its own tells that it lives.
    let pod = namespace.pod("hidden").without_label("product").host_ips(&[]).create().await;
    let service = pod.service().without_owner().headless().create().await;
    let come = async |(case, answer): (&str, Answer)| {
        let proxy = control_plane.proxy();
        proxy.set_rule(always(&[Ask::ReadPod], move || Action::Answer(answer.clone())));
        let watcher = through(&proxy, &namespace).await.args(["--scan-interval", "1s"]).spawn();
        watcher.logged_times(3, "scanned").await;
        assert!(Ask::ReadPod.count(&proxy) > 0, "{case}: {:#?}", proxy.requests());
        assert!(service.current().await.is_some(), "{case}: the Service of a live pod is gone\n{}", watcher.stderr());
        few_lines(&watcher, 8);
        watcher.terminate().await.expect_code(0);
    };
    all(no_pods().into_iter().map(come).collect()).await;
    service.assert_untouched().await;
}
