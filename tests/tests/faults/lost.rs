//! Requests and answers that are lost with their connection.

use std::time::Duration;

use cluster_tests::{harness::ControlPlane, proxy::Action};

use crate::{
    check::{converged, failed, in_time},
    wire::{Ask, first, through},
};

/// A lost connection is opened again at once, not after a timeout.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn whatever_is_lost_once_the_run_ends_with_one_service_and_its_ports() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for ask in Ask::FRESH {
        for action in [Action::CutBefore, Action::CutAfter, Action::Truncate] {
            let case = format!("{ask:?} {action:?}");
            let pod = namespace.pod(&case.to_lowercase().replace(' ', "-")).create().await;
            let proxy = control_plane.proxy();
            proxy.set_rule(first(ask, action));

            let outcome = through(&proxy, &pod).await.run().await;

            converged(&pod, &outcome).await;
            assert!(outcome.elapsed() < SOON, "{case}: {:?}", outcome.elapsed());
            assert!(proxy.requests().len() <= 8, "{case}: {:#?}", proxy.requests());
        }
    }
}

#[tokio::test]
async fn a_service_whose_creation_was_not_answered_is_found_and_not_created_again() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (name, action) in [("cut", Action::CutAfter), ("truncated", Action::Truncate)] {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(first(Ask::CreateService, action));

        let outcome = through(&proxy, &pod).await.run().await;

        converged(&pod, &outcome).await;
        assert_eq!((Ask::CreateService.count(&proxy), Ask::ReadService.count(&proxy)), (1, 1));
        assert!(outcome.stderr.contains("kept the Service of an earlier run"), "{}", outcome.stderr);
    }
}

#[tokio::test]
async fn a_connection_that_is_lost_again_and_again_is_not_opened_without_pause() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_rule(|seen| if Ask::LabelPod.is(seen) { Action::CutBefore } else { Action::Pass });

    let outcome = through(&proxy, &pod).await.args(["--timeout", "5s"]).run().await;

    failed(&outcome, 7, &["gave up at the timeout", "no answer to patch Pod", "/app-0"]);
    in_time(&outcome, Duration::from_secs(5));
    assert!(Ask::LabelPod.count(&proxy) <= 20 && proxy.connection_count() <= 25, "{:#?}", proxy.requests());
}
