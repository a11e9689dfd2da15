//! A ResourceQuota on Services or node ports.

use std::{collections::BTreeMap, time::Duration};

use cluster_tests::harness::{ControlPlane, Namespace, Run, eventually};
use k8s_openapi::{
    api::core::v1::{ResourceQuota, Service},
    apimachinery::pkg::api::resource::Quantity,
};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, services},
    wire::{Ask, through},
};

const QUOTA: &str = "ports";

type Amounts = BTreeMap<String, Quantity>;

async fn status(namespace: &Namespace<'_>) -> (Amounts, Amounts) {
    let quota = namespace.api::<ResourceQuota>().get(QUOTA).await.unwrap();
    let status = quota.status.unwrap_or_default();
    (status.hard.unwrap_or_default(), status.used.unwrap_or_default())
}

/// Sets the quota, and waits until it is in force.
async fn limit(namespace: &Namespace<'_>, resource: &str, amount: u32) {
    let amount = amount.to_string();
    let quotas = namespace.api::<ResourceQuota>();
    let spec = json!({"spec": {"hard": {resource: amount}}});
    if quotas.get_opt(QUOTA).await.unwrap().is_some() {
        quotas.patch(QUOTA, &PatchParams::default(), &Patch::Merge(spec)).await.unwrap();
    } else {
        let mut quota: ResourceQuota = serde_json::from_value(spec).unwrap();
        quota.metadata.name = Some(QUOTA.to_owned());
        quotas.create(&PostParams::default(), &quota).await.unwrap();
    }
    eventually(DEADLINE, "the quota is in force", async || {
        let (hard, used) = status(namespace).await;
        let in_force = hard.get(resource).is_some_and(|hard| hard.0 == amount) && used.contains_key(resource);
        if in_force { Ok(()) } else { Err(format!("{hard:?} {used:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    for (resource, each, text) in [
        ("services.nodeports", 2, "requested: services.nodeports=2, used: services.nodeports=2"),
        ("count/services", 1, "requested: count/services=1, used: count/services=1"),
    ] {
        let namespace = control_plane.namespace().await;
        limit(&namespace, resource, each).await;
        let first = namespace.pod("app-0").create().await;
        let first_run = Run::creator(&first).await.run().await;
        converged(&first, &first_run).await;

        let second = namespace.pod("app-1").create().await;
        let outcome = Run::creator(&second).await.args(["--timeout", "3s"]).run().await;
        failed(
            &outcome,
            6,
            &["/app-1", "a ResourceQuota of the namespace is used up", "exceeded quota: ports", text, "limited:"],
        );
        in_time(&outcome, Duration::from_secs(3));
        assert!(services(&second).await.is_empty());

        // The quota is asked before the name: the pod's own Service hides behind it.
        let again = Run::creator(&first).await.run().await;
        converged(&first, &again).await;
        assert_eq!(again.output(), first_run.output());

        // It is raised while a creator waits.
        let waiting = Run::creator(&second).await.spawn();
        eventually(DEADLINE, "it waits", async || {
            let log = waiting.stderr();
            if log.contains("no node port is to be had") { Ok(()) } else { Err(log) }
        })
        .await;
        limit(&namespace, resource, 2 * each).await;
        converged(&second, &waiting.wait().await).await;
    }
}

/// Kubernetes charges the quota for each creation that fails because of its name, and notices minutes later.
#[tokio::test]
async fn waiting_for_a_name_does_not_use_up_the_quota() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    limit(&namespace, "services.nodeports", 20).await;
    let earlier = namespace.pod("app-0").create().await;
    Run::creator(&earlier).await.run().await.expect_code(0);
    let held = json!({"metadata": {"finalizers": ["tests.example/held"]}});
    let api = namespace.api::<Service>();
    api.patch("app-0", &PatchParams::default(), &Patch::Merge(held)).await.unwrap();
    api.delete("app-0", &DeleteParams::default()).await.unwrap();
    earlier.delete().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();

    let outcome = through(&proxy, &pod).await.args(["--timeout", "5s"]).run().await;

    failed(&outcome, 7, &["Service", "/app-0", "is being deleted", "finalizer"]);
    in_time(&outcome, Duration::from_secs(5));
    assert_eq!(Ask::CreateService.count(&proxy), 1, "{:#?}", proxy.requests());
    let (_, used) = status(&namespace).await;
    assert!(used["services.nodeports"].0.parse::<u32>().unwrap() <= 4, "{used:?}");

    // Once it is gone, the waiting creator goes on.
    let waiting = Run::creator(&pod).await.spawn();
    eventually(DEADLINE, "it waits", async || {
        let log = waiting.stderr();
        if log.contains("is being deleted") { Ok(()) } else { Err(log) }
    })
    .await;
    let freed = json!({"metadata": {"finalizers": null}});
    api.patch("app-0", &PatchParams::default(), &Patch::Merge(freed)).await.unwrap();
    converged(&pod, &waiting.wait().await).await;
}
