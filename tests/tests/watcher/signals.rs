//! How it ends.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Run, Signal},
    proxy::{Action, Verdict, gate},
};
use http::Method;

use crate::support::{assert_deleted, delete, pod_with_service, watching};

#[tokio::test]
async fn sigterm_ends_it_within_a_second() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (_pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.listening()).await;
    let asked = std::time::Instant::now();
    let outcome = running.terminate().await.expect_code(0);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(outcome.log_of("ended by SIGTERM").len(), 1, "{}", outcome.stderr);
    service.assert_untouched().await;
}

#[tokio::test]
async fn a_delete_that_is_under_way_is_done_or_not_but_the_program_ends() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for carried_out in [true, false] {
        let name = if carried_out { "app-0" } else { "app-1" };
        let proxy = control_plane.proxy();
        let (pod, service) = pod_with_service(&namespace, name).await;
        let running = watching(Run::watcher(&namespace).await.server(&proxy.url())).await;
        let (at, arrivals) = gate(Verdict::Cut);
        let mut action = Some(match carried_out {
            true => Action::HoldAfter(at),
            false => Action::HoldBefore(at),
        });
        proxy.set_rule(move |seen| match seen.method == Method::DELETE {
            true => action.take().unwrap_or(Action::Pass),
            false => Action::Pass,
        });
        delete(pod).await;
        let held = arrivals.next(Duration::from_secs(30)).unwrap();
        let asked = std::time::Instant::now();
        let outcome = running.terminate().await.expect_code(0);
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        assert_deleted(&outcome, &[]);
        drop(held);
        if carried_out {
            service.gone().await;
        } else {
            service.assert_untouched().await;
            // The next to come finds it.
            let outcome = Run::watcher(&namespace).await.args(["--once"]).run().await.expect_code(0);
            assert_deleted(&outcome, &[&service]);
        }
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();
    let (pod, service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.server(&proxy.url())).await;
    let (at, arrivals) = gate(Verdict::Cut);
    let mut action = Some(Action::HoldBefore(at));
    proxy.set_rule(move |seen| match seen.method == Method::DELETE {
        true => action.take().unwrap_or(Action::Pass),
        false => Action::Pass,
    });
    delete(pod).await;
    let held = arrivals.next(Duration::from_secs(30)).unwrap();
    running.signal(Signal::Terminate);
    running.logged("ended by SIGTERM", |_| true).await;
    running.terminate().await.expect_code(143);
    drop(held);
    service.assert_untouched().await;
}
