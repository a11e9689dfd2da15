//! Applying a plan and planning again gives nothing, whatever the pods and whatever somebody edited before; a change rewrites
//! few slices; and what is told in each situation.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{endpoints::Endpoint, net_service, object::Metadata, pod, resource::IpFamily, slices::MOST};

/// What Kubernetes writes of the pods that a Service selects, and whether that are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Selected {
    /// Its slice.
    slice: Option<bool>,
    /// Its Endpoints object.
    endpoints: bool,
    /// The slice that it makes of that.
    mirrored: bool,
    /// Its controller of Endpoints has not seen yet what that of slices has.
    is_late: bool,
}

/// A namespace of one NetService, with an API that carries out what is planned as the real one does.
#[derive(Clone, Debug)]
struct World {
    net_service: Value,
    pods: BTreeMap<String, Pod>,
    service: Option<Value>,
    slices: BTreeMap<String, Value>,
    families: Vec<IpFamily>,
    selected: Selected,
    /// Name of a slice that is somebody else's.
    foreign: Option<&'static str>,
    writes: u64,
}

impl World {
    fn new(spec: Value) -> Self {
        let mut spec = spec;
        spec["selector"] = json!({"app": "sip"});
        let net_service = json!({
            "metadata": {"namespace": "default", "name": "sip", "uid": "n1", "generation": 1, "resourceVersion": "1"},
            "spec": spec,
        });
        let families = vec![IpFamily::V4, IpFamily::V6];
        Self {
            net_service,
            pods: BTreeMap::new(),
            service: None,
            slices: BTreeMap::new(),
            families,
            selected: Selected::default(),
            foreign: None,
            writes: 1,
        }
    }

    fn with_pods(mut self, count: u8) -> Self {
        (0..count).for_each(|number| self.add_pod(number));
        self
    }

    fn add_pod(&mut self, number: u8) {
        let name = format!("p{number:03}");
        let status = json!([{"name": "core", "interface": "net1", "ips": [format!("10.50.{number}.1"), format!("fd00::1:{number}")]}]);
        let object = json!({
            "metadata": {"name": name, "uid": format!("u-{name}"), "labels": {"app": "sip"},
                         "annotations": {"k8s.v1.cni.cncf.io/network-status": status.to_string()}},
            "spec": {"nodeName": "node1", "containers": [{"ports": [{"name": "sip", "containerPort": 5060 + u16::from(number % 2)}]}]},
            "status": {"podIPs": [{"ip": format!("10.244.0.{number}")}], "conditions": [{"type": "Ready", "status": "True"}]},
        });
        let pod = serde_json::from_value::<pod::Object>(object).unwrap().kept(name.as_str().into());
        self.pods.insert(name, pod);
    }

    fn plan_with(&self, refused: Option<(What, &str)>, first: Option<Group>) -> Vec<Change> {
        let read =
            |value: &Value| serde_json::from_value::<net_service::Object>(value.clone()).unwrap().kept(Group::Own);
        let service = self.service.as_ref().map(|service| serde_json::from_value::<Service>(service.clone()).unwrap());
        let slices: Vec<Slice> =
            self.slices.values().map(|slice| serde_json::from_value(slice.clone()).unwrap()).collect();
        let kubernetes = |has_endpoints: bool| Slice {
            metadata: Metadata { name: KUBERNETES.to_owned(), ..Metadata::default() },
            endpoints: vec![Endpoint::default(); has_endpoints.into()],
            ..Slice::default()
        };
        let (slice, mirrored) = (self.selected.slice.map(kubernetes), self.selected.mirrored.then(|| kubernetes(true)));
        let situation = Situation {
            first,
            service: service.as_ref(),
            slices: slices.iter().collect(),
            left: Left { slices: slice.iter().collect(), mirrored: mirrored.iter().collect() },
            slice_names: self.slices.keys().map(String::as_str).chain(self.foreign).collect(),
            pods: self.pods.values().collect(),
            refused: refused.into_iter().collect(),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
        };
        plan(&read(&self.net_service), &situation)
    }

    fn plan(&self) -> Vec<Change> {
        self.plan_with(None, None)
    }

