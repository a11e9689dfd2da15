//! Permissions that are taken away and given back.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Namespace, eventually, namespace::SERVICE_ACCOUNT};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};

use crate::{
    DEADLINE,
    fleet::Fleet,
    log::{few_lines, field, others, watching},
    wire::through,
};

/// How soon it goes on by itself.
const RECOVERED: Duration = Duration::from_secs(40);

/// How long it goes without: beyond the longest pause between two tries, so that the number of its requests tells, and
/// beyond the 30 s that a watch may be down before the program is not ready any more.
const WITHOUT: Duration = Duration::from_secs(35);

/// Requests in the second half of that time, when all pauses have grown: some 5 a second.
const REQUESTS: usize = 200;

const PODS: usize = 50;

/// Takes these verbs away from a watcher that runs, and gives them back.
async fn without(control_plane: &ControlPlane, verbs: &[(&str, &str)]) {
    let namespace = control_plane.namespace().await;
    let take = async || {
        for (verb, resource) in verbs {
            namespace.deny(verb, resource).await;
        }
    };
    let give = async || {
        for (verb, resource) in verbs {
            namespace.permit(verb, resource).await;
        }
    };
    let says: Vec<_> = verbs
        .iter()
        .map(|(verb, resource)| format!(r#"add {{apiGroups: [""], resources: ["{resource}"], verbs: ["{verb}"]}}"#))
        .collect();
    goes_without(control_plane, &namespace, &format!("{verbs:?}"), &says, take, give).await;
}

/// All of them, with the RoleBinding.
async fn without_binding(control_plane: &ControlPlane) {
    let namespace = control_plane.namespace().await;
    let bindings: Api<RoleBinding> = namespace.api();
    let mut binding = bindings.get(SERVICE_ACCOUNT).await.unwrap();
    binding.metadata.resource_version = None;
    binding.metadata.uid = None;
    let take = async || {
        bindings.delete(SERVICE_ACCOUNT, &DeleteParams::default()).await.unwrap();
        eventually(DEADLINE, "nothing is allowed", async || {
            if namespace.allows("list", "services").await { Err("it is allowed") } else { Ok(()) }
        })
        .await;
    };
    let give = async || {
        bindings.create(&PostParams::default(), &binding).await.unwrap();
        namespace.wait_until_allowed("list", "services").await;
    };
    let says = [r#"add {apiGroups: [""], resources: ["pods"]"#, r#"add {apiGroups: [""], resources: ["services"]"#];
    goes_without(control_plane, &namespace, "everything", &says.map(str::to_owned), take, give).await;
}

async fn goes_without(
    control_plane: &ControlPlane,
    namespace: &Namespace<'_>,
    what: &str,
    says: &[String],
    take: impl AsyncFnOnce(),
    give: impl AsyncFnOnce(),
) {
    let staying = Fleet::launch(namespace, "stays", 5).await;
    let fleet = Fleet::launch(namespace, "app", PODS).await;
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, namespace).await.args(["--scan-interval", "20s"]).listening().spawn();
    watching(&watcher).await;

    take().await;
    // Who watches already may go on watching; who watches anew may not.
    proxy.cut_connections();
    fleet.delete_pods().await;
    eventually(DEADLINE, &format!("it says what it needs, without {what}"), async || {
        let log: Vec<_> = others(&watcher).iter().map(|line| field(line, "error").to_owned()).collect();
        match says.iter().find(|text| !log.iter().any(|error| error.contains(*text))) {
            None => Ok(()),
            Some(text) => Err(format!("no {text:?} in\n{}", watcher.stderr())),
        }
    })
    .await;
    tokio::time::sleep(WITHOUT / 2).await;
    let before = proxy.requests().len();
    tokio::time::sleep(WITHOUT / 2).await;
    let requests = proxy.requests().len() - before;
    println!("without {what}: {requests} requests after {before}, {} lines", others(&watcher).len());
    assert!(requests <= REQUESTS, "without {what}: {requests} requests");
    few_lines(&watcher, 20);
    let is_blind = says.iter().any(|rule| rule.contains("watch") || !rule.contains("verbs"));
    assert_eq!(watcher.get("/readyz").await.status, if is_blind { 503 } else { 200 }, "without {what}");
    assert_eq!(watcher.get("/livez").await.status, 200);

    give().await;
    let took = fleet.collected(RECOVERED).await;
    println!("{what} back: gone {took:?} after their pods");
    eventually(RECOVERED, "it is ready", async || match watcher.get("/readyz").await {
        reply if reply.status == 200 => Ok(()),
        reply => Err(reply.body),
    })
    .await;
    staying.assert_untouched().await;
    let in_vain = fleet.deletions_in_vain().await;
    assert!(in_vain.iter().all(|code| [403, 404, 409].contains(code)), "{in_vain:?}");
    watcher.terminate().await.expect_code(0);
}

pub(crate) async fn what_is_taken_away_is_named_and_missed_only_until_it_is_back(control_plane: &ControlPlane) {
    tokio::join!(
        without(control_plane, &[("delete", "services")]),
        without(control_plane, &[("get", "pods")]),
        without(control_plane, &[("get", "services")]),
        without(control_plane, &[("list", "pods"), ("watch", "pods")]),
        without(control_plane, &[("watch", "services")]),
        without_binding(control_plane),
    );
}

#[tokio::test]
async fn a_watcher_that_starts_without_permissions_works_once_it_has_them() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let fleet = Fleet::launch(&namespace, "app", 20).await;
    fleet.delete_pods().await;
    for resource in ["pods", "services"] {
        namespace.deny("list", resource).await;
    }
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, &namespace).await.listening().spawn();
    for resource in ["pods", "services"] {
        crate::log::complains(&watcher, &format!(r#"resources: [\"{resource}\"], verbs: [\"list\"]"#)).await;
    }
    assert_eq!(watcher.get("/livez").await.status, 200);
    assert_eq!(watcher.get("/readyz").await.status, 503);

    for resource in ["pods", "services"] {
        namespace.permit("list", resource).await;
    }
    println!("permitted after the start: gone after {:?}", fleet.collected(RECOVERED).await);
    assert_eq!(watcher.get("/readyz").await.status, 200);
    few_lines(&watcher, 12);
    watcher.terminate().await.expect_code(0);
}
