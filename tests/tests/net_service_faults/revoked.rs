//! Permissions that are taken away and given back.

use std::time::Duration;

use cluster_tests::harness::{Namespace, eventually};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use net_service::names::MANAGER;

use crate::{
    DEADLINE, RECOVERED,
    log::{complains, few_complaints},
    scene::{Scene, namespace, watching},
    wire::through,
};

/// How long it goes without: beyond the time after which a leader that cannot renew its Lease leads no more.
const WITHOUT: Duration = Duration::from_secs(12);

/// Requests in that time: five watches and three NetServices, each with growing pauses.
const REQUESTS: usize = 120;

async fn goes_without(
    namespace: &Namespace<'_>,
    what: &str,
    says: &str,
    take: impl AsyncFnOnce(),
    give: impl AsyncFnOnce(),
) {
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 4).await;
    let watcher = through(&proxy, namespace).await.listening().spawn();
    watching(&watcher).await;
    scene.right(RECOVERED).await;
    let services = scene.services().await;

    take().await;
    // Who watches already may go on watching; who watches anew may not.
    proxy.cut_connections();
    scene.net_services[1].edit(serde_json::json!({"publishNotReadyAddresses": true})).await;
    scene.shift().await;
    complains(&watcher, says).await;
    let before = proxy.requests().len();
    tokio::time::sleep(WITHOUT).await;
    let requests = proxy.requests().len() - before;
    println!("without {what}: {requests} requests after {before}");
    assert!(requests <= REQUESTS, "without {what}: {:#?}", &proxy.requests()[before..]);
    few_complaints(&watcher, 20);
    assert_eq!(watcher.get("/livez").await.status, 200);

    give().await;
    println!("{what} back: right after {:?}", scene.right(RECOVERED).await);
    eventually(RECOVERED, "it is ready", async || match watcher.get("/readyz").await {
        reply if reply.status == 200 => Ok(()),
        reply => Err(reply.body),
    })
    .await;
    assert_eq!(scene.services().await, services);
    watcher.terminate().await.expect_code(0);
}

/// Some verbs on a resource, out of all Roles.
async fn without(namespace: &Namespace<'_>, verbs: &[&str], resource: &str) {
    let roles: Api<Role> = namespace.api();
    let before = roles.list(&ListParams::default()).await.unwrap().items;
    let replace = async |mut role: Role| {
        role.metadata.resource_version = None;
        roles.replace(&role.name_any(), &PostParams::default(), &role).await.unwrap();
    };
    let take = async || {
        for mut role in before.clone() {
            for rule in role.rules.iter_mut().flatten() {
                if rule.resources.iter().flatten().any(|named| named == resource) {
                    rule.verbs.retain(|verb| !verbs.contains(&verb.as_str()));
                }
            }
            role.rules.iter_mut().for_each(|rules| rules.retain(|rule| !rule.verbs.is_empty()));
            replace(role).await;
        }
        until_denied(namespace, verbs[0], resource).await;
    };
    let give = async || {
        for role in before.clone() {
            replace(role).await;
        }
        namespace.wait_until_allowed(verbs[0], resource).await;
    };
    // Of a watch and its list only one is told: both mean the same.
    let says = format!(r#"resources: ["{resource}"], verbs: ["{}"]"#, verbs[0]);
    goes_without(namespace, &format!("{verbs:?} {resource}"), &says, take, give).await;
}

/// All that NetServices take, with the RoleBinding: the Lease too.
async fn without_any(namespace: &Namespace<'_>) {
    let bindings: Api<RoleBinding> = namespace.api();
    let mut binding = bindings.get(MANAGER).await.unwrap();
    (binding.metadata.resource_version, binding.metadata.uid) = (None, None);
    let take = async || {
        bindings.delete(MANAGER, &DeleteParams::default()).await.unwrap();
        until_denied(namespace, "patch", "services").await;
    };
    let give = async || {
        bindings.create(&PostParams::default(), &binding).await.unwrap();
        namespace.wait_until_allowed("patch", "services").await;
    };
    goes_without(namespace, "everything", r#"resources: ["leases"]"#, take, give).await;
}

async fn until_denied(namespace: &Namespace<'_>, verb: &str, resource: &str) {
    eventually(DEADLINE, &format!("nobody may {verb} {resource}"), async || {
        if namespace.allows(verb, resource).await { Err("it is allowed") } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn what_is_taken_away_is_named_and_missed_only_until_it_is_back() {
    let Some(first) = namespace().await else { return };
    let Some(second) = namespace().await else { return };
    let Some(third) = namespace().await else { return };
    tokio::join!(
        without(&first, &["patch"], "services"),
        without(&second, &["watch", "list"], "pods"),
        without_any(&third),
    );
}