    fn store(&mut self, mut object: Value) -> Value {
        self.writes += 1;
        object["metadata"]["resourceVersion"] = json!(self.writes.to_string());
        if object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!(format!("o{}", self.writes));
        }
        object
    }

    /// What the API makes of a Service.
    fn service_of(&self, mut service: Value) -> Value {
        let spec = &mut service["spec"];
        let is_headless = spec["clusterIP"] == "None";
        if !is_headless {
            spec["clusterIP"] = json!("10.96.0.1");
        }
        if spec.get("ipFamilies").is_none_or(Value::is_null) {
            spec["ipFamilies"] = json!(self.families);
        }
        if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
            spec["ipFamilyPolicy"] = json!("RequireDualStack");
        }
        let families = spec["ipFamilies"].as_array().unwrap().clone();
        match (spec["ipFamilyPolicy"].as_str().unwrap(), &families[..]) {
            ("SingleStack", [first, _]) => spec["ipFamilies"] = json!([first]),
            ("SingleStack", _) | (_, [_, _]) => {}
            (_, families) => {
                let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
                spec["ipFamilies"] = json!([families[0], other]);
            }
        }
        let is_node_port = spec["type"] == "NodePort";
        for (index, port) in (0..).zip(spec["ports"].as_array_mut().into_iter().flatten()) {
            if is_node_port && port.get("nodePort").is_none() {
                port["nodePort"] = json!(30000 + index);
            }
        }
        service
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::CreateService(service) => {
                assert!(self.service.is_none());
                let service = self.service_of(service.clone());
                self.service = Some(self.store(service));
            }
            Change::PatchService(patch) => {
                let patched = merged(self.service.clone().unwrap(), patch);
                let patched = self.service_of(patched);
                self.service = Some(self.store(patched));
            }
            Change::DeleteService { .. } => self.service = None,
            Change::Slice(SliceChange::Create(name, slice)) => {
                assert!(!self.slices.contains_key(name), "{name} is there");
                let slice = self.store(slice.clone());
                self.slices.insert(name.clone(), slice);
            }
            Change::Slice(SliceChange::Patch(name, patch)) => {
                let patched = merged(self.slices[name].clone(), patch);
                let patched = self.store(patched);
                self.slices.insert(name.clone(), patched);
            }
            Change::Slice(SliceChange::Delete { name, .. }) if name == KUBERNETES => self.selected.slice = None,
            Change::Slice(SliceChange::Delete { name, .. }) => drop(self.slices.remove(name)),
            Change::Status(patch) => self.net_service = merged(self.net_service.clone(), patch),
        }
    }

    /// Kubernetes does what it has to do. Whether that was anything.
    fn reconcile(&mut self) -> bool {
        let before = self.selected;
        let selector = self.service.as_ref().map(|service| service["spec"].get("selector").cloned());
        match selector {
            None => self.selected = Selected::default(),
            Some(None | Some(Value::Null)) => self.selected.mirrored = self.selected.endpoints,
            Some(Some(selector)) => {
                let is_any = selector == json!({"app": "sip"});
                let endpoints = if self.selected.is_late { self.selected.endpoints } else { is_any };
                // It misses one change.
                let is_late = self.selected.is_late && is_any;
                self.selected = Selected { slice: Some(is_any), endpoints, mirrored: false, is_late };
            }
        }
        self.selected != before
    }

    /// Does what is planned until nothing is.
    fn settle(&mut self) -> Vec<Change> {
        let mut done = Vec::new();
        for _ in 0..9 {
            let is_changed = self.reconcile();
            let changes = self.plan();
            if changes.is_empty() && !is_changed {
                assert_eq!(self.selected, Selected::default(), "nothing of Kubernetes' own is left");
                return done;
            }
            changes.iter().for_each(|change| self.apply(change));
            done.extend(changes);
        }
        panic!("it never settles: {:?}", self.plan());
    }

    fn settled(mut self) -> Self {
        self.settle();
        self
    }

    /// All endpoints' addresses, sorted; each only once.
    fn addresses(&self) -> Vec<String> {
        let slices = self.slices.values().inspect(|slice| {
            assert!((1..=MOST).contains(&slice["endpoints"].as_array().unwrap().len()), "{slice}");
        });
        let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().unwrap());
        let mut all: Vec<_> = endpoints.map(|endpoint| endpoint["addresses"][0].as_str().unwrap().to_owned()).collect();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count, "an address is in two slices");
        all
    }

    fn condition(&self) -> (&str, &str) {
        let condition = &self.net_service["status"]["conditions"][0];
        (condition["reason"].as_str().unwrap(), condition["message"].as_str().unwrap())
    }
}

