//! /livez and /readyz.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Run, eventually},
    proxy::{Action, Verdict, gate},
};
use http::Method;

use crate::support::{ends_having_deleted, watching};

#[tokio::test]
async fn it_is_ready_when_both_watches_have_listed_and_alive_before() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();
    // The first question about Services, whatever it is, waits for the test.
    let (at, arrivals) = gate(Verdict::Pass);
    let mut action = Some(Action::HoldBefore(at));
    proxy.set_rule(move |seen| match seen.method == Method::GET && seen.path_and_query.contains("/services?") {
        true => action.take().unwrap_or(Action::Pass),
        false => Action::Pass,
    });
    let running = Run::watcher(&namespace).await.listening().server(&proxy.url()).spawn();
    let live = running.get("/livez").await;
    assert_eq!((live.status, &*live.body), (200, "ok\n"));
    let held = arrivals.next(Duration::from_secs(30)).unwrap();
    let ready = running.get("/readyz").await;
    assert_eq!(ready.status, 503, "{}", ready.body);
    let names = |check: &str| ready.body.lines().any(|line| line.contains(check));
    assert!(names("pods") && names("services"), "{}", ready.body);

    held.release(Verdict::Pass);
    eventually(Duration::from_secs(30), "it is ready", async || {
        let ready = running.get("/readyz").await;
        if ready.status == 200 { Ok(()) } else { Err(ready.body) }
    })
    .await;
    let ready = running.get("/readyz").await;
    assert!(ready.body.contains("pods") && ready.body.contains("services"), "{}", ready.body);
    ends_having_deleted(running, &[]).await;
}

#[tokio::test]
async fn what_is_not_served_is_not_there() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let running = watching(Run::watcher(&namespace).await.listening()).await;
    for path in ["/", "/healthz", "/metrics/", "/livez/x"] {
        assert_eq!(running.get(path).await.status, 404, "{path}");
    }
    assert_eq!(running.get("/livez?verbose=1").await.status, 200);
    ends_having_deleted(running, &[]).await;
}
