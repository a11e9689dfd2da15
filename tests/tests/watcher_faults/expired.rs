//! Resource versions that are too old: in the stream, as the answer to a watch, in the middle of a list.

use std::time::{Duration, Instant};

use cluster_tests::{
    harness::{Component, ControlPlane, Options, Signal, eventually},
    proxy::{Action, Answer, Verdict, gate},
};
use http::StatusCode;

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::{few_lines, watching},
    wire::{Ask, always, through, times},
};

const TOO_OLD: &str = "too old resource version: 577 (601)";

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

/// How long an answer that stays the same is borne.
const WHILE: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_version_that_is_too_old_a_few_times_is_replaced_by_a_list() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (name, action) in [("plain", plain as fn() -> Action), ("event", event)] {
        let staying = Fleet::launch(&namespace, &format!("{name}-stays"), 5).await;
        let fleet = Fleet::launch(&namespace, name, 20).await;
        let proxy = control_plane.proxy();
        let watcher = through(&proxy, &namespace).await.spawn();
        watching(&watcher).await;

        proxy.set_rule(times(&Ask::WATCHES, 6, action));
        proxy.cut_connections();
        fleet.delete_pods().await;
        let took = fleet.collected(RECOVERED).await;
        println!("410 {name}, several times: gone after {took:?}");

        // A version that is too old is not asked for again: there is a list before each watch.
        let asked: Vec<_> = proxy.requests().into_iter().filter(|request| Ask::WatchPods.is(&request.seen)).collect();
        let too_old: Vec<_> = asked.iter().map(|request| request.seen.path_and_query.as_str()).collect();
        assert!(Ask::ListPods.count(&proxy) + Ask::ListServices.count(&proxy) >= 6, "{too_old:#?}");
        few_lines(&watcher, 10);
        staying.assert_untouched().await;
        watcher.terminate().await.expect_code(0);
    }
}

/// An API that finds every version too old, for a while: it is asked ever more slowly, and the scan still works.
pub(crate) async fn a_version_that_is_always_too_old_makes_no_busy_loop(control_plane: &ControlPlane) {
    let stubborn = async |name: &str, action: fn() -> Action| {
        let namespace = control_plane.namespace().await;
        let fleet = Fleet::launch(&namespace, name, 20).await;
        let proxy = control_plane.proxy();
        proxy.set_rule(always(&Ask::WATCHES, action));
        let watcher = through(&proxy, &namespace).await.args(["--scan-interval", "2s"]).spawn();
        watching(&watcher).await;
        fleet.delete_pods().await;
        fleet.collected(RECOVERED).await;

        tokio::time::sleep(WHILE).await;
        for ask in Ask::WATCHES {
            let count = ask.count(&proxy);
            println!("410 {name} for ever: {count} of {ask:?} in {WHILE:?}");
            assert!((2..=20).contains(&count), "{ask:?}: {count}");
        }
        few_lines(&watcher, 10);

        let fleet = Fleet::launch(&namespace, &format!("{name}-after"), 20).await;
        proxy.set_rule(|_| Action::Pass);
        eventually(RECOVERED, "both watches are opened", async || {
            let is_open = |ask: Ask| {
                let of = proxy.requests().into_iter().rev().find(|request| ask.is(&request.seen));
                of.is_some_and(|request| request.status == Some(StatusCode::OK))
            };
            if Ask::WATCHES.into_iter().all(is_open) { Ok(()) } else { Err(format!("{:#?}", proxy.requests())) }
        })
        .await;
        fleet.delete_pods().await;
        fleet.collected(RECOVERED).await;
    };
    tokio::join!(stubborn("plain", plain), stubborn("event", event));
}

/// The second page of a list is asked for when etcd has compacted its version away and the apiserver that is asked never
/// had it in its own cache.
#[tokio::test]
async fn a_list_whose_rest_is_compacted_away_is_begun_anew() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 280).await;
    let fleet = Fleet::launch(&namespace, "app", 30).await;
    fleet.delete_pods().await;

    let proxy = control_plane.proxy();
    // Each list that the watcher makes at its start: the Services that are watched, the pods, and those of the scan.
    // Services: for the watch, and for the scan. Pods: for the watch; the scan's are the same again.
    for (kind, earlier) in [("/services?", 0), ("/services?", 1), ("/pods?", 0)] {
        let (gate, arrivals) = gate(Verdict::Pass);
        let mut skip = earlier;
        let mut gate = Some(gate);
        proxy.set_rule(move |seen| {
            if !(seen.path_and_query.contains(kind) && seen.path_and_query.contains("continue=")) {
                return Action::Pass;
            }
            if skip > 0 {
                skip -= 1;
                return Action::Pass;
            }
            gate.take().map_or(Action::Pass, Action::HoldBefore)
        });
        let watcher = through(&proxy, &namespace).await.spawn();
        let held = arrivals.next(DEADLINE).unwrap();
        // Something newer than the list, so that its version is not etcd's newest.
        namespace.foreign_service(&format!("newer-{}", held.seen.index)).headless().create().await;
        control_plane.compact().await;
        control_plane.stop(Component::ApiServer, Signal::Kill).await;
        control_plane.resume(Component::ApiServer).await;
        let index = held.seen.index;
        held.release(Verdict::Pass);

        let requests = proxy.wait_until(DEADLINE, |requests| requests[index].status.is_some()).unwrap();
        assert_eq!(requests[index].status, Some(StatusCode::GONE), "{:?}", requests[index]);
        watching(&watcher).await;
        fleet.collected(RECOVERED).await;
        few_lines(&watcher, 12);
        watcher.terminate().await.expect_code(0);
    }
    staying.assert_untouched().await;
    control_plane.close().await;
}

/// A watch is asked for at an apiserver that has just started, which knows no version before its start, and whose store has
/// forgotten them: it answers with an ERROR event.
#[tokio::test]
async fn an_apiserver_that_starts_anew_knows_no_earlier_version() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let fleet = Fleet::launch(&namespace, "app", 100).await;
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, &namespace).await.listening().spawn();
    watching(&watcher).await;

    let (gate, arrivals) = gate(Verdict::Pass);
    proxy.set_rule(times(&Ask::WATCHES, 2, move || Action::HoldBefore(gate.clone())));
    proxy.cut_connections();
    let held = [arrivals.next(DEADLINE).unwrap(), arrivals.next(DEADLINE).unwrap()];
    fleet.delete_pods().await;
    namespace.foreign_service("newer").headless().create().await;
    control_plane.compact().await;
    control_plane.stop(Component::ApiServer, Signal::Kill).await;
    control_plane.resume(Component::ApiServer).await;
    let resumed = Instant::now();
    held.into_iter().for_each(|held| held.release(Verdict::Pass));
    fleet.collected(RECOVERED).await;
    println!("versions forgotten: gone {:?} after the apiserver is back", resumed.elapsed());

    let metrics = watcher.get("/metrics").await.body;
    for resource in ["pods", "services"] {
        let expired = metrics.lines().find(|line| {
            ["watch_restarts_total{", "cause=\"expired\"", resource].iter().all(|part| line.contains(part))
        });
        assert!(expired.is_some_and(|line| !line.ends_with(" 0")), "{resource}:\n{metrics}");
    }
    few_lines(&watcher, 12);
    staying.assert_untouched().await;
    assert!(fleet.deletions_in_vain().await.is_empty());
    control_plane.close().await;
}