/// Name of the slice that Kubernetes wrote.
const KUBERNETES: &str = "sip-k8s";

/// RFC 7396.
fn merged(into: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut into = match into {
        Value::Object(into) => into,
        _ => serde_json::Map::new(),
    };
    for (key, value) in patch {
        match value {
            Value::Null => drop(into.remove(key)),
            value => {
                let before = into.remove(key).unwrap_or(Value::Null);
                into.insert(key.clone(), merged(before, value));
            }
        }
    }
    Value::Object(into)
}

fn headless() -> Value {
    json!({"netAttachDef": "core"})
}

fn node_port() -> Value {
    json!({"netAttachDef": "core", "type": "NodePort", "ports": [{"name": "sip", "port": 5060, "targetPort": "sip"}]})
}

/// The slices' part of what was done.
fn slice_writes(changes: &[Change]) -> usize {
    changes.iter().filter(|change| matches!(change, Change::Slice(_))).count()
}

#[test]
fn behaviour_1_a_name_becomes_a_service_with_the_networks_addresses() {
    let world = World::new(headless()).with_pods(2).settled();
    let service = world.service.as_ref().unwrap();
    assert_eq!((&service["metadata"]["name"], &service["spec"]["clusterIP"]), (&json!("sip"), &json!("None")));
    assert_eq!(service["spec"].get("selector"), None);
    assert_eq!(world.addresses(), ["10.50.0.1", "10.50.1.1", "fd00::1:0", "fd00::1:1"]);
    assert_eq!(world.net_service["status"]["endpoints"], 4);
    assert_eq!(world.condition().0, "Reconciled");
}

#[test]
fn behaviour_9_a_slice_says_whose_it_is() {
    let world = World::new(headless()).with_pods(1).settled();
    let slice = world.slices.values().next().unwrap();
    assert_eq!(
        slice["metadata"]["labels"],
        json!({
            "kubernetes.io/service-name": "sip",
            "endpointslice.kubernetes.io/managed-by": "net-service-controller.netservice.io",
            "service.kubernetes.io/headless": "",
        })
    );
    let owner = json!({"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": "sip", "uid": "n1", "controller": true});
    assert_eq!(slice["metadata"]["ownerReferences"], json!([owner]));
    assert_eq!(world.service.as_ref().unwrap()["metadata"]["ownerReferences"], json!([owner]));
    let other = World::new(node_port()).with_pods(1).settled();
    assert_eq!(other.slices.values().next().unwrap()["metadata"]["labels"].get("service.kubernetes.io/headless"), None);
}

