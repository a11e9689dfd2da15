//! What changes between the watcher's look and its delete: it deletes what it judged, or judges again.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Run},
    proxy::{Action, Gate, Seen, Verdict, gate},
};
use http::Method;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::{
    SCANS, assert_deletion, delete, deletion, ends_having_deleted, pod_with_service, settled, watching,
};

const SOON: Duration = Duration::from_secs(30);

fn is(seen: &Seen, method: &Method, path: &str) -> bool {
    seen.method == method && seen.path_and_query.split('?').next().is_some_and(|found| found.ends_with(path))
}

/// A rule: the first such request suffers, all others pass.
fn first(method: Method, path: &'static str, action: Action) -> impl FnMut(&Seen) -> Action + Send + 'static {
    let mut action = Some(action);
    move |seen| match is(seen, &method, path) {
        true => action.take().unwrap_or(Action::Pass),
        false => Action::Pass,
    }
}

#[tokio::test]
async fn a_service_that_is_changed_just_before_its_delete_is_judged_again_and_deleted() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();
    let (pod, mut service) = pod_with_service(&namespace, "app-0").await;
    let running = watching(Run::watcher(&namespace).await.server(&proxy.url())).await;
    let (before_delete, arrivals) = gate(Verdict::Pass);
    proxy.set_rule(first(Method::DELETE, "/services/app-0", Action::HoldBefore(before_delete)));
    let gone = delete(pod).await;
    let held = arrivals.next(SOON).unwrap();
    service.edit(json!({"metadata": {"labels": {"team": "shop"}}})).await;
    held.release(Verdict::Pass);
    assert_deletion(&deletion(&running, &service).await, &service, &gone, "PodGone");
    let answers: Vec<_> = proxy
        .requests()
        .into_iter()
        .filter(|request| is(&request.seen, &Method::DELETE, "/services/app-0"))
        .map(|request| request.status.unwrap().as_u16())
        .collect();
    assert_eq!(answers, [409, 200]);
    ends_having_deleted(running, &[&service]).await;
}

#[tokio::test]
async fn a_service_that_is_given_to_somebody_just_before_its_delete_is_left_alone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let nothing_of_ours = json!({"labels": {"creator": null}, "annotations": {
        "ipf-dynamic-nodeport-service/pod-name": null,
        "ipf-dynamic-nodeport-service/pod-uid": null,
    }});
    let another_pod = namespace.pod("another").create().await;
    let anothers = json!({"annotations": {
        "ipf-dynamic-nodeport-service/pod-name": "another",
        "ipf-dynamic-nodeport-service/pod-uid": another_pod.uid(),
    }});
    for (number, metadata) in [nothing_of_ours, anothers].into_iter().enumerate() {
        let name = ["app-0", "app-1"][number];
        let path = ["/services/app-0", "/services/app-1"][number];
        let proxy = control_plane.proxy();
        let (pod, mut service) = pod_with_service(&namespace, name).await;
        let running = watching(Run::watcher(&namespace).await.args(SCANS).server(&proxy.url())).await;
        let (before_delete, arrivals) = gate(Verdict::Pass);
        proxy.set_rule(first(Method::DELETE, path, Action::HoldBefore(before_delete)));
        delete(pod).await;
        let held = arrivals.next(SOON).unwrap();
        service.edit(json!({"metadata": metadata})).await;
        held.release(Verdict::Pass);
        settled(&namespace, &running).await;
        service.assert_untouched().await;
        ends_having_deleted(running, &[]).await;
    }
}

/// What waits while pod and Service are made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// The answer that the pod is absent.
    PodRead,
    /// The answer that the Service is as it was.
    ServiceRead,
    /// The answer that the pod is absent, and the question about the Service: it is answered with the new one.
    PodReadBeforeService,
    /// The delete.
    Delete,
}

impl Held {
    fn action(self, seen: &Seen, gate: &Gate) -> Option<Action> {
        let (pod, service) = (is(seen, &Method::GET, "/pods/app-0"), is(seen, &Method::GET, "/services/app-0"));
        let delete = is(seen, &Method::DELETE, "/services/app-0");
        match self {
            Self::PodRead | Self::PodReadBeforeService if pod => Some(Action::HoldAfter(gate.clone())),
            Self::ServiceRead if service => Some(Action::HoldAfter(gate.clone())),
            Self::PodReadBeforeService if service => Some(Action::HoldBefore(gate.clone())),
            Self::Delete if delete => Some(Action::HoldBefore(gate.clone())),
            _ => None,
        }
    }

    /// How many requests wait; later ones of the kind pass.
    fn count(self) -> usize {
        if self == Self::PodReadBeforeService { 2 } else { 1 }
    }
}

#[tokio::test]
async fn a_pod_that_comes_back_with_a_service_of_its_own_keeps_that() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for held in [Held::PodRead, Held::ServiceRead, Held::PodReadBeforeService, Held::Delete] {
        let namespace = control_plane.namespace().await;
        let proxy = control_plane.proxy();
        let (pod, old) = pod_with_service(&namespace, "app-0").await;
        let running = watching(Run::watcher(&namespace).await.args(SCANS).server(&proxy.url())).await;
        let (gate, arrivals) = gate(Verdict::Pass);
        let mut left = held.count();
        proxy.set_rule(move |seen| match held.action(seen, &gate).filter(|_| left > 0) {
            Some(action) => {
                left -= 1;
                action
            }
            None => Action::Pass,
        });
        delete(pod).await;
        let waiting: Vec<_> = (0..held.count()).map(|_| arrivals.next(SOON).unwrap()).collect();
        let successor = namespace.pod("app-0").create().await;
        Run::creator(&successor).await.run().await.expect_code(0);
        waiting.into_iter().for_each(|waiting| waiting.release(Verdict::Pass));

        settled(&namespace, &running).await;
        let new: Service = namespace.api().get("app-0").await.unwrap();
        let annotations = new.metadata.annotations.unwrap();
        assert_eq!(annotations["ipf-dynamic-nodeport-service/pod-uid"], successor.uid(), "{held:?}");
        assert_ne!(new.metadata.uid.as_deref(), Some(old.uid()));
        ends_having_deleted(running, &[]).await;
    }
}

#[tokio::test]
async fn the_original_tools_service_is_read_again_when_a_creator_replaced_it_just_before_its_delete() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();
    let old = namespace.original_tools_service("app-0").create().await;
    let (at, arrivals) = gate(Verdict::Pass);
    proxy.set_rule(first(Method::DELETE, "/services/app-0", Action::HoldBefore(at)));
    let running = watching(Run::watcher(&namespace).await.args(SCANS).server(&proxy.url())).await;
    // Thirty seconds pass between the two looks.
    let waiting = arrivals.next(2 * SOON).unwrap();
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    waiting.release(Verdict::Pass);
    settled(&namespace, &running).await;
    let new: Service = namespace.api().get("app-0").await.unwrap();
    assert_ne!(new.metadata.uid.as_deref(), Some(old.uid()));
    ends_having_deleted(running, &[]).await;
}
