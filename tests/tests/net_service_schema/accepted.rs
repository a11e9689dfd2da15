//! What is accepted, and what is then stored.

use cluster_tests::harness::net_service::resource;
use kube::{
    Api,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use net_service::resource::{Group, Spec};
use serde_json::{Value, json};

use crate::support::{create, net_service, served};

/// Specs of each form that there is.
fn specs() -> Vec<Value> {
    let labels: serde_json::Map<_, _> = (0..64).map(|n| (format!("example.com/label-{n}"), "x".into())).collect();
    let ports: Vec<_> =
        (1..=100).map(|n| json!({"name": format!("port-{n}"), "port": n, "nodePort": 30000 + n})).collect();
    vec![
        json!({}),
        json!({"selector": {}, "netAttachDef": "core", "ports": []}),
        json!({"netAttachDef": "other-namespace/core.v2", "interface": "net2", "selector": {"app": ""}}),
        json!({"netAttachDef": "core", "selector": {"app": "sip"}, "addressPolicy": "First", "ipFamilies": ["IPv6", "IPv4"],
               "publishNotReadyAddresses": true}),
        json!({"type": "Headless", "ports": [{"port": 5060, "protocol": "UDP"}]}),
        json!({"type": "ClusterIP", "ipFamilies": ["IPv6"], "ports": [{"port": 80, "targetPort": "http", "appProtocol": "http"}]}),
        json!({"type": "NodePort", "ports": [
            {"name": "sip", "port": 5060, "targetPort": 5060, "nodePort": 30060, "appProtocol": "example.com/sip"},
            {"name": "sip-udp", "port": 5060, "protocol": "UDP", "nodePort": 30060},
            {"name": "sip-sctp", "port": 5060, "targetPort": "5060-sctp", "protocol": "SCTP"},
        ]}),
        json!({"type": "NodePort", "selector": labels, "ports": ports}),
    ]
}

#[tokio::test]
async fn every_form_is_accepted_in_both_groups_and_read_back_as_it_was_written() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    for group in Group::ALL {
        for spec in specs() {
            let stored = create(&namespace, group, net_service(group, "sip", &spec)).await;
            let stored = stored.unwrap_or_else(|error| panic!("{group}: {spec}: {error}"));
            let read = |spec: &Value| serde_json::from_value::<Spec>(spec.clone()).unwrap();
            assert_eq!(read(&stored["spec"]), read(&spec), "{group}: {spec}");
        }
    }
}

#[tokio::test]
async fn a_services_name_is_accepted_be_it_long_or_begin_with_a_digit() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    for name in ["a", "0-9", "foo-template", &"a".repeat(63)] {
        let stored = create(&namespace, Group::Own, net_service(Group::Own, name, &json!({}))).await;
        stored.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[tokio::test]
async fn what_is_not_said_is_filled_in() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    let spec = json!({"netAttachDef": "core", "ports": [{"port": 80}]});
    let stored = create(&namespace, Group::Original, net_service(Group::Original, "corens", &spec)).await.unwrap();
    let filled = json!({"netAttachDef": "core", "type": "Headless", "addressPolicy": "All", "publishNotReadyAddresses": false,
                        "ports": [{"port": 80, "protocol": "TCP"}]});
    assert_eq!(stored["spec"], filled);
}

#[tokio::test]
async fn the_status_is_written_apart_and_columns_show_it() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    let api: Api<DynamicObject> = Api::namespaced_with(namespace.admin(), namespace.name(), &resource(Group::Own));
    let mut document = net_service(Group::Own, "sip", &json!({"netAttachDef": "core"}));
    document["status"] = json!({"endpoints": 7});
    let created = api.create(&PostParams::default(), &serde_json::from_value(document).unwrap()).await.unwrap();
    assert_eq!(created.data.get("status"), None, "it is the controller's");
    let status = json!({"status": {
        "service": "sip", "endpoints": 3, "nodePorts": [30060], "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Reconciled", "message": "", "observedGeneration": 1,
                        "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }, "spec": {"netAttachDef": "changed"}});
    let patched = api.patch_status("sip", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    assert_eq!(patched.data["status"], status["status"]);
    assert_eq!(patched.data["spec"]["netAttachDef"], "core");

    let path = format!("{}?limit=1", api.resource_url());
    let request = http::Request::get(path).header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = namespace.admin().request(request.body(Vec::new()).unwrap()).await.unwrap();
    let columns: Vec<_> = table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Name", "Type", "Network", "Endpoints", "Ready", "Reason", "Age"]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[..6], json!(["sip", "Headless", "core", 3, "True", "Reconciled"]).as_array().unwrap()[..]);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
}
