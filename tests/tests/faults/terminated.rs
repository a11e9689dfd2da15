//! SIGTERM ends the creator at once, whatever it is doing.

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
    DEADLINE,
    check::{converged, nothing_written},
    steps::Found,
    wire::{Ask, first, nth, through},
};

/// How long it may take.
const AT_ONCE: Duration = Duration::from_secs(1);

async fn terminate(running: Running) -> Outcome {
    let sent = Instant::now();
    running.signal(Signal::Terminate);
    let outcome = running.wait().await.expect_code(143);
    assert!(sent.elapsed() < AT_ONCE, "{:?}", sent.elapsed());
    nothing_written(&outcome);
    outcome
}

async fn terminated_at_every_step(found: Found) {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (number, &(ask, earlier)) in found.steps().iter().enumerate() {
        for (side, action) in [("before", Action::HoldBefore as fn(Gate) -> Action), ("after", Action::HoldAfter)] {
            let pod = found.pod(&namespace, &format!("step-{number}-{side}")).await;
            let proxy = control_plane.proxy();
            let (gate, arrivals) = gate(Verdict::Pass);
            proxy.set_rule(nth(ask, earlier, action(gate)));

            let running = through(&proxy, &pod).await.spawn();
            let held = arrivals.next(DEADLINE).unwrap();
            terminate(running).await;
            held.release(Verdict::Cut);

            let again = Run::creator(&pod).await.run().await;
            converged(&pod, &again).await;
        }
    }
}

#[tokio::test]
async fn sigterm_ends_it_at_any_request_and_the_next_run_completes() {
    terminated_at_every_step(Found::Nothing).await;
}

#[tokio::test]
async fn sigterm_ends_it_while_it_replaces_a_service_and_the_next_run_completes() {
    terminated_at_every_step(Found::EarlierPods).await;
}

#[tokio::test]
async fn sigterm_ends_it_while_no_connection_comes_about() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();

    // In the pause between two tries, …
    proxy.set_new_connections(NewConnections::Refuse).unwrap();
    let running = through(&proxy, &pod).await.spawn();
    eventually(DEADLINE, "it pauses", async || {
        let log = running.stderr();
        if log.matches("trying again").count() >= 5 { Ok(()) } else { Err(log) }
    })
    .await;
    terminate(running).await;

    // … and in the middle of one.
    proxy.set_new_connections(NewConnections::BlackHole).unwrap();
    let running = through(&proxy, &pod).await.spawn();
    catches_sigterm(running.pid()).await;
    terminate(running).await;
}

/// Waits until the program has set up its signals: the kernel says which ones it catches.
async fn catches_sigterm(pid: u32) {
    const SIGTERM: u64 = 1 << (15 - 1);
    eventually(DEADLINE, "SIGTERM is caught", async || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
        let caught = u64::from_str_radix(caught.trim(), 16).map_err(|error| error.to_string())?;
        if caught & SIGTERM == 0 { Err(status) } else { Ok(()) }
    })
    .await;
}

/// The first process of a container has no default action for SIGTERM: without a handler it would wait to be killed.
#[tokio::test]
async fn sigterm_ends_it_as_the_first_process_of_its_container() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    let (gate, arrivals) = gate(Verdict::Pass);
    proxy.set_rule(first(Ask::CreateService, Action::HoldBefore(gate)));
    let creator = cargo::creator().display().to_string();
    let run = through(&proxy, &pod).await.program("/usr/bin/unshare");
    let running = run.args(["--pid", "--fork", "--kill-child", creator.as_str()]).spawn();
    let _held = arrivals.next(DEADLINE).unwrap();

    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let child: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    let inside = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
    let pids = inside.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    assert_eq!(pids.split_whitespace().last(), Some("1"), "its number in its own namespace");
    let sent = Instant::now();
    kill_process(Pid::from_raw(child).unwrap(), rustix::process::Signal::TERM).unwrap();

    let outcome = running.wait().await.expect_code(143);
    assert!(sent.elapsed() < AT_ONCE, "{:?}", sent.elapsed());
    nothing_written(&outcome);
}
