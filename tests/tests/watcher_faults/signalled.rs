//! SIGTERM and SIGINT end the watcher at once, whatever it is doing.

use std::time::{Duration, Instant};

use cluster_tests::{
    harness::{
        ControlPlane, Outcome, Run, Running, Signal, cargo, eventually,
        preflight::{self, Level},
    },
    proxy::{Action, Gate, NewConnections, Verdict, gate},
};
use rustix::process::{Pid, kill_process};

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::watching,
    wire::{Ask, first, through},
};

/// How long it may take.
const AT_ONCE: Duration = Duration::from_secs(1);

const SIGNALS: [(Signal, &str); 2] = [(Signal::Terminate, "ended by SIGTERM"), (Signal::Interrupt, "ended by SIGINT")];

/// Sends the signal, and sees the program end well, in time, and say why.
async fn ends(running: Running, (signal, says): (Signal, &str)) -> Outcome {
    let sent = Instant::now();
    running.signal(signal);
    let outcome = running.wait().await.expect_code(0);
    assert!(sent.elapsed() < AT_ONCE, "{:?}\n{}", sent.elapsed(), outcome.stderr);
    assert_eq!(outcome.log_of(says).len(), 1, "{}", outcome.stderr);
    outcome
}

#[tokio::test]
async fn it_ends_at_any_request_and_begins_no_deletion_any_more() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let sides = [("before", Action::HoldBefore as fn(Gate) -> Action), ("after", Action::HoldAfter)];
    let asks = [Ask::ListPods, Ask::ListServices, Ask::WatchPods, Ask::ReadPod, Ask::ReadService, Ask::DeleteService];
    for (number, ask) in asks.into_iter().enumerate() {
        for (side, action) in sides {
            let signal = SIGNALS[number % 2];
            let namespace = control_plane.namespace().await;
            let fleet = Fleet::launch(&namespace, "app", 20).await;
            fleet.delete_pods().await;
            let proxy = control_plane.proxy();
            let (gate, arrivals) = gate(Verdict::Pass);
            proxy.set_rule(first(ask, action(gate)));
            let watcher = through(&proxy, &namespace).await.spawn();
            let held = arrivals.next(DEADLINE).unwrap();

            ends(watcher, signal).await;
            let sent = Ask::DeleteService.count(&proxy);
            // What is under way goes on without it: a deletion is carried out whole, or never gets there.
            let index = held.seen.index;
            held.release(Verdict::Pass);
            proxy.wait_until(DEADLINE, |requests| requests[index].status.is_some()).unwrap();
            assert_eq!(Ask::DeleteService.count(&proxy), sent, "{ask:?} {side}");

            let next = Run::watcher(&namespace).await.spawn();
            fleet.collected(RECOVERED).await;
            fleet.assert_deleted_once_each().await;
            next.terminate().await.expect_code(0);
        }
    }
}

/// Many deletions are due when the signal comes: those that have not begun do not begin.
#[tokio::test]
async fn no_deletion_begins_after_the_signal() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let fleet = Fleet::launch(&namespace, "app", 200).await;
    fleet.delete_pods().await;
    let proxy = control_plane.proxy();
    let (gate, arrivals) = gate(Verdict::Pass);
    proxy.set_rule(move |seen| match Ask::DeleteService.is(seen) {
        true => Action::HoldAfter(gate.clone()),
        false => Action::Pass,
    });
    let watcher = through(&proxy, &namespace).await.spawn();
    // As many as it does in parallel are under way, and each waits for its answer.
    let first = arrivals.next(DEADLINE).unwrap();
    let mut under_way = vec![first];
    while let Ok(next) = arrivals.next(Duration::from_secs(1)) {
        under_way.push(next);
    }
    println!("{} deletions in parallel", under_way.len());
    let sent = Instant::now();
    watcher.signal(Signal::Terminate);
    under_way.into_iter().for_each(|held| held.release(Verdict::Pass));
    let outcome = watcher.wait().await.expect_code(0);
    assert!(sent.elapsed() < AT_ONCE, "{:?}", sent.elapsed());
    let begun = Ask::DeleteService.count(&proxy);
    assert!(begun < 150, "{begun} deletions were begun\n{}", outcome.stderr);
    assert_eq!(fleet.left().await.len(), 200 - begun, "what was begun is done");
}

