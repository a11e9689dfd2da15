//! A Service that cannot be deleted: a policy forbids it, or a finalizer holds it.

use cluster_tests::harness::{ControlPlane, Namespace, Run, eventually};
use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    core::v1::Service as ServiceObject,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::{complains, few_lines, watching},
};

const NAME: &str = "watcher-may-not-delete";

/// Nobody deletes this Service.
async fn forbid(namespace: &Namespace<'_>, service: &str) {
    let here =
        format!("oldObject.metadata.namespace == '{}' && oldObject.metadata.name == '{service}'", namespace.name());
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["services"]},
            ]},
            "matchConditions": [{"name": "here", "expression": here}],
            "validations": [{"expression": "false", "message": "team infra keeps this one", "reason": "Forbidden"}],
        },
    }))
    .unwrap();
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &policy).await.unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &binding).await.unwrap();
    let services: Api<ServiceObject> = namespace.api();
    eventually(DEADLINE, "the policy has effect", async || {
        match services.delete(service, &DeleteParams::default().dry_run()).await {
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn one_service_that_cannot_be_deleted_keeps_no_other_from_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("kept").host_ips(&[]).create().await;
    let kept = pod.service().without_owner().headless().create().await;
    let pod_of_held = namespace.pod("held").host_ips(&[]).create().await;
    let mut held = pod_of_held.service().without_owner().headless().finalizer("example.org/hold").create().await;
    forbid(&namespace, "kept").await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let watcher = Run::watcher(&namespace).await.args(["--scan-interval", "2s"]).spawn();
    watching(&watcher).await;

    pod.delete().await;
    pod_of_held.delete().await;
    complains(&watcher, "team infra keeps this one").await;
    for round in 0..3 {
        let fleet = Fleet::launch(&namespace, &format!("app-{round}"), 30).await;
        fleet.delete_pods().await;
        println!("beside one that may not be deleted: gone after {:?}", fleet.collected(RECOVERED).await);
    }
    watcher.logged_times(4, "scanned").await;
    kept.assert_untouched().await;
    assert!(held.current().await.unwrap().metadata.deletion_timestamp.is_some());
    let refused = namespace.requests().await.into_iter().filter(|event| event.verb == "delete" && event.name == "kept");
    let refused = refused.count();
    println!("{refused} tries to delete the one that a policy keeps");
    assert!(refused <= 20, "{refused} tries");
    few_lines(&watcher, 12);

    // When the policy is gone, so is the Service; the finalizer's owner lets the other one go.
    let refused_last = namespace.requests().await.len();
    Api::<ValidatingAdmissionPolicyBinding>::all(namespace.admin())
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    held.edit(json!({"metadata": {"finalizers": null}})).await;
    held.gone().await;
    eventually(DEADLINE, "it is deleted once it may be", async || match kept.current().await {
        None => Ok(()),
        Some(_) => Err(format!("{refused_last} requests before\n{}", watcher.stderr())),
    })
    .await;
    staying.assert_untouched().await;
}
