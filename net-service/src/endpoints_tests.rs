//! Behaviours 6 to 9 as tables: which addresses become endpoints, of which pods, with which ports and conditions.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{network::NetworkStatus, pod};

fn spec(value: Value) -> Spec {
    let mut spec: Spec = serde_json::from_value(value).unwrap();
    spec.selector = BTreeMap::from([("app".to_owned(), "sip".to_owned())]);
    spec
}

/// A ready pod on the pod network and on `core`, with these addresses.
fn pod(name: &str, core: &[&str]) -> Pod {
    let status = json!([{"name": "default/core", "interface": "net1", "ips": core}]);
    let object = json!({
        "metadata": {"name": name, "uid": format!("u-{name}"), "labels": {"app": "sip"},
                     "annotations": {"k8s.v1.cni.cncf.io/network-status": status.to_string()}},
        "spec": {"nodeName": "node1"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.244.1.5"}], "conditions": [{"type": "Ready", "status": "True"}]},
    });
    serde_json::from_value::<pod::Object>(object).unwrap().kept(name.into())
}

fn found(spec: &Spec, served: Option<&[IpFamily]>, pods: &[Pod]) -> Endpoints {
    endpoints("default", "sip", spec, served, pods.iter())
}

/// All addresses, in their order.
fn addresses(spec: &Spec, served: Option<&[IpFamily]>, pods: &[Pod]) -> Vec<String> {
    let sets = found(spec, served, pods).sets;
    sets.iter()
        .flat_map(|set| &set.endpoints)
        .flat_map(|endpoint| &endpoint.addresses)
        .map(ToString::to_string)
        .collect()
}

fn core() -> Spec {
    spec(json!({"netAttachDef": "core"}))
}

#[test]
fn behaviour_6_first_or_all_addresses_one_endpoint_each() {
    let both = ["10.50.0.4", "10.50.0.5", "fd00::4", "fd00::5"];
    let pods = [pod("a", &both)];
    assert_eq!(addresses(&core(), None, &pods), both);
    let first = spec(json!({"netAttachDef": "core", "addressPolicy": "First"}));
    assert_eq!(addresses(&first, None, &pods), ["10.50.0.4", "fd00::4"]);
    let behind = [pod("a", &["127.0.0.1", "10.50.0.5", "10.50.0.6"])];
    assert_eq!(addresses(&first, None, &behind), ["10.50.0.5"], "the first that can be used");
    let six = spec(json!({"netAttachDef": "core", "ipFamilies": ["IPv6"]}));
    assert_eq!(addresses(&six, None, &pods), ["fd00::4", "fd00::5"]);
    assert_eq!(
        addresses(&core(), Some(&[IpFamily::V4]), &pods),
        ["10.50.0.4", "10.50.0.5"],
        "what the Service was given"
    );
    assert!(addresses(&six, Some(&[IpFamily::V4]), &pods).is_empty());
}

#[test]
fn behaviour_6_addresses_that_mean_something_else_elsewhere_are_refused() {
    let refused = [
        "127.0.0.1",
        "169.254.1.1",
        "224.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "ff02::1",
        "::",
        "::ffff:10.0.0.1",
    ];
    let found = found(&core(), None, &[pod("a", &refused)]);
    assert_eq!((found.sets.len(), found.attached), (0, 1));
}

#[test]
fn behaviour_1_no_address_of_another_network_leaks_in() {
    let pods = [pod("a", &["10.50.0.4"])];
    let of = |value| addresses(&spec(value), None, &pods);
    assert_eq!(of(json!({})), ["10.244.1.5"], "without a network it is the pod network");
    assert_eq!(of(json!({"netAttachDef": "core"})), ["10.50.0.4"]);
    assert_eq!(of(json!({"netAttachDef": "default/core"})), ["10.50.0.4"]);
    assert!(of(json!({"netAttachDef": "other/core"})).is_empty());
    assert!(of(json!({"netAttachDef": "access"})).is_empty());
    let nowhere = found(&spec(json!({"netAttachDef": "access"})), None, &pods);
    assert_eq!((nowhere.pods, nowhere.attached), (1, 0));
}

#[test]
fn a_network_that_is_attached_twice_is_told_apart_by_its_interface() {
    let mut twice = pod("a", &[]);
    let status = r#"[{"name":"core","interface":"net1","ips":["10.50.0.4"]},{"name":"core","interface":"net2","ips":["10.50.0.5"]}]"#;
    twice.networks = crate::network::parse(status);
    let of = |value| addresses(&spec(value), None, std::slice::from_ref(&twice));
    assert_eq!(of(json!({"netAttachDef": "core", "interface": "net2"})), ["10.50.0.5"]);
    assert_eq!(of(json!({"netAttachDef": "core"})), ["10.50.0.4", "10.50.0.5"]);
    assert_eq!(of(json!({"netAttachDef": "core", "addressPolicy": "First"})), ["10.50.0.4"]);
    assert!(of(json!({"netAttachDef": "core", "interface": "net3"})).is_empty());
}

#[test]
fn behaviour_7_conditions_are_those_of_the_endpoint_slice_controller() {
    let published = spec(json!({"netAttachDef": "core", "publishNotReadyAddresses": true}));
    for (stage, is_ready, expected, expected_published) in [
        (Stage::Alive, true, (true, true, false), true),
        (Stage::Alive, false, (false, false, false), true),
        (Stage::Terminating, true, (false, true, true), true),
        (Stage::Terminating, false, (false, false, true), true),
    ] {
        let pods = [Pod { stage, is_ready, ..pod("a", &["10.50.0.4"]) }];
        let conditions = |spec: &Spec| found(spec, None, &pods).sets[0].endpoints[0].conditions;
        let (ready, serving, terminating) = expected;
        let expected = Conditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) };
        assert_eq!(conditions(&core()), expected);
        assert_eq!(conditions(&published), Conditions { ready: Some(expected_published), ..expected });
    }
    let finished = Pod { stage: Stage::Finished, ..pod("a", &["10.50.0.4"]) };
    assert_eq!(found(&published, None, &[finished]), Endpoints::default());
}

