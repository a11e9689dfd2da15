//! What stolen tokens are tried for, and what is left to them.

use std::collections::BTreeSet;

use cluster_tests::harness::{access::Credentials, namespace::SERVICE_ACCOUNT};
use http::Request;
use serde_json::json;

use crate::{
    policies::{POLICIES, hardened, messages, name},
    scene::{Neighbour, Scene},
    support::{CREATOR, namespace_of},
    theft::{Deed, Effect, Theft, Thief, merged},
    thefts::thefts,
};

/// Fails unless each is refused by its policy in its clause's words, and nothing changed.
async fn are_refused(account: &str, counts: fn(&Theft) -> bool) {
    let Some(control_plane) = hardened().await else { return };
    let namespace = control_plane.namespace().await.with_account(account);
    let neighbour = control_plane.namespace().await.with_account(account);
    let scene = Scene::set(&namespace, &Neighbour::set(&neighbour).await).await;
    let before = scene.state().await;
    for theft in thefts(&scene).iter().filter(|theft| counts(theft)) {
        let status = scene.answer(theft, Effect::Stored).await.expect_err(theft.what);
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"), "{}: {status:?}", theft.what);
        let policy = name(theft.policy);
        let text = format!(
            "is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {}",
            theft.refusal
        );
        assert!(status.message.ends_with(&text), "{}: {}", theft.what, status.message);
    }
    assert!(scene.state().await == before, "something changed");
}

#[tokio::test]
async fn every_theft_is_refused_in_the_policys_words_and_changes_nothing() {
    are_refused(CREATOR, |_| true).await;
}

#[tokio::test]
async fn with_the_documented_account_too_but_for_the_deletion_of_services_that_creators_made() {
    are_refused(SERVICE_ACCOUNT, |theft| theft.policy == "services" || theft.policy == "pods").await;
    let Some(control_plane) = hardened().await else { return };
    let namespace = control_plane.namespace().await;
    let neighbour = control_plane.namespace().await;
    let scene = Scene::set(&namespace, &Neighbour::set(&neighbour).await).await;
    let delete = async |service| scene.ask(Thief::Pod("app-0"), &Deed::DeleteService(service), Effect::DryRun).await;
    assert_eq!(delete("app-2").await.unwrap_err().code, 403);
    delete("app-1").await.unwrap();
}

#[tokio::test]
async fn every_clause_has_its_theft() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = control_plane.namespace().await.with_account(CREATOR);
    let neighbour = control_plane.namespace().await.with_account(CREATOR);
    let scene = Scene::set(&namespace, &Neighbour::set(&neighbour).await).await;
    let tried: BTreeSet<_> =
        thefts(&scene).iter().map(|theft| (theft.policy.to_owned(), theft.refusal.to_owned())).collect();
    let clauses: BTreeSet<_> = POLICIES
        .iter()
        .flat_map(|policy| messages(policy).into_iter().map(|message| ((*policy).to_owned(), message)))
        .collect();
    assert_eq!(tried, clauses);
}

/// What hardened/README.md says that a stolen token can still do.
#[tokio::test]
async fn what_is_left_to_a_thief() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = control_plane.namespace().await.with_account(CREATOR);
    let neighbour = control_plane.namespace().await.with_account(CREATOR);
    let scene = Scene::set(&namespace, &Neighbour::set(&neighbour).await).await;
    let creation = |change| Deed::CreateService(merged(scene.own_service("app-0"), &change));
    let label = json!({"metadata": {"labels": {"ipfPodName": "app-0"}}});
    for (what, thief, deed) in [
        ("its pod's Service", Thief::Pod("app-0"), creation(json!({}))),
        ("labels", Thief::Pod("app-0"), creation(json!({"metadata": {"labels": {"app": "payments"}}}))),
        (
            // Of those that Kubernetes gives to nobody by itself while it has others.
            "a free node port",
            Thief::Pod("app-0"),
            creation(json!({"spec": {"ports": [{"port": 22, "nodePort": 30083}]}})),
        ),
        ("a free cluster IP", Thief::Pod("app-0"), creation(json!({"spec": {"clusterIP": "10.96.99.99"}}))),
        ("a narrower selector", Thief::Pod("app-0"), creation(json!({"spec": {"selector": {"app": "shop"}}}))),
        (
            "a StatefulSet's selector",
            Thief::Pod("app-0"),
            creation(
                json!({"spec": {"selector": {"ipfPodName": null, "statefulset.kubernetes.io/pod-name": "app-0"}}}),
            ),
        ),
        ("its pod's label", Thief::Pod("app-0"), Deed::ChangePod("app-0", label)),
        ("its pod's Service deleted", Thief::Pod("app-5"), Deed::DeleteService("app-5")),
        ("the same where it lost its label", Thief::Pod("app-6"), Deed::DeleteService("app-6")),
        ("the original tool's, of its name", Thief::Pod("app-4"), Deed::DeleteService("app-4")),
        ("the watcher: a living pod's Service", Thief::Watcher, Deed::DeleteService("app-1")),
        ("the watcher: the original tool's", Thief::Watcher, Deed::DeleteService("app-4")),
        ("the watcher: one without its label", Thief::Watcher, Deed::DeleteService("app-6")),
    ] {
        let answer = scene.ask(thief, &deed, Effect::DryRun).await;
        assert!(answer.is_ok(), "{what}: {answer:?}");
    }
}

/// The status of a pod belongs to the kubelet: what a patch of the pod itself says of it is ignored.
#[tokio::test]
async fn a_pods_status_does_not_change_with_its_label() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    let client = control_plane.client(&Credentials::Token(pod.bound_token().await));
    let patch = json!({"metadata": {"labels": {"ipfPodName": "app-0"}}, "status": {"phase": "Failed"}});
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::namespaced(client, namespace.name());
    let patched = pods.patch("app-0", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(patch)).await;
    assert_eq!(patched.unwrap().status, pod.object().status);
}

#[tokio::test]
async fn under_creator_yaml_nothing_else_is_permitted_at_all() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    let own = pod.service().create().await;
    let client = control_plane.client(&Credentials::Token(pod.bound_token().await));
    for (method, path) in [
        ("DELETE", "services/app-0"),
        ("DELETE", "services"),
        ("GET", "services"),
        ("PUT", "services/app-0"),
        ("PATCH", "services/app-0"),
        ("PATCH", "services/app-0/status"),
        ("GET", "pods"),
        ("GET", "pods/app-0"),
        ("PUT", "pods/app-0"),
        ("DELETE", "pods/app-0"),
        ("POST", "pods"),
        ("PATCH", "pods/app-0/status"),
        ("PATCH", "pods/app-0/ephemeralcontainers"),
        ("PATCH", "pods/app-0/resize"),
        ("POST", "pods/app-0/exec"),
        ("POST", "pods/app-0/eviction"),
        ("GET", "configmaps/ipf-dynamic-nodeport-service-creator"),
        ("GET", "secrets"),
        ("POST", "serviceaccounts/ipf-dynamic-nodeport-service-creator/token"),
        ("GET", "endpoints"),
    ] {
        let path = format!("/api/v1/namespaces/{}/{path}", namespace.name());
        let request =
            Request::builder().method(method).uri(&path).header("content-type", "application/merge-patch+json");
        let answer = client.request_text(request.body(b"{}".to_vec()).unwrap()).await;
        let Err(kube::Error::Api(status)) = answer else { panic!("{method} {path}: {answer:?}") };
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"), "{method} {path}: {status:?}");
        assert!(status.message.contains("cannot "), "{method} {path}: {}", status.message);
    }
    own.assert_untouched().await;
}
