//! The API refuses what the controller writes: by a policy, a quota, or because the namespace ends.

use cluster_tests::{
    harness::{Namespace, eventually},
    net_service::{NetPod, NetService, ready, start},
};
use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    core::v1::{ConfigMap, Namespace as NamespaceObject, ResourceQuota},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{DEADLINE, RECOVERED, log::few_complaints, scene::namespace};

fn spec(kind: &str) -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": kind, "ports": [{"port": 80}]})
}

/// Nobody writes objects of this kind in the namespace.
async fn forbid(namespace: &Namespace<'_>, group: &str, resource: &str) -> String {
    let name = format!("{}-{resource}", namespace.name());
    let here = format!("object.metadata.namespace == '{}'", namespace.name());
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]},
            ]},
            "matchConditions": [{"name": "here", "expression": here}],
            "validations": [{"expression": "false", "message": "team infra wants none", "reason": "Forbidden"}],
        },
    }))
    .unwrap();
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]},
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &policy).await.unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &binding).await.unwrap();
    name
}

#[tokio::test]
async fn what_a_policy_refuses_is_told_with_its_reason_and_made_once_it_may_be() {
    for (group, resource) in [("", "services"), ("discovery.k8s.io", "endpointslices")] {
        let Some(namespace) = namespace().await else { return };
        let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
        let name = forbid(&namespace, group, resource).await;
        eventually(DEADLINE, "the policy has effect", async || {
            let object = match resource {
                "services" => json!({"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "None"}}),
                _ => json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": []}),
            };
            let api = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") };
            let path = format!("{api}/namespaces/{}/{resource}?dryRun=All", namespace.name());
            let mut object = object;
            object["metadata"] = json!({"name": "probe"});
            let request = http::Request::post(path).header("Content-Type", "application/json");
            let request = request.body(serde_json::to_vec(&object).unwrap()).unwrap();
            match namespace.admin().request_text(request).await {
                Err(kube::Error::Api(status)) if status.message.contains("team infra") => Ok(()),
                seen => Err(format!("{seen:?}")),
            }
        })
        .await;
        let running = start(&namespace).await;
        let sip = NetService::create(&namespace, "sip", spec("ClusterIP")).await;
        let refused = eventually(RECOVERED, "the refusal is told", async || {
            let ready = sip.status().await["conditions"][0].clone();
            if ready["message"].as_str().unwrap_or_default().contains("team infra") { Ok(ready) } else { Err(ready) }
        })
        .await;
        assert_eq!(refused["status"], "False", "{refused}");
        few_complaints(&running, 4);
        Api::<ValidatingAdmissionPolicyBinding>::all(namespace.admin())
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
        sip.told("Reconciled").await;
        sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
        running.terminate().await.expect_code(0);
    }
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_told_and_a_service_made_once_there_is_room() {
    let Some(namespace) = namespace().await else { return };
    let quota: ResourceQuota = serde_json::from_value(json!({
        "metadata": {"name": "few"}, "spec": {"hard": {"services.nodeports": "0"}},
    }))
    .unwrap();
    let quotas: Api<ResourceQuota> = namespace.api();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
    eventually(DEADLINE, "the quota counts", async || {
        match quotas.get("few").await.unwrap().status.and_then(|status| status.used) {
            Some(_) => Ok(()),
            None => Err("not yet"),
        }
    })
    .await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let running = start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", spec("NodePort")).await;
    let told = sip.told("ServiceRefused").await;
    assert!(told.contains("exceeded quota: few"), "{told}");
    few_complaints(&running, 3);
    quotas.delete("few", &DeleteParams::default()).await.unwrap();
    sip.told("Reconciled").await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn a_namespace_that_ends_is_left_without_a_flood_of_requests() {
    let Some(namespace) = namespace().await else { return };
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    // It holds the namespace for a while; a pod would hold all the rest.
    let held: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "held", "finalizers": ["tests.example/held"]}})).unwrap();
    let held_maps: Api<ConfigMap> = namespace.api();
    held_maps.create(&PostParams::default(), &held).await.unwrap();
    let running = start(&namespace).await;
    let sip = NetService::create(&namespace, "sip", spec("ClusterIP")).await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    let namespaces: Api<NamespaceObject> = Api::all(namespace.admin());
    namespaces.delete(namespace.name(), &DeleteParams::default()).await.unwrap();
    eventually(DEADLINE, "the Service is gone", async || match sip.service().await {
        None => Ok(()),
        Some(_) => Err("it is there"),
    })
    .await;
    let before = namespace.requests().await.len();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let asked = namespace.requests().await.len() - before;
    assert!(asked <= 60, "{asked} requests");
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    held_maps.patch("held", &PatchParams::default(), &release).await.unwrap();
    few_complaints(&running, 12);
    // Its account is gone with the namespace: the Lease cannot be given back.
    running.terminate().await.expect_code(0);
}
