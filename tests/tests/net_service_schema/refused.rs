//! What is refused, and that the message names the field and says what to do.

use net_service::resource::Group;
use serde_json::{Value, json};

use crate::support::{create, net_service, served};

/// Specs that are refused, the field that the message names, and what else it says.
fn specs() -> Vec<(Value, &'static str, &'static str)> {
    let port = |fields: Value| json!({"type": "NodePort", "ports": [fields]});
    let several = |first: Value, second: Value| json!({"type": "NodePort", "ports": [first, second]});
    let many: Vec<_> = (1..=101).map(|n| json!({"name": format!("port-{n}"), "port": n})).collect();
    vec![
        (json!({"netAttachDef": ""}), "spec.netAttachDef", "or remove netAttachDef for the pod network"),
        (json!({"netAttachDef": "Core"}), "spec.netAttachDef", "must be the name of a NetworkAttachmentDefinition"),
        (json!({"netAttachDef": "a/b/c"}), "spec.netAttachDef", "or namespace/name"),
        (json!({"netAttachDef": "/core"}), "spec.netAttachDef", "or namespace/name"),
        (json!({"netAttachDef": "a".repeat(318)}), "spec.netAttachDef", "may not be more than 317"),
        (json!({"netAttachDef": "core", "interface": ""}), "spec.interface", "should be at least 1 chars long"),
        (json!({"netAttachDef": "core", "interface": "0123456789abcdef"}), "spec.interface", "may not be more than 15"),
        (json!({"interface": "net1"}), "spec.interface", "or remove interface"),
        (json!({"selector": {"app": "no label"}}), "spec.selector", "must be a label's value"),
        (json!({"selector": {"app": "a".repeat(64)}}), "spec.selector", "may not be more than 63"),
        (json!({"selector": {"app": 1}}), "spec.selector.app", "must be of type string"),
        (json!({"selector": {"matchLabels": {"app": "sip"}}}), "spec.selector.matchLabels", "unknown field"),
        (json!({"type": "LoadBalancer"}), "spec.type", "supported values: \"Headless\", \"ClusterIP\", \"NodePort\""),
        (json!({"addressPolicy": "Last"}), "spec.addressPolicy", "supported values: \"First\", \"All\""),
        (json!({"ipFamilies": ["IPv4", "IPv4"]}), "spec.ipFamilies", "remove one of them"),
        (json!({"ipFamilies": ["IPv4", "IPv6", "IPv4"]}), "spec.ipFamilies", "must have at most 2 items"),
        (json!({"ipFamilies": ["ipv4"]}), "spec.ipFamilies[0]", "supported values: \"IPv4\", \"IPv6\""),
        (json!({"type": "ClusterIP"}), "spec.ports", "add it, or use type Headless"),
        (json!({"type": "NodePort", "ports": []}), "spec.ports", "add it, or use type Headless"),
        (json!({"ports": [{"port": 80, "nodePort": 30080}]}), "spec.ports", "set that, or remove nodePort"),
        (
            json!({"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30080}]}),
            "spec.ports",
            "nodePort needs type NodePort",
        ),
        (json!({"ports": many}), "spec.ports", "must have at most 100 items"),
        (port(json!({"name": "http"})), "spec.ports[0].port", "Required value"),
        (port(json!({"port": 0})), "spec.ports[0].port", "should be greater than or equal to 1"),
        (port(json!({"port": 65536})), "spec.ports[0].port", "should be less than or equal to 65535"),
        (port(json!({"port": "http"})), "spec.ports[0].port", "must be of type integer"),
        (port(json!({"port": 80, "name": "HTTP"})), "spec.ports[0].name", "must be lower-case letters"),
        (port(json!({"port": 80, "name": "a".repeat(64)})), "spec.ports[0].name", "may not be more than 63"),
        (
            port(json!({"port": 80, "protocol": "tcp"})),
            "spec.ports[0].protocol",
            "supported values: \"TCP\", \"UDP\", \"SCTP\"",
        ),
        (
            port(json!({"port": 80, "targetPort": 0})),
            "spec.ports[0].targetPort",
            "should be greater than or equal to 1",
        ),
        (
            port(json!({"port": 80, "targetPort": 65536})),
            "spec.ports[0].targetPort",
            "should be less than or equal to 65535",
        ),
        (port(json!({"port": 80, "targetPort": "8080"})), "spec.ports[0].targetPort", "should match"),
        (port(json!({"port": 80, "targetPort": "a--b"})), "spec.ports[0].targetPort", "should match"),
        (
            port(json!({"port": 80, "targetPort": "0123456789abcdef"})),
            "spec.ports[0].targetPort",
            "may not be more than 15",
        ),
        (port(json!({"port": 80, "targetPort": [80]})), "spec.ports[0].targetPort", "must be of type integer,string"),
        (
            port(json!({"port": 80, "nodePort": 65536})),
            "spec.ports[0].nodePort",
            "should be less than or equal to 65535",
        ),
        (
            port(json!({"port": 80, "appProtocol": "h t"})),
            "spec.ports[0].appProtocol",
            "must be a protocol's name of IANA",
        ),
        (
            several(json!({"port": 80, "name": "a"}), json!({"port": 80, "name": "b"})),
            "spec.ports[1]",
            "Duplicate value",
        ),
        (several(json!({"port": 80, "name": "a"}), json!({"port": 81})), "spec.ports", "give each its own"),
        (
            several(json!({"port": 80, "name": "a"}), json!({"port": 81, "name": "a"})),
            "spec.ports",
            "two ports have one name",
        ),
        (
            several(
                json!({"port": 80, "name": "a", "nodePort": 30080}),
                json!({"port": 81, "name": "b", "nodePort": 30080}),
            ),
            "spec.ports",
            "two ports have one nodePort",
        ),
        (json!({"selektor": {"app": "sip"}}), "spec.selektor", "unknown field"),
    ]
}

#[tokio::test]
async fn a_wrong_field_is_named_with_what_to_do() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    let mut wrong = Vec::new();
    for group in Group::ALL {
        for (spec, field, says) in specs() {
            match create(&namespace, group, net_service(group, "sip", &spec)).await {
                Err(message) if message.contains(field) && message.contains(says) => {}
                Err(message) => wrong.push(format!("{spec}: {message}")),
                Ok(_) => wrong.push(format!("{spec} is accepted")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_name_that_no_service_may_have_is_refused() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    for name in ["sip.core", &"a".repeat(64)] {
        let refused = create(&namespace, Group::Own, net_service(Group::Own, name, &json!({}))).await;
        let message = refused.expect_err(&format!("{name} is accepted"));
        assert!(message.contains("metadata.name must be a Service's: at most 63 lower-case letters"), "{message}");
    }
}

#[tokio::test]
async fn a_net_service_without_a_spec_is_refused() {
    let Some(control_plane) = served().await else { return };
    let namespace = control_plane.namespace().await;
    let mut document = net_service(Group::Own, "sip", &json!({}));
    document.as_object_mut().unwrap().remove("spec");
    let message = create(&namespace, Group::Own, document).await.unwrap_err();
    assert!(message.contains("spec: Required value"), "{message}");
}
