//! Behaviour 3: whose a name is.

use cluster_tests::harness::eventually;
use cluster_tests::net_service::{self as scene, NetPod, NetService, PATIENCE, ready};
use k8s_openapi::api::core::v1::Service;
use kube::{Api, ResourceExt, api::DeleteParams};
use net_service::resource::Group;
use serde_json::{Value, json};

fn core() -> Value {
    json!({"netAttachDef": "core", "selector": {"app": "utils"}})
}

#[tokio::test]
async fn behaviour_3_a_name_and_the_name_of_the_originals_template_can_coexist() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    for name in ["foo", "foo-template"] {
        let service = NetService::create(&namespace, name, core()).await;
        service.endpoints(&[&ready("10.50.0.4", "a")]).await;
        service.told("Reconciled").await;
    }
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_3_a_service_that_is_not_ours_stays_untouched_and_its_end_is_noticed() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).create(&namespace).await;
    let foreign = namespace.foreign_service("sip").create().await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    let told = sip.told("NameConflict").await;
    assert!(told.contains(&format!("Service {}/sip is not of this NetService", namespace.name())), "{told}");
    assert_eq!(sip.status().await.get("service"), None);
    sip.edit(json!({"type": "NodePort", "ports": [{"port": 80}]})).await;
    sip.told("NameConflict").await;
    sip.delete().await;
    let sip = NetService::create(&namespace, "sip", core()).await;
    sip.told("NameConflict").await;
    foreign.assert_untouched().await;
    sip.endpoints(&[]).await;

    let services: Api<Service> = namespace.api();
    services.delete("sip", &DeleteParams::default()).await.unwrap();
    sip.told("Reconciled").await;
    sip.endpoints(&[&ready("10.50.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
}

#[tokio::test]
async fn behaviour_3_of_one_name_in_both_groups_the_first_holder_keeps_it() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    let _pod = NetPod::new("a").on("core", &["10.50.0.4"]).on("access", &["10.51.0.4"]).create(&namespace).await;
    let first = NetService::of(&namespace, Group::Original, "sip").made(core()).await;
    first.endpoints(&[&ready("10.50.0.4", "a")]).await;
    let uid = first.service().await.unwrap().uid();
    let second =
        NetService::create(&namespace, "sip", json!({"netAttachDef": "access", "selector": {"app": "utils"}})).await;
    let told = second.told("NameConflict").await;
    assert!(told.contains("of group svcctl.metaswitch.com was first"), "{told}");
    first.told("Reconciled").await;
    assert_eq!(first.service().await.unwrap().uid(), uid);
    first.endpoints(&[&ready("10.50.0.4", "a")]).await;
    first.delete().await;
    second.told("Reconciled").await;
    second.endpoints(&[&ready("10.51.0.4", "a")]).await;
    running.terminate().await.expect_code(0);
}

/// Somebody creates the Service in the moment in which the controller does.
#[tokio::test]
async fn behaviour_3_whoever_is_faster_a_foreign_service_is_never_changed() {
    let Some(namespace) = scene::namespace().await else { return };
    let running = scene::start(&namespace).await;
    for round in 0..10 {
        let name = format!("sip-{round}");
        let services: Api<Service> = namespace.api();
        let object: Service = serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": {"clusterIP": "None", "selector": {"app": "theirs"}},
        }))
        .unwrap();
        let create_params = kube::api::PostParams::default();
        let net_service = NetService::of(&namespace, Group::Own, &name);
        let (made, theirs) = tokio::join!(net_service.try_make(core()), services.create(&create_params, &object));
        made.unwrap();
        match theirs {
            Ok(theirs) => {
                net_service.told("NameConflict").await;
                assert_eq!(services.get(&name).await.unwrap().resource_version(), theirs.resource_version());
            }
            Err(_ours_was_first) => drop(net_service.told("Reconciled").await),
        }
    }
    eventually(PATIENCE, "it goes on", async || {
        let all = scene::api(&namespace, Group::Own).list(&kube::api::ListParams::default()).await.unwrap().items;
        if all.len() == 10 { Ok(()) } else { Err(all.len()) }
    })
    .await;
    running.terminate().await.expect_code(0);
}
