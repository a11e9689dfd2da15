//! Answers of the API that are failures, for a while or for good.

use std::time::Duration;

use cluster_tests::{
    harness::ControlPlane,
    proxy::{Action, Answer},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};

use crate::{
    check::{converged, failed, in_time, services},
    wire::{Ask, first, through, times},
};

/// What a load balancer in front of a dead API says.
fn gateway(status: StatusCode) -> Answer {
    let page = format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>");
    Answer::new(status, page).with(CONTENT_TYPE, HeaderValue::from_static("text/html"))
}

fn unauthorized() -> Answer {
    Answer::failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
}

#[tokio::test]
async fn failures_that_pass_delay_the_run_and_no_more() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let internal = Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "etcdserver: leader changed");
    for (name, answer) in [
        ("internal", internal),
        ("bad-gateway", gateway(StatusCode::BAD_GATEWAY)),
        ("unavailable", gateway(StatusCode::SERVICE_UNAVAILABLE)),
        ("gateway-timeout", gateway(StatusCode::GATEWAY_TIMEOUT)),
        ("unauthorized", unauthorized()),
    ] {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(times(4, move || Action::Answer(answer.clone())));

        let outcome = through(&proxy, &pod).await.run().await;

        converged(&pod, &outcome).await;
        assert_eq!(proxy.requests().len(), 4 + 3, "{name}: {:#?}", proxy.requests());
        assert_eq!(proxy.connection_count(), 1, "{name}: an answer is no reason for another connection");
    }
}

#[tokio::test]
async fn a_creation_that_fails_for_a_while_is_tried_again() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE, StatusCode::UNAUTHORIZED] {
        let pod = namespace.pod(&format!("status-{}", status.as_u16())).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(first(Ask::CreateService, Action::Answer(gateway(status))));

        let outcome = through(&proxy, &pod).await.run().await;

        converged(&pod, &outcome).await;
        assert_eq!(Ask::CreateService.count(&proxy), 2, "{:#?}", proxy.requests());
    }
}

#[tokio::test]
async fn nothing_is_asked_before_the_time_that_a_429_names() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for ask in Ask::FRESH {
        let pod = namespace.pod(&format!("{ask:?}").to_lowercase()).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(first(ask, Action::Answer(Answer::too_many_requests(2))));

        let outcome = through(&proxy, &pod).await.run().await;

        converged(&pod, &outcome).await;
        // Each pod waits up to half as long again, so that they do not return all at once.
        let elapsed = outcome.elapsed();
        assert!((Duration::from_secs(2)..Duration::from_secs(5)).contains(&elapsed), "{ask:?}: {elapsed:?}");
        assert_eq!(proxy.requests().len(), 4, "{ask:?}: {:#?}", proxy.requests());
    }
}

#[tokio::test]
async fn an_api_that_says_to_come_back_at_once_is_not_flooded() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_rule(|_| Action::Answer(Answer::too_many_requests(0)));

    let outcome = through(&proxy, &pod).await.args(["--timeout", "3s"]).run().await;

    failed(&outcome, 7, &["gave up at the timeout", "Too many requests", "(429)"]);
    in_time(&outcome, Duration::from_secs(3));
    assert!(proxy.requests().len() <= 20, "{:#?}", proxy.requests());
}

#[tokio::test]
async fn failures_that_stay_end_the_run_at_its_timeout() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let timeout = Duration::from_secs(4);
    for (name, answer, phrases) in [
        (
            "unauthorized",
            unauthorized(),
            ["does not accept the service account token (401)", "it may be empty or have expired"],
        ),
        ("unavailable", gateway(StatusCode::SERVICE_UNAVAILABLE), ["503 Service Unavailable", "cannot get ConfigMap"]),
    ] {
        let pod = namespace.pod(name).create().await;
        let proxy = control_plane.proxy();
        proxy.set_rule(move |_| Action::Answer(answer.clone()));

        let outcome = through(&proxy, &pod).await.args(["--timeout", "4s"]).run().await;

        failed(&outcome, 7, &["gave up at the timeout", "ipf-dynamic-nodeport-service-creator"]);
        failed(&outcome, 7, &phrases);
        in_time(&outcome, timeout);
        assert!(proxy.requests().len() <= 20, "{:#?}", proxy.requests());
        assert!(services(&pod).await.is_empty());
    }
}

#[tokio::test]
async fn a_creation_that_fails_for_good_is_named_with_its_reason() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    proxy.set_rule(|seen| match Ask::CreateService.is(seen) {
        true => Action::Answer(Answer::failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "disk is full")),
        false => Action::Pass,
    });

    let outcome = through(&proxy, &pod).await.args(["--timeout", "4s"]).run().await;

    let service = format!("Service {}/app-0", namespace.name());
    failed(&outcome, 7, &["gave up", &service, "disk is full (500)"]);
    in_time(&outcome, Duration::from_secs(4));
    assert!(Ask::CreateService.count(&proxy) <= 20, "{:#?}", proxy.requests());
}