#[test]
fn behaviour_6_a_change_rewrites_few_slices() {
    let mut world = World::new(json!({"netAttachDef": "core", "ipFamilies": ["IPv4"]})).with_pods(250).settled();
    let sizes = |world: &World| {
        let mut sizes: Vec<_> =
            world.slices.values().map(|slice| slice["endpoints"].as_array().unwrap().len()).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(sizes(&world), [50, 100, 100]);
    world.pods.get_mut("p007").unwrap().is_ready = false;
    assert_eq!(slice_writes(&world.settle()), 1, "one pod's condition");
    world.pods.remove("p008");
    assert_eq!(slice_writes(&world.settle()), 1, "one pod gone");
    world.add_pod(8);
    assert_eq!(slice_writes(&world.settle()), 1, "one pod more");
    world.pods.remove("p009");
    world.add_pod(251);
    assert_eq!(slice_writes(&world.settle()), 1, "one in place of another");
    world.pods.retain(|name, _| name.as_str() >= "p220");
    world.settle();
    assert!(sizes(&world).iter().all(|size| *size > 0), "no empty slice is left");
    assert_eq!(world.addresses().len(), 31);
}

#[test]
fn behaviour_2_each_field_of_the_spec_is_followed() {
    let from = json!({"netAttachDef": "core", "type": "ClusterIP", "ports": [{"name": "sip", "port": 5060}]});
    for (to, is_new) in [
        (json!({"netAttachDef": "core", "type": "ClusterIP", "ports": [{"name": "sip", "port": 5061}]}), false),
        (
            json!({"netAttachDef": "core", "type": "ClusterIP", "ports": [{"name": "web", "port": 5060, "appProtocol": "h2c"}]}),
            false,
        ),
        (
            json!({"netAttachDef": "core", "type": "NodePort", "ports": [{"name": "sip", "port": 5060, "nodePort": 30060}]}),
            false,
        ),
        (
            json!({"type": "ClusterIP", "ports": [{"name": "sip", "port": 5060}], "publishNotReadyAddresses": true}),
            false,
        ),
        (headless(), true),
        (json!({"netAttachDef": "core", "ipFamilies": ["IPv6"]}), true),
    ] {
        let mut world = World::new(from.clone()).with_pods(3).settled();
        let fresh = World::new(to.clone()).with_pods(3).settled();
        world.net_service["spec"] = fresh.net_service["spec"].clone();
        let done = world.settle();
        let deleted = done.iter().any(|change| matches!(change, Change::DeleteService { .. }));
        assert_eq!(deleted, is_new, "{to}");
        assert_eq!(world.addresses(), fresh.addresses(), "{to}");
        let spec = |world: &World| world.service.as_ref().unwrap()["spec"].clone();
        assert_eq!(
            (spec(&world)["type"].clone(), spec(&world)["ports"].clone()),
            (spec(&fresh)["type"].clone(), spec(&fresh)["ports"].clone())
        );
    }
}

#[test]
fn behaviour_4_a_port_keeps_its_node_port_while_others_change() {
    let mut world = World::new(node_port()).with_pods(1).settled();
    world.service.as_mut().unwrap()["spec"]["ports"][0]["nodePort"] = json!(31234);
    assert_eq!(slice_writes(&world.settle()), 0);
    assert_eq!(world.net_service["status"]["nodePorts"], json!([31234]));
    world.net_service["spec"]["ports"] = json!([{"name": "web", "port": 80}, {"name": "sip", "port": 5060}]);
    world.settle();
    assert_eq!(world.service.as_ref().unwrap()["spec"]["ports"][1]["nodePort"], 31234);
    world.net_service["spec"]["type"] = json!("ClusterIP");
    world.settle();
    assert_eq!(world.service.as_ref().unwrap()["spec"]["ports"][1].get("nodePort"), None, "freed");
    assert_eq!(world.net_service["status"].get("nodePorts"), None);
}

#[test]
fn behaviour_9_of_a_selector_that_somebody_gives_the_service_nothing_is_left() {
    for is_late in [false, true] {
        let mut world = World::new(node_port()).with_pods(2).settled();
        let before = world.service.clone().unwrap()["spec"].clone();
        world.service.as_mut().unwrap()["spec"]["selector"] = json!({"app": "sip"});
        world.reconcile();
        assert_eq!(world.selected, Selected { slice: Some(true), endpoints: true, ..Selected::default() });
        world.selected.is_late = is_late;
        let selectors: Vec<_> = world
            .settle()
            .iter()
            .filter_map(|change| match change {
                Change::PatchService(patch) => Some(patch["spec"]["selector"].clone()),
                _ => None,
            })
            .collect();
        assert_eq!(selectors[0], json!({"app": null, "netservice.io/no-pod": "n1"}), "first one that no pod meets");
        assert_eq!(selectors.last(), Some(&Value::Null), "then none");
        assert_eq!(selectors.len(), if is_late { 4 } else { 2 }, "again, where that was too early");
        assert_eq!(world.service.unwrap()["spec"], before, "cluster IP and node port too");
    }
}

#[test]
fn behaviour_9_what_the_service_of_an_earlier_owner_selected_is_not_published() {
    let mut world = World::new(headless()).with_pods(2).settled();
    // Its Endpoints are left of an earlier Service of the name.
    world.selected.endpoints = true;
    let done = world.settle();
    let patches = done.iter().filter(|change| matches!(change, Change::PatchService(_)));
    assert_eq!((patches.count(), slice_writes(&done)), (2, 1), "{done:?}");
}

#[test]
fn behaviour_4_what_the_api_refuses_is_told_and_not_asked_again_at_once() {
    let mut world = World::new(node_port()).with_pods(1);
    let told = world.plan_with(Some((What::Service, "provided port is already allocated")), None);
    assert!(matches!(&told[..], [Change::Status(_)]), "{told:?}");
    world.apply(&told[0]);
    assert_eq!(world.condition(), ("ServiceRefused", "provided port is already allocated"));
    assert_eq!(world.net_service["status"].get("service"), None);
    assert_eq!(world.plan_with(Some((What::Service, "provided port is already allocated")), None), [], "once");

    let mut world = World::new(node_port()).with_pods(1).settled();
    world.net_service["spec"]["ports"][0]["nodePort"] = json!(1);
    world.pods.get_mut("p000").unwrap().is_ready = false;
    let done = world.plan_with(Some((What::Service, "not in the valid range")), None);
    assert_eq!(slice_writes(&done), 2, "what it has works on: {done:?}");
    assert!(
        matches!(done.last(), Some(Change::Status(_)))
            && !done.iter().any(|change| matches!(change, Change::PatchService(_)))
    );
}

#[test]
fn behaviour_3_a_service_that_is_not_ours_stays_untouched() {
    let owned_by = |name: &str, uid: &str| json!([{"apiVersion": "netservice.io/v1alpha1", "kind": "NetService", "name": name, "uid": uid, "controller": true}]);
    for (case, metadata, reason) in [
        ("nobody's", json!({}), "NameConflict"),
        (
            "labelled by chance",
            json!({"labels": {"app.kubernetes.io/managed-by": "net-service-controller"}}),
            "NameConflict",
        ),
        (
            "another kind's",
            json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "sip", "uid": "n1x", "controller": true}]}),
            "NameConflict",
        ),
        ("another NetService's", json!({"ownerReferences": owned_by("other", "n9")}), "NameConflict"),
        ("an earlier one's", json!({"ownerReferences": owned_by("sip", "n0")}), ""),
    ] {
        let mut world = World::new(headless()).with_pods(1);
        let mut metadata = metadata;
        for (key, value) in [("namespace", "default"), ("name", "sip"), ("uid", "s1"), ("resourceVersion", "7")] {
            metadata[key] = json!(value);
        }
        let foreign = json!({"metadata": metadata, "spec": {"clusterIP": "10.96.0.9"}});
        world.service = Some(foreign.clone());
        let done = world.settle();
        assert!(done.iter().all(|change| matches!(change, Change::Status(_))), "{case}: {done:?}");
        assert_eq!(done.len(), usize::from(!reason.is_empty()), "{case}: garbage collection is waited for");
        if !reason.is_empty() {
            assert_eq!(world.condition().0, reason, "{case}");
            assert!(world.condition().1.contains("Service default/sip is not of this NetService"), "{case}");
        }
        world.service = None;
        world.settle();
        assert_eq!(world.condition().0, "Reconciled", "{case}: resolved by itself");
    }
    let mut world = World::new(headless());
    world.apply(&world.plan_with(None, Some(Group::Original))[0].clone());
    assert_eq!(world.condition().0, "NameConflict");
    assert!(world.condition().1.contains("of group svcctl.metaswitch.com was first"), "{}", world.condition().1);
}

