//! The API or the network says nothing, and closes nothing.

use std::time::Duration;

use cluster_tests::{
    harness::ControlPlane,
    proxy::{Action, Verdict, gate},
};

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, services},
    wire::{Ask, first, through},
};

#[tokio::test]
async fn a_slow_api_only_takes_longer() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_rule(|_| Action::Delay(Duration::from_millis(1500)));

    let outcome = through(&proxy, &pod).await.run().await;

    converged(&pod, &outcome).await;
    // Two round trips, three requests: none was repeated.
    assert!(outcome.elapsed() < Duration::from_millis(4500), "{:?}", outcome.elapsed());
    assert_eq!(proxy.requests().len(), 3, "{:#?}", proxy.requests());
}

#[tokio::test]
async fn an_api_that_is_slower_than_the_timeout_ends_the_run_then() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    for (ask, what) in [
        (Ask::ReadConfigMap, "get ConfigMap"),
        (Ask::LabelPod, "patch Pod"),
        // Last, since its request is carried out once the run is over.
        (Ask::CreateService, "create Service"),
    ] {
        let proxy = control_plane.proxy();
        proxy.set_rule(first(ask, Action::Delay(Duration::from_secs(6))));

        let outcome = through(&proxy, &pod).await.args(["--timeout", "2s"]).run().await;

        failed(&outcome, 7, &["no answer to ", what, namespace.name()]);
        in_time(&outcome, Duration::from_secs(2));
    }
}

/// A request that is never answered is given up after 20 s, and sent again.
#[tokio::test]
async fn an_answer_that_never_comes_is_asked_for_again() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let stalled = async |name: &str, ask, action| {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(first(ask, action));
        let outcome = through(&proxy, &pod).await.args(["--timeout", "30s"]).run().await;
        converged(&pod, &outcome).await;
        let creations = if ask == Ask::CreateService { Ask::CreateService.count(&proxy) } else { 0 };
        (creations, outcome.elapsed() < Duration::from_secs(25))
    };
    let ended = tokio::join!(
        stalled("template", Ask::ReadConfigMap, Action::StallBefore),
        stalled("label", Ask::LabelPod, Action::StallAfter),
        stalled("never-carried-out", Ask::CreateService, Action::StallBefore),
        stalled("carried-out", Ask::CreateService, Action::StallAfter),
    );
    assert_eq!(ended, ((0, true), (0, true), (2, true), (1, true)));
}

#[tokio::test]
async fn a_stalled_api_ends_the_run_at_its_timeout() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_rule(|_| Action::StallBefore);

    let outcome = through(&proxy, &pod).await.args(["--timeout", "2s"]).run().await;

    failed(
        &outcome,
        7,
        &[
            "gave up at the timeout, which --timeout sets: no answer to get ConfigMap",
            "nothing came before the timeout",
        ],
    );
    in_time(&outcome, Duration::from_secs(2));
    assert!(services(&pod).await.is_empty());
}

/// As a NAT or a load balancer that has forgotten a connection: no byte, no end. Pings notice it before the request's
/// own 20 s are over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_died_silently_is_replaced() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let frozen = async |name: &str, ask| {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        let (gate, arrivals) = gate(Verdict::Pass);
        proxy.set_rule(first(ask, Action::HoldAfter(gate)));
        let running = through(&proxy, &pod).await.args(["--timeout", "30s"]).spawn();
        let held = tokio::task::block_in_place(|| arrivals.next(DEADLINE).unwrap());
        proxy.freeze_connections();
        held.release(Verdict::Pass);
        let outcome = running.wait().await;
        converged(&pod, &outcome).await;
        assert_eq!(proxy.connection_count(), 2, "{}", outcome.stderr);
        assert!(outcome.elapsed() < Duration::from_secs(19), "{ask:?}: {:?}", outcome.elapsed());
        Ask::CreateService.count(&proxy)
    };
    let creations = tokio::join!(frozen("template", Ask::ReadConfigMap), frozen("service", Ask::CreateService));
    assert_eq!(creations, (1, 1));
}
