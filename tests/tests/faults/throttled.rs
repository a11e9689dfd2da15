//! The API's priority and fairness turns requests away.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use cluster_tests::harness::{ControlPlane, Namespace, Run, eventually, namespace::SERVICE_ACCOUNT};
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::{DEADLINE, check::converged};

const NAME: &str = "throttled";

/// No request of the namespace's service account is served beside another, and none may queue.
async fn throttle(namespace: &Namespace<'_>) {
    let level: PriorityLevelConfiguration = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        }},
    }))
    .unwrap();
    let account = json!({"namespace": namespace.name(), "name": SERVICE_ACCOUNT});
    let flow: FlowSchema = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {
            "priorityLevelConfiguration": {"name": NAME},
            "matchingPrecedence": 100,
            "rules": [{
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
            }],
        },
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &level).await.unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &flow).await.unwrap();
}

#[tokio::test]
async fn a_creator_that_is_turned_away_comes_back_until_it_is_served() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    throttle(&namespace).await;

    // One request is served at a time even so: this one, which waits 3 s for a version that there never is.
    let busy = AtomicBool::new(true);
    let client = namespace.client().await;
    let keep_busy = async {
        let path = format!("/api/v1/namespaces/{}/pods?resourceVersion=99999999", namespace.name());
        while busy.load(Ordering::Relaxed) {
            let request = http::Request::get(&path).body(Vec::new()).unwrap();
            client.request_text(request).await.unwrap_err();
        }
    };
    let throttled = async {
        eventually(DEADLINE, "requests are turned away", async || {
            let path = format!("/api/v1/namespaces/{}/pods", namespace.name());
            let request = http::Request::get(&path).body(Vec::new()).unwrap();
            match client.request_text(request).await {
                Err(kube::Error::Api(status)) if status.code == 429 => Ok(()),
                seen => Err(format!("{seen:?}")),
            }
        })
        .await;
        let running = run.spawn();
        eventually(DEADLINE, "the creator is turned away", async || {
            let log = running.stderr();
            if log.contains("Too many requests, please try again later. (429)") { Ok(()) } else { Err(log) }
        })
        .await;
        Api::<FlowSchema>::all(namespace.admin()).delete(NAME, &DeleteParams::default()).await.unwrap();
        let outcome = running.wait().await;
        busy.store(false, Ordering::Relaxed);
        outcome
    };
    let (outcome, ()) = tokio::join!(throttled, keep_busy);

    converged(&pod, &outcome).await;
    assert!(outcome.elapsed() > Duration::from_secs(1), "it waits as long as it is told: {:?}", outcome.elapsed());
}
