//! The API's priority and fairness turns requests away.

use std::sync::atomic::{AtomicBool, Ordering};

use cluster_tests::harness::{ControlPlane, Event, Namespace, Run, eventually, namespace::SERVICE_ACCOUNT};
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::{complains, few_lines, watching},
};

const NAME: &str = "watcher-throttled";

/// No request of the namespace's service account is served beside another, and none may queue.
async fn level(namespace: &Namespace<'_>) {
    let level: PriorityLevelConfiguration = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        }},
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &level).await.unwrap();
}

async fn throttle(namespace: &Namespace<'_>) {
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
    Api::all(namespace.admin()).create(&PostParams::default(), &flow).await.unwrap();
}

async fn unthrottle(namespace: &Namespace<'_>) {
    Api::<FlowSchema>::all(namespace.admin()).delete(NAME, &DeleteParams::default()).await.unwrap();
}

/// One request is served at a time even so: these, which wait 3 s each for a version that there never is.
async fn keep_busy(client: &Client, namespace: &Namespace<'_>, busy: &AtomicBool) {
    let path = format!("/api/v1/namespaces/{}/pods?resourceVersion=99999999", namespace.name());
    while busy.load(Ordering::Relaxed) {
        let request = http::Request::get(&path).body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap_err();
    }
}

async fn is_turned_away(client: &Client, namespace: &Namespace<'_>) {
    eventually(DEADLINE, "requests are turned away", async || {
        let path = format!("/api/v1/namespaces/{}/pods", namespace.name());
        let request = http::Request::get(&path).body(Vec::new()).unwrap();
        match client.request_text(request).await {
            Err(kube::Error::Api(status)) if status.code == 429 => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
}

/// What the watcher has asked; the test itself asks as the same user.
async fn of_watcher(namespace: &Namespace<'_>) -> Vec<Event> {
    namespace.requests().await.into_iter().filter(|event| event.user_agent != "cluster-tests").collect()
}

async fn turned_away(namespace: &Namespace<'_>) -> usize {
    of_watcher(namespace).await.iter().filter(|event| event.code == 429).count()
}

#[tokio::test]
async fn a_watcher_that_is_turned_away_goes_on_when_it_is_served() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let client = namespace.client().await;
    let busy = AtomicBool::new(true);
    level(&namespace).await;

    let throttled = async {
        // It starts while it is turned away, …
        let fleet = Fleet::launch(&namespace, "first", 50).await;
        let run = Run::watcher(&namespace).await;
        throttle(&namespace).await;
        is_turned_away(&client, &namespace).await;
        fleet.delete_pods().await;
        let watcher = run.spawn();
        complains(&watcher, "429").await;
        unthrottle(&namespace).await;
        println!("429 at the start: gone {:?} later", fleet.collected(RECOVERED).await);
        watching(&watcher).await;

        // … and is turned away while it works: its watches go on, and what they report cannot be acted upon.
        let fleet = Fleet::launch(&namespace, "second", 50).await;
        throttle(&namespace).await;
        is_turned_away(&client, &namespace).await;
        fleet.delete_pods().await;
        let before = turned_away(&namespace).await;
        eventually(DEADLINE, "it is turned away", async || {
            let away = turned_away(&namespace).await - before;
            if away >= 5 { Ok(()) } else { Err(format!("{away} times so far\n{}", watcher.stderr())) }
        })
        .await;
        unthrottle(&namespace).await;
        println!("429 while it runs: gone {:?} later", fleet.collected(RECOVERED).await);
        busy.store(false, Ordering::Relaxed);
        watcher
    };
    let (watcher, ()) = tokio::join!(throttled, keep_busy(&client, &namespace, &busy));

    let requests = of_watcher(&namespace).await;
    let turned_away = turned_away(&namespace).await;
    println!("{} requests of the watcher, {turned_away} of them turned away", requests.len());
    // Three for each Service, as many as are begun at a time for each failure, and few others.
    assert!(requests.len() <= 2 * 50 * 4 + 100 && turned_away <= 150, "{requests:#?}");
    few_lines(&watcher, 30);
    staying.assert_untouched().await;
}