#[test]
fn behaviour_3_a_service_of_somebody_else_has_no_endpoints_of_ours() {
    let slice_deletes = |changes: &[Change]| {
        changes.iter().filter(|change| matches!(change, Change::Slice(SliceChange::Delete { .. }))).count()
    };
    let mut world = World::new(headless()).with_pods(2).settled();
    let beaten = world.plan_with(None, Some(Group::Original));
    assert_eq!(slice_deletes(&beaten), 2, "the other NetService has the Service now: {beaten:?}");
    let told = world.plan_with(Some((What::Slices, "denied by a policy")), Some(Group::Original));
    assert_eq!((slice_deletes(&told), told.len()), (0, 1), "not at once again");
    world.service.as_mut().unwrap()["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "c1", "controller": true}]);
    let labelled = world.slices.values_mut().next().unwrap();
    labelled["metadata"]["ownerReferences"] = json!([]);
    world.settle();
    assert_eq!(world.condition().0, "NameConflict");
    assert_eq!(world.slices.len(), 1, "what names no owner is nobody's of ours");
}

#[test]
fn behaviour_4_a_node_port_can_move_from_one_port_to_another() {
    let ports = |first: Value, second: Value| {
        let mut ports = json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}]);
        (ports[0]["nodePort"], ports[1]["nodePort"]) = (first, second);
        json!({"type": "NodePort", "ports": ports})
    };
    let mut world = World::new(ports(json!(30060), json!(30061))).settled();
    world.net_service["spec"]["ports"] = ports(Value::Null, json!(30060))["ports"].clone();
    let [Change::PatchService(patch)] = &world.plan()[..] else { panic!("{:?}", world.plan()) };
    assert_eq!(patch["spec"]["ports"][0].get("nodePort"), None, "another port asks for the one it had");
    assert_eq!(patch["spec"]["ports"][1]["nodePort"], 30060);
}

