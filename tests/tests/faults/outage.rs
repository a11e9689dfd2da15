//! The apiserver dies and comes back; its store stands still, or dies.

use std::time::Duration;

use cluster_tests::{
    harness::{Component, ControlPlane, Options, Run, Running, Signal, eventually},
    proxy::{Action, Gate, Verdict, gate},
};

use crate::{
    DEADLINE,
    check::{converged, failed, in_time},
    wire::{Ask, first, through},
};

async fn tries_again(running: &Running) {
    eventually(DEADLINE, "it tries again", async || {
        let log = running.stderr();
        if log.contains("trying again") { Ok(()) } else { Err(log) }
    })
    .await;
}

/// Waits until a process stands still.
async fn stopped(pid: u32) {
    eventually(DEADLINE, "it stands still", async || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
        if status.contains("State:\tT") { Ok(()) } else { Err(status) }
    })
    .await;
}

#[tokio::test]
async fn an_outage_in_the_middle_of_a_run_is_survived() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();

    // The apiserver is killed before the creation, or with its answer.
    for (name, side) in [("before", Action::HoldBefore as fn(Gate) -> Action), ("after", Action::HoldAfter)] {
        let pod = namespace.pod(name).create().await;
        let (gate, arrivals) = gate(Verdict::Cut);
        proxy.set_rule(first(Ask::CreateService, side(gate)));
        let running = through(&proxy, &pod).await.spawn();
        let held = arrivals.next(DEADLINE).unwrap();
        control_plane.stop(Component::ApiServer, Signal::Kill).await;
        held.release(Verdict::Cut);
        tries_again(&running).await;
        control_plane.resume(Component::ApiServer).await;
        converged(&pod, &running.wait().await).await;
    }

    // etcd stands still: the apiserver answers nothing, until it goes on.
    let pod = namespace.pod("still").create().await;
    let run = Run::creator(&pod).await.args(["--timeout", "3s"]);
    let etcd = control_plane.process(Component::Etcd).unwrap();
    etcd.signal(Signal::Stop);
    stopped(etcd.pid()).await;
    let outcome = run.run().await;
    etcd.signal(Signal::Continue);
    failed(&outcome, 7, &["gave up at the timeout, which --timeout sets: no answer to ", namespace.name()]);
    in_time(&outcome, Duration::from_secs(3));
    converged(&pod, &Run::creator(&pod).await.run().await).await;

    // etcd dies under a creation.
    let pod = namespace.pod("dead").create().await;
    let (gate, arrivals) = gate(Verdict::Cut);
    proxy.set_rule(first(Ask::CreateService, Action::HoldBefore(gate)));
    let running = through(&proxy, &pod).await.spawn();
    let held = arrivals.next(DEADLINE).unwrap();
    control_plane.stop(Component::Etcd, Signal::Kill).await;
    held.release(Verdict::Pass);
    tries_again(&running).await;
    control_plane.resume(Component::Etcd).await;
    converged(&pod, &running.wait().await).await;
    control_plane.close().await;
}
