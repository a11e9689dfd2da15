use serde_json::{Value, json};

use super::*;
use crate::names::SLICES_MANAGED_BY;

fn there<T: serde::de::DeserializeOwned>(object: Value) -> Seen<T> {
    Seen::There(serde_json::from_value(object).unwrap())
}

fn metadata(name: &str, uid: &str, version: u32) -> Value {
    json!({"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version.to_string()})
}

fn net_service(name: &str, uid: &str, app: &str, version: u32) -> Value {
    let mut metadata = metadata(name, uid, version);
    metadata["creationTimestamp"] = json!(format!("2026-12-01T00:00:{version:02}Z"));
    json!({"metadata": metadata, "spec": {"selector": {"app": app}}})
}

fn pod(name: &str, app: &str, is_ready: bool) -> Value {
    let mut metadata = metadata(name, &format!("u-{name}"), 1);
    metadata["labels"] = json!({"app": app});
    json!({"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "False" }}]}})
}

/// An index with everything listed, and these NetServices in it.
fn index(net_services: &[(Group, Value)]) -> Index {
    let mut index = Index::default();
    for report in [
        Report::NetService(Group::Own, Seen::Listed),
        Report::NetService(Group::Original, Seen::Listed),
        Report::Pod(Seen::Listed),
        Report::Service(Seen::Listed),
        Report::Slice(Seen::Listed),
    ] {
        assert!(!index.is_complete());
        index.note(report);
    }
    assert!(index.is_complete());
    for (group, object) in net_services {
        index.note(Report::NetService(*group, there(object.clone())));
    }
    index
}

fn names(concerned: &BTreeSet<Name>) -> Vec<String> {
    concerned.iter().map(|(key, _)| key.name.to_string()).collect()
}

#[test]
fn behaviour_2_a_pod_concerns_those_that_select_it_now_or_did_before() {
    let mut index =
        index(&[(Group::Own, net_service("a", "n1", "a", 1)), (Group::Original, net_service("b", "n2", "b", 1))]);
    let mut note = |object| names(&index.note(Report::Pod(object)).0);
    assert_eq!(note(there(pod("p", "a", false))), ["a"]);
    assert_eq!(note(there(pod("p", "a", false))), Vec::<String>::new(), "nothing that counts has changed");
    assert_eq!(note(there(pod("p", "a", true))), ["a"]);
    assert_eq!(note(there(pod("p", "b", true))), ["a", "b"], "relabelled");
    assert_eq!(note(there(pod("q", "c", true))), Vec::<String>::new());
    assert_eq!(note(Seen::Listing), Vec::<String>::new());
    assert_eq!(note(there(pod("q", "c", true))), Vec::<String>::new());
    assert_eq!(note(Seen::Listed), ["b"], "it went while nobody watched");
}

#[test]
fn behaviour_3_the_first_holder_of_a_name_keeps_it() {
    let both = [(Group::Own, net_service("a", "n2", "a", 2)), (Group::Original, net_service("a", "n1", "a", 1))];
    let mut index = index(&both);
    let key = Key::new("ns", "a");
    let first = |index: &Index, group| {
        index.situation(&(key.clone(), group), Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1.first
    };
    assert_eq!(first(&index, Group::Own), Some(Group::Original), "the older");
    assert_eq!(first(&index, Group::Original), None);
    let mut service = metadata("a", "s1", 3);
    service["ownerReferences"] = json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": "a", "uid": "n2", "controller": true}]);
    let (concerned, _) = index.note(Report::Service(there(json!({"metadata": service}))));
    assert_eq!(concerned.len(), 2);
    assert_eq!(first(&index, Group::Own), None, "the Service's owner");
    assert_eq!(first(&index, Group::Original), Some(Group::Own));
    let gone = Seen::Gone(serde_json::from_value(both[0].1.clone()).unwrap());
    let (concerned, _) = index.note(Report::NetService(Group::Own, gone));
    assert_eq!(concerned.len(), 2, "the other waited for it, and itself is to be forgotten");
    assert_eq!(first(&index, Group::Original), None);
}

#[test]
fn behaviour_3_who_holds_a_name_keeps_it_while_the_service_is_made_anew() {
    let mut holder = net_service("a", "n2", "a", 2);
    holder["status"] = json!({"service": "a"});
    let index = index(&[(Group::Own, holder), (Group::Original, net_service("a", "n1", "a", 1))]);
    let name = (Key::new("ns", "a"), Group::Own);
    assert_eq!(
        index.situation(&name, Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1.first,
        None,
        "though it is the younger"
    );
}

#[test]
fn what_is_gone_concerns_itself_so_that_it_is_forgotten() {
    let object = net_service("a", "n1", "a", 1);
    let mut index = index(&[(Group::Own, object.clone())]);
    let gone = Seen::Gone(serde_json::from_value(object.clone()).unwrap());
    assert_eq!(names(&index.note(Report::NetService(Group::Own, gone)).0), ["a"]);
    index.note(Report::NetService(Group::Own, there(object)));
    index.note(Report::NetService(Group::Own, Seen::Listing));
    assert_eq!(names(&index.note(Report::NetService(Group::Own, Seen::Listed)).0), ["a"]);
}

#[test]
fn behaviour_9_a_slice_is_its_owners_or_his_whom_it_names() {
    let mut index =
        index(&[(Group::Own, net_service("a", "n1", "a", 1)), (Group::Own, net_service("b", "n2", "b", 1))]);
    let slice = |name: &str, owner: Option<&str>, labelled: Option<&str>, managed_by: &str| {
        let mut metadata = metadata(name, name, 5);
        metadata["labels"] =
            json!({"kubernetes.io/service-name": labelled, "endpointslice.kubernetes.io/managed-by": managed_by});
        if labelled.is_none() {
            metadata["labels"] = json!({});
        }
        if let Some(uid) = owner {
            let name = if uid == "n1" { "a" } else { "b" };
            metadata["ownerReferences"] = json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": name, "uid": uid, "controller": true}]);
        }
        json!({"metadata": metadata, "addressType": "IPv4", "endpoints": null, "ports": null})
    };
    for (object, concerned) in [
        (slice("owned", Some("n1"), Some("a"), SLICES_MANAGED_BY), &["a"][..]),
        (slice("unlabelled", Some("n1"), None, ""), &["a"]),
        (slice("renamed", Some("n1"), Some("b"), SLICES_MANAGED_BY), &["a"]),
        (slice("disowned", None, Some("a"), SLICES_MANAGED_BY), &["a"]),
        (slice("foreign", None, Some("a"), "endpointslice-controller.k8s.io"), &[]),
        (slice("earlier", Some("n0"), Some("b"), SLICES_MANAGED_BY), &["b"]),
    ] {
        assert_eq!(names(&index.note(Report::Slice(there(object.clone()))).0), concerned, "{object}");
    }
    let of = |name: &str| {
        let name = (Key::new("ns", name), Group::Own);
        let situation = index.situation(&name, Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1;
        situation.slices.iter().map(|slice| slice.metadata.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("a"), ["disowned", "owned", "renamed", "unlabelled"]);
    assert_eq!(of("b"), Vec::<String>::new(), "an earlier one's is garbage collection's");
}

#[test]
fn behaviour_10_what_was_written_is_known_before_the_watch_tells() {
    let mut index = index(&[(Group::Own, net_service("a", "n1", "a", 1))]);
    let service = |version| there(json!({"metadata": metadata("a", "s1", version), "spec": {"type": "ClusterIP"}}));
    assert_eq!(index.note(Report::Service(service(7))).0.len(), 1);
    assert_eq!(index.note(Report::Service(service(6))).0.len(), 0, "the watch lags");
    assert_eq!(index.note(Report::Service(service(7))).0.len(), 0, "and catches up");
    let status = |version| {
        let mut object = net_service("a", "n1", "a", 1);
        object["metadata"]["resourceVersion"] = json!(version);
        object["status"] = json!({"endpoints": 3});
        Report::NetService(Group::Own, there(object))
    };
    let (concerned, cause) = index.note(status("8"));
    assert_eq!((concerned.len(), cause), (1, Cause::Output));
    assert_eq!(index.note(status("9")).0.len(), 0, "nothing but the version");
}

#[test]
fn behaviour_9_of_kubernetes_own_slices_only_those_count_that_are_for_a_net_services_service() {
    let mut index = index(&[(Group::Own, net_service("a", "n1", "a", 1))]);
    let slice = |name: &str, service: &str, uid: &str| {
        let mut metadata = metadata(name, name, 5);
        metadata["labels"] = json!({
            "kubernetes.io/service-name": service,
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        });
        metadata["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Service", "name": service, "uid": uid, "controller": true}]);
        Report::Slice(there(
            json!({"metadata": metadata, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}),
        ))
    };
    let mut service = metadata("a", "s1", 3);
    service["ownerReferences"] = json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": "a", "uid": "n1", "controller": true}]);
    index.note(Report::Service(there(json!({"metadata": service}))));
    assert_eq!(names(&index.note(slice("left", "a", "s1")).0), ["a"]);
    assert_eq!(names(&index.note(slice("earlier", "a", "s0")).0), ["a"]);
    assert_eq!(names(&index.note(slice("others", "b", "s2")).0), Vec::<String>::new());
    let name = (Key::new("ns", "a"), Group::Own);
    let situation = index.situation(&name, Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1;
    let leftovers: Vec<_> = situation.left.slices.iter().map(|slice| slice.metadata.name.as_str()).collect();
    assert_eq!((leftovers, situation.slices.len()), (vec!["left"], 0));
    assert_eq!(situation.slice_names, ["earlier", "left"], "what concerns nobody is not held");
}

#[test]
fn behaviour_9_of_mirrored_slices_only_those_count_whose_endpoints_kubernetes_wrote() {
    let mut index = index(&[(Group::Own, net_service("a", "n1", "a", 1))]);
    let mut service = metadata("a", "s1", 3);
    service["ownerReferences"] = json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": "a", "uid": "n1", "controller": true}]);
    index.note(Report::Service(there(json!({"metadata": service}))));
    let mut mirrored = |name: &str, service: &str, of: Option<&str>| {
        let mut metadata = metadata(name, name, 5);
        metadata["labels"] = json!({
            "kubernetes.io/service-name": service,
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        });
        if let Some(of) = of {
            metadata["labels"]["endpoints.kubernetes.io/managed-by"] = json!(of);
        }
        metadata["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Endpoints", "name": service, "uid": "e1", "controller": true}]);
        let endpoints = json!([{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}]);
        let slice = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints});
        names(&index.note(Report::Slice(there(slice))).0)
    };
    assert_eq!(mirrored("kubernetes", "a", Some("endpoint-controller")), ["a"]);
    assert_eq!(mirrored("by-hand", "a", None), Vec::<String>::new());
    assert_eq!(mirrored("somebody", "a", Some("somebody")), Vec::<String>::new());
    assert_eq!(mirrored("others", "b", Some("endpoint-controller")), Vec::<String>::new());
    let name = (Key::new("ns", "a"), Group::Own);
    let situation = index.situation(&name, Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1;
    let [mirrored] = &situation.left.mirrored[..] else { panic!("{:?}", situation.left) };
    assert_eq!((mirrored.metadata.name.as_str(), mirrored.endpoints.len()), ("kubernetes", 1), "that it has some");
    assert_eq!(situation.slice_names, ["kubernetes"], "what concerns nobody is not held");
}

#[test]
fn behaviour_9_a_name_that_somebody_elses_slice_has_is_known() {
    let mut index = index(&[(Group::Own, net_service("a", "n1", "a", 1))]);
    index.note(Report::SliceNameTaken(Key::new("ns", "a-ipv4-0")));
    let name = (Key::new("ns", "a"), Group::Own);
    let names = |index: &Index| {
        let situation = index.situation(&name, Vec::new(), Timestamp::UNIX_EPOCH).unwrap().1;
        situation.slice_names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&index), ["a-ipv4-0"]);
    index.note(Report::Slice(Seen::Listing));
    assert_eq!(names(&index), Vec::<String>::new(), "a new list, a new try");
}