#[test]
fn behaviour_12_a_spec_that_becomes_invalid_leaves_the_service_and_says_so() {
    let mut world = World::new(node_port()).with_pods(1).settled();
    world.net_service["spec"]["netAttachDef"] = json!("");
    let done = world.settle();
    assert!(matches!(&done[..], [Change::Status(_)]), "{done:?}");
    assert_eq!(world.condition().0, "InvalidSpec");
    assert_eq!(world.net_service["status"]["service"], "sip");
    assert_eq!(world.net_service["status"]["nodePorts"], json!([30000]));
}

#[test]
fn behaviour_2_a_service_that_may_not_be_deleted_works_on() {
    let mut world = World::new(headless()).with_pods(2).settled();
    world.net_service["spec"]["type"] = json!("ClusterIP");
    world.net_service["spec"]["ports"] = json!([{"port": 5060}]);
    world.pods.remove("p001");
    for change in world.plan_with(Some((What::Service, "denied by a policy")), None) {
        world.apply(&change);
    }
    assert_eq!(world.condition(), ("ServiceRefused", "denied by a policy"));
    assert_eq!(world.net_service["status"]["service"], "sip");
    assert_eq!(world.addresses(), ["10.50.0.1", "fd00::1:0"]);
}

#[test]
fn slices_that_the_api_refuses_are_told_and_not_asked_for_again_at_once() {
    let mut world = World::new(headless()).with_pods(1).settled();
    world.add_pod(1);
    let told = world.plan_with(Some((What::Slices, "denied by a policy")), None);
    assert_eq!((slice_writes(&told), told.len()), (0, 1));
    world.apply(&told[0]);
    assert_eq!(world.condition(), ("EndpointsRefused", "denied by a policy"));
    world.settle();
    assert_eq!(world.condition().0, "Reconciled");
    assert_eq!(world.plan_with(Some((What::Slices, "denied by a policy")), None), [], "there is nothing to refuse");
}

#[test]
fn a_name_that_somebody_elses_slice_has_is_passed_over() {
    let mut world = World::new(json!({"netAttachDef": "core", "ipFamilies": ["IPv4"]})).with_pods(1).settled();
    let name = world.slices.pop_first().unwrap().0;
    world.foreign = Some(name.clone().leak());
    world.settle();
    assert!(!world.slices.contains_key(&name));
    assert_eq!(world.addresses(), ["10.50.0.1"]);
}

