//! A ValidatingAdmissionPolicy says no.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Run, eventually};
use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    core::v1::Service,
};
use kube::{Api, api::PostParams};
use serde_json::json;

use crate::{
    DEADLINE,
    check::{failed, services},
};

#[tokio::test]
async fn a_policys_refusal_ends_the_run_at_once_with_the_policys_own_text() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": {"name": "no-node-ports"},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]},
            ]},
            "matchConditions": [
                {"name": "here", "expression": format!("object.metadata.namespace == '{}'", namespace.name())},
            ],
            "validations": [{
                "expression": "object.spec.type != 'NodePort'",
                "message": "node ports are for team infra only",
                "reason": "Forbidden",
            }],
        },
    }))
    .unwrap();
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": {"name": "no-node-ports"},
        "spec": {"policyName": "no-node-ports", "validationActions": ["Deny"]},
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &policy).await.unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &binding).await.unwrap();
    let probe: Service = serde_json::from_value(json!({
        "metadata": {"name": "probe"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]},
    }))
    .unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    eventually(DEADLINE, "the policy has effect", async || {
        match namespace.api::<Service>().create(&dry_run, &probe).await {
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
    let pod = namespace.pod("app-0").create().await;

    let outcome = Run::creator(&pod).await.run().await;

    let text = "ValidatingAdmissionPolicy 'no-node-ports' with binding 'no-node-ports' denied request: \
                node ports are for team infra only";
    failed(&outcome, 4, &["cannot create Service", "/app-0", text]);
    assert!(outcome.elapsed() < Duration::from_secs(3), "{:?}", outcome.elapsed());
    assert!(services(&pod).await.is_empty());
}