#[tokio::test]
async fn it_ends_while_it_waits() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for signal in SIGNALS {
        // For something to happen.
        let watcher = Run::watcher(&namespace).await.listening().spawn();
        watching(&watcher).await;
        assert_eq!(watcher.get("/livez").await.status, 200);
        ends(watcher, signal).await;

        // For an API that refuses connections, or accepts them and says nothing, …
        for mode in [NewConnections::Refuse, NewConnections::BlackHole] {
            let proxy = control_plane.proxy();
            proxy.set_new_connections(mode).unwrap();
            let watcher = through(&proxy, &namespace).await.spawn();
            catches(&watcher).await;
            ends(watcher, signal).await;
        }

        // … or falls silent while it works.
        let proxy = control_plane.proxy();
        let watcher = through(&proxy, &namespace).await.spawn();
        watching(&watcher).await;
        proxy.freeze_connections();
        ends(watcher, signal).await;
    }
}

/// Waits until the program has set up its signals: the kernel says which ones it catches.
async fn catches(running: &Running) {
    const SIGTERM: u64 = 1 << (15 - 1);
    const SIGINT: u64 = 1 << (2 - 1);
    let pid = running.pid();
    eventually(DEADLINE, "its signals are caught", async || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
        let caught = u64::from_str_radix(caught.trim(), 16).map_err(|error| error.to_string())?;
        if caught & SIGTERM == 0 || caught & SIGINT == 0 { Err(status) } else { Ok(()) }
    })
    .await;
}

/// The first signal asks, the second insists. The first leaves a deletion that is under way a moment to be answered; that
/// moment is when the second has to come, which a busy machine may miss.
#[tokio::test]
async fn a_second_signal_ends_it_on_the_spot() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut codes = Vec::new();
    for number in 0..10 {
        let fleet = Fleet::launch(&namespace, &format!("app-{number}"), 1).await;
        fleet.delete_pods().await;
        let proxy = control_plane.proxy();
        let (gate, arrivals) = gate(Verdict::Pass);
        proxy.set_rule(first(Ask::DeleteService, Action::HoldAfter(gate)));
        let watcher = through(&proxy, &namespace).await.spawn();
        let _held = arrivals.next(DEADLINE).unwrap();
        watcher.signal(Signal::Terminate);
        eventually(DEADLINE, "it has noticed the first", async || {
            let log = watcher.stderr();
            if log.contains("ended by SIGTERM") { Ok(()) } else { Err(log) }
        })
        .await;
        let insisted = Instant::now();
        watcher.signal(Signal::Terminate);
        let outcome = watcher.wait().await;
        let took = insisted.elapsed();
        codes.push(outcome.code());
        if outcome.code() == Some(143) {
            println!("a second signal: ended after {took:?}");
            assert!(took < AT_ONCE / 2, "{took:?}");
            return;
        }
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    }
    panic!("the second signal never came in time: {codes:?}");
}

/// The first process of a container has no default action for signals: without a handler it would wait to be killed.
#[tokio::test]
async fn it_ends_as_the_first_process_of_its_container() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let program = cargo::watcher().display().to_string();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let run = Run::watcher(&namespace).await.program("/usr/bin/unshare");
        let running = run.args(["--pid", "--fork", "--kill-child", program.as_str()]).spawn();
        watching(&running).await;
        let children = format!("/proc/{0}/task/{0}/children", running.pid());
        let child: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        let inside = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        let pids = inside.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
        assert_eq!(pids.split_whitespace().last(), Some("1"), "its number in its own namespace");
        let sent = Instant::now();
        kill_process(Pid::from_raw(child).unwrap(), signal).unwrap();
        running.wait().await.expect_code(0);
        assert!(sent.elapsed() < AT_ONCE, "{:?}", sent.elapsed());
    }
}