#[test]
fn a_service_that_a_finalizer_keeps_goes_on_and_is_told() {
    let mut world = World::new(headless()).with_pods(1).settled();
    let metadata = &mut world.service.as_mut().unwrap()["metadata"];
    metadata["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
    metadata["finalizers"] = json!(["example.com/keep"]);
    world.add_pod(1);
    world.settle();
    assert_eq!(world.addresses().len(), 4, "endpoints follow");
    assert_eq!(world.condition().0, "ServiceDeleting");
    assert!(world.condition().1.ends_with("must remove: example.com/keep"), "{}", world.condition().1);
}

#[test]
fn what_is_being_deleted_is_left_to_garbage_collection() {
    let mut world = World::new(headless()).with_pods(2).settled();
    world.net_service["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
    world.service = None;
    world.pods.clear();
    assert_eq!(world.plan(), []);
    let mut world = World::new(headless()).with_pods(2).settled();
    world.service.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
    assert_eq!(world.plan(), [], "a Service with a finalizer");
}

#[test]
fn behaviour_12_what_the_pods_lack_is_told() {
    let reason = |spec: Value, pods: u8| World::new(spec).with_pods(pods).settled().condition().0.to_owned();
    assert_eq!(reason(headless(), 0), "Reconciled", "nobody is selected: as with any Service");
    assert_eq!(reason(json!({"netAttachDef": "access"}), 2), "NetworkNotFound");
    assert_eq!(reason(json!({"netAttachDef": "core", "interface": "net7"}), 2), "NetworkNotFound");
    let port = json!([{"port": 80, "targetPort": "nope"}]);
    assert_eq!(reason(json!({"netAttachDef": "core", "type": "ClusterIP", "ports": port}), 2), "NoUsableAddress");
    let invalid = World::new(json!({"netAttachDef": ""})).with_pods(2).settled();
    assert_eq!((invalid.condition().0, invalid.service.is_none()), ("InvalidSpec", true));
}

/// What somebody does to the world.
#[derive(Clone, Debug)]
enum Deed {
    Add(u8),
    Remove(u8),
    Unready(u8),
    Relabel(u8),
    Strip(u8),
    Edit(u8, u8),
    DropSlice(u8),
    StraySlice(u8),
    EditService(u8, bool),
    DropService,
    Spec(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => any::<u8>().prop_map(Deed::Add),
        3 => any::<u8>().prop_map(Deed::Remove),
        2 => any::<u8>().prop_map(Deed::Unready),
        1 => any::<u8>().prop_map(Deed::Relabel),
        1 => any::<u8>().prop_map(Deed::Strip),
        2 => (any::<u8>(), 0_u8..6).prop_map(|(slice, edit)| Deed::Edit(slice, edit)),
        1 => any::<u8>().prop_map(Deed::DropSlice),
        1 => any::<u8>().prop_map(Deed::StraySlice),
        2 => (0_u8..7, any::<bool>()).prop_map(|(edit, late)| Deed::EditService(edit, late)),
        1 => Just(Deed::DropService),
        2 => (0_u8..6).prop_map(Deed::Spec),
    ]
}

impl World {
    fn suffer(&mut self, deed: &Deed) {
        let pod = |world: &mut Self, number: u8| {
            let names: Vec<_> = world.pods.keys().cloned().collect();
            names.get(usize::from(number) % names.len().max(1)).cloned()
        };
        match deed {
            Deed::Add(number) => (0..20).for_each(|more| self.add_pod(number.wrapping_add(more))),
            Deed::Remove(number) => drop(pod(self, *number).map(|name| self.pods.remove(&name))),
            Deed::Unready(number) => {
                if let Some(name) = pod(self, *number) {
                    let pod = self.pods.get_mut(&name).unwrap();
                    pod.is_ready = !pod.is_ready;
                }
            }
            Deed::Relabel(number) => {
                if let Some(name) = pod(self, *number) {
                    self.pods.get_mut(&name).unwrap().labels = Box::default();
                }
            }
            Deed::Strip(number) => {
                if let Some(name) = pod(self, *number) {
                    self.pods.get_mut(&name).unwrap().networks = crate::network::parse("[{}, 7]");
                }
            }
            Deed::Edit(number, edit) => {
                let count = self.slices.len().max(1);
                let Some(slice) = self.slices.values_mut().nth(usize::from(*number) % count) else { return };
                match edit {
                    0 => slice["endpoints"] = json!([]),
                    1 => slice["metadata"]["labels"] = json!({}),
                    2 => slice["ports"] = json!([{"name": "x", "port": 1, "protocol": "TCP"}]),
                    3 => slice["endpoints"][0]["addresses"] = json!(["10.9.9.9", "10.9.9.8"]),
                    4 => slice["metadata"]["ownerReferences"] = json!([]),
                    _ => slice["endpoints"][0]["hints"] = json!({"forZones": [{"name": "z"}]}),
                }
            }
            Deed::DropSlice(number) => {
                let count = self.slices.len().max(1);
                let name = self.slices.keys().nth(usize::from(*number) % count).cloned();
                drop(name.map(|name| self.slices.remove(&name)));
            }
            Deed::StraySlice(number) => {
                if let Some(mut copy) = self.slices.values().next().cloned() {
                    let name = format!("stray-{number}");
                    copy["metadata"]["name"] = json!(name);
                    self.slices.insert(name, copy);
                }
            }
            Deed::EditService(edit, late) => {
                let Some(service) = &mut self.service else { return };
                match edit {
                    0 => {
                        service["spec"]["selector"] = json!({"app": "sip"});
                        self.reconcile();
                        self.selected.is_late = *late;
                    }
                    1 => service["spec"]["ports"] = json!([{"name": "x", "port": 1}]),
                    2 => service["metadata"]["labels"] = json!({}),
                    3 => service["spec"]["publishNotReadyAddresses"] = json!(true),
                    4 => service["spec"]["externalTrafficPolicy"] = json!("Local"),
                    5 => service["spec"]["externalIPs"] = json!(["192.0.2.1"]),
                    _ => service["metadata"]["ownerReferences"] = json!([]),
                }
            }
            Deed::DropService => self.service = None,
            Deed::Spec(number) => {
                let ports = json!([{"name": "sip", "port": 5060, "targetPort": "sip"}, {"name": "web", "port": 80}]);
                let mut spec = match number {
                    0 => headless(),
                    1 => node_port(),
                    2 => json!({"netAttachDef": "core", "type": "ClusterIP", "ports": ports, "ipFamilies": ["IPv6"]}),
                    3 => json!({"ports": ports, "publishNotReadyAddresses": true}),
                    4 => {
                        json!({"netAttachDef": "core", "ports": ports, "ipFamilies": ["IPv4", "IPv6"], "addressPolicy": "First"})
                    }
                    _ => json!({"netAttachDef": "access"}),
                };
                spec["selector"] = json!({"app": "sip"});
                self.net_service["spec"] = spec;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// However it got there, it settles, and then is what it would be had it begun there.
    #[test]
    fn behaviour_10_it_settles_where_it_would_be_from_the_beginning(deeds in proptest::collection::vec(deed(), 1..12)) {
        let mut world = World::new(headless()).with_pods(3);
        for deed in &deeds {
            world.suffer(deed);
            world.settle();
            prop_assert_eq!(world.plan(), Vec::new());
            prop_assert_eq!(world.plan(), world.clone().plan(), "the same situation gives the same plan");
            let fresh = World { service: None, slices: BTreeMap::new(), selected: Selected::default(), ..world.clone() };
            let fresh = World { net_service: merged(fresh.net_service.clone(), &json!({"status": null})), ..fresh }.settled();
            prop_assert_eq!(world.addresses(), fresh.addresses());
            let told = |world: &World| merged(world.net_service["status"].clone(), &json!({"nodePorts": null}));
            prop_assert_eq!(told(&world), told(&fresh));
        }
    }

    /// No slice is written twice for one change of the pods.
    #[test]
    fn behaviour_10_each_changed_slice_is_written_once(before in 0_u8..250, deeds in proptest::collection::vec(deed(), 1..6)) {
        let mut world = World::new(node_port()).with_pods(before).settled();
        for deed in &deeds {
            world.suffer(deed);
        }
        let done = world.settle();
        let mut names: Vec<_> = done
            .iter()
            .filter_map(|change| match change {
                Change::Slice(SliceChange::Create(name, _) | SliceChange::Patch(name, _) | SliceChange::Delete { name, .. }) => Some(name),
                _ => None,
            })
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), count);
    }
}
