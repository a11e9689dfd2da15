//! No connection comes about: nothing listens, handshakes are cut, packets vanish.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Running, eventually},
    proxy::NewConnections,
};

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, services},
    wire::through,
};

/// Waits until the run has tried this often.
async fn tried(running: &Running, times: usize) {
    eventually(DEADLINE, &format!("{times} tries have failed"), async || {
        let log = running.stderr();
        if log.matches("trying again").count() >= times { Ok(()) } else { Err(log) }
    })
    .await;
}

#[tokio::test]
async fn an_api_that_comes_up_late_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (name, mode) in [("refused", NewConnections::Refuse), ("handshake", NewConnections::CutHandshake)] {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_new_connections(mode).unwrap();

        let running = through(&proxy, &pod).await.spawn();
        tried(&running, 6).await;
        assert!(services(&pod).await.is_empty());
        proxy.set_new_connections(NewConnections::Serve).unwrap();

        let outcome = running.wait().await;
        converged(&pod, &outcome).await;
        assert_eq!(proxy.requests().len(), 3, "{:#?}", proxy.requests());
        assert!(outcome.stderr.lines().count() < 15, "{}", outcome.stderr);
    }
}

#[tokio::test]
async fn an_api_that_never_comes_up_ends_the_run_at_its_timeout() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (name, mode, reason) in [
        ("refused", NewConnections::Refuse, "Connection refused"),
        ("handshake", NewConnections::CutHandshake, "client error (Connect)"),
        ("black-hole", NewConnections::BlackHole, "nothing came before the timeout"),
    ] {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_new_connections(mode).unwrap();

        let outcome = through(&proxy, &pod).await.args(["--timeout", "3s"]).run().await;

        let tried = "no answer to get ConfigMap";
        failed(&outcome, 7, &["gave up at the timeout", tried, namespace.name(), reason]);
        in_time(&outcome, Duration::from_secs(3));
        assert!(services(&pod).await.is_empty());
    }
}

#[tokio::test]
async fn packets_that_vanish_for_a_while_are_survived_by_a_new_connection() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_new_connections(NewConnections::BlackHole).unwrap();

    let running = through(&proxy, &pod).await.args(["--timeout", "30s"]).spawn();
    tried(&running, 1).await;
    proxy.set_new_connections(NewConnections::Serve).unwrap();

    let outcome = running.wait().await;
    converged(&pod, &outcome).await;
    assert!(outcome.elapsed() < Duration::from_secs(15), "{:?}", outcome.elapsed());
}