#[test]
fn behaviour_7_a_pod_in_its_nodes_network_is_on_the_pod_network_only() {
    let pods = [Pod { has_host_network: true, ..pod("a", &["10.50.0.4"]) }];
    assert!(addresses(&core(), None, &pods).is_empty());
    assert_eq!(addresses(&spec(json!({})), None, &pods), ["10.244.1.5"]);
}

#[test]
fn behaviour_7_of_two_pods_with_one_address_the_live_one_has_it() {
    let at = |second: i64| Some(Timestamp::from_second(second).unwrap());
    let old = Pod { created: at(1), ..pod("a", &["10.50.0.4"]) };
    let new = Pod { created: at(2), ..pod("b", &["10.50.0.4"]) };
    let holder = |one: &Pod, other: &Pod| {
        let names = [[one.clone(), other.clone()], [other.clone(), one.clone()]].map(|pods| {
            let sets = found(&core(), None, &pods).sets;
            assert_eq!((sets.len(), sets[0].endpoints.len()), (1, 1));
            sets[0].endpoints[0].target_ref.as_ref().unwrap().name.to_string()
        });
        assert_eq!(names[0], names[1], "in whatever order they come");
        names[0].clone()
    };
    assert_eq!(holder(&old, &new), "b", "the newer");
    assert_eq!(holder(&old, &Pod { is_ready: false, ..new.clone() }), "a", "the one that is ready");
    assert_eq!(holder(&old, &Pod { stage: Stage::Terminating, ..new.clone() }), "a", "the one that lives");
    let starting = Pod { is_ready: false, ..new };
    assert_eq!(holder(&Pod { stage: Stage::Terminating, ..old }, &starting), "b", "which need not be ready");
}

#[test]
fn behaviour_8_ports_are_each_pods_own() {
    let named = |name: &str, number: u16| {
        let port = pod::NamedPort { name: "sip".into(), number, protocol: Protocol::Udp };
        Pod { ports: [port].into(), ..pod(name, &["10.50.0.4"]) }
    };
    let ports = json!([
        {"name": "sip", "port": 5060, "targetPort": "sip", "protocol": "UDP", "appProtocol": "sip"},
        {"name": "media", "port": 80, "targetPort": 8080, "protocol": "SCTP"},
        {"name": "same", "port": 81},
    ]);
    let spec = spec(json!({"netAttachDef": "core", "type": "ClusterIP", "ports": ports}));
    let resolved = |pod| -> Vec<_> {
        let set = found(&spec, None, &[pod]).sets.remove(0);
        set.ports.into_iter().map(|port| (port.name.to_string(), port.port.unwrap(), port.protocol)).collect()
    };
    let rest = [("media".to_owned(), 8080, Protocol::Sctp), ("same".to_owned(), 81, Protocol::Tcp)];
    let with = |number| [vec![("sip".to_owned(), number, Protocol::Udp)], rest.to_vec()].concat();
    assert_eq!(resolved(named("a", 5060)), with(5060));
    assert_eq!(resolved(named("a", 5061)), with(5061));
    assert_eq!(resolved(pod("a", &["10.50.0.4"])), rest, "one that lacks the port has the others");
    let mut other = named("b", 5061);
    other.networks = pod("b", &["10.50.0.5"]).networks;
    assert_eq!(found(&spec, None, &[named("a", 5060), other]).sets.len(), 2, "a set for each list of ports");

    let only = |kind| {
        crate::endpoints::tests::spec(json!({
            "netAttachDef": "core", "type": kind, "ports": [{"port": 5060, "targetPort": "sip"}],
        }))
    };
    let lacks = [pod("a", &["10.50.0.4"])];
    assert!(addresses(&only("NodePort"), None, &lacks).is_empty(), "nobody could use it");
    assert_eq!(addresses(&only("Headless"), None, &lacks), ["10.50.0.4"], "its name still resolves");
    assert_eq!(addresses(&core(), None, &lacks), ["10.50.0.4"], "headless needs no ports");
}

#[test]
fn behaviour_9_an_endpoint_says_which_pod_where() {
    let mut labelled = pod("a", &["10.50.0.4"]);
    labelled.labels =
        [("app", "sip"), ("topology.kubernetes.io/zone", "z1")].map(|(key, value)| (key.into(), value.into())).into();
    labelled.hostname = Some(("a".into(), "sip".into()));
    let told = |pod: &Pod| {
        serde_json::to_value(&found(&core(), None, std::slice::from_ref(pod)).sets[0].endpoints[0]).unwrap()
    };
    assert_eq!(
        told(&labelled),
        json!({
            "addresses": ["10.50.0.4"],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "hostname": "a", "nodeName": "node1", "zone": "z1",
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "a", "uid": "u-a"},
        })
    );
    let elsewhere = Pod { hostname: Some(("a".into(), "other".into())), node: None, ..pod("a", &["10.50.0.4"]) };
    let told = told(&elsewhere);
    assert_eq!((told.get("hostname"), told.get("nodeName"), told.get("zone")), (None, None, None));
}

#[test]
fn pods_that_have_not_been_attached_yet_are_not_missed() {
    let starting = Pod { addresses: [].into(), networks: NetworkStatus::default(), ..pod("a", &[]) };
    assert_eq!(found(&core(), None, &[starting]), Endpoints::default());
}
