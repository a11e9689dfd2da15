//! Whatever happens, in any order: when it is quiet, all endpoints are what the pods and the NetServices say, and nothing else
//! is there.
//!
//! `NET_SERVICE_SECONDS=600` runs longer, `NET_SERVICE_SEED=<number>` repeats a sequence: the same operations, at other moments.

use std::{
    collections::BTreeMap,
    env,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    time::{Duration, Instant},
};

use cluster_tests::{
    harness::{Namespace, Pod, Running, Signal, eventually},
    net_service::{NetPod, NetService, edit_metadata, is_ready, slices},
    proxy::Proxy,
    random::Random,
};
use k8s_openapi::api::{
    core::v1::{Pod as PodObject, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use net_service::{
    names::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL, SLICES_MANAGED_BY, SLICES_MANAGED_BY_LABEL},
    network::STATUS_ANNOTATION,
    resource::Group,
};
use serde_json::{Value, json};

use crate::{scene::namespace, wire::through};

/// How long it storms, unless told otherwise.
const SECONDS: u64 = 25;

/// How many things happen before it is quiet.
const OPERATIONS: usize = 25;

/// How soon all is right: another replica may have to wait for the Lease, and a dead connection to be noticed.
const QUIET: Duration = Duration::from_secs(60);

const APPS: [&str; 2] = ["a", "b"];
const NETWORKS: [&str; 2] = ["core", "access"];
const NAMES: [(&str, Group); 3] = [("one", Group::Own), ("two", Group::Own), ("three", Group::Original)];

/// A pod, as the test knows it.
struct Member<'a> {
    pod: Pod<'a>,
    app: &'static str,
    is_ready: bool,
    /// Network, interface and addresses; none where the annotation cannot be read.
    attachments: Vec<(&'static str, String, Vec<String>)>,
    has_port: bool,
    is_finished: bool,
}

struct Storm<'a> {
    namespace: &'a Namespace<'a>,
    random: Random,
    proxy: &'a Proxy,
    replicas: Vec<Running>,
    pods: Vec<Member<'a>>,
    created: u64,
    specs: BTreeMap<&'static str, Value>,
}

impl<'a> Storm<'a> {
    async fn replica(&mut self) {
        self.replicas.push(through(self.proxy, self.namespace).await.spawn());
    }

    fn net_service(&self, name: &str) -> NetService<'a> {
        let group = NAMES.iter().find(|(known, _)| *known == name).map_or(Group::Own, |(_, group)| *group);
        NetService::of(self.namespace, group, name)
    }

    fn attachments(&mut self) -> Vec<(&'static str, String, Vec<String>)> {
        let count = self.random.below(4);
        let mut attachments = Vec::new();
        for number in 1..=count {
            let mut addresses = Vec::new();
            for _ in 0..self.random.below(4) {
                // Few, so that pods share some.
                let host = self.random.below(20) + 1;
                let odd = ["127.0.0.1", "fe80::1", "224.0.0.1"];
                addresses.push(match self.random.below(10) {
                    0 => (*self.random.one_of(&odd)).to_owned(),
                    1..4 => format!("fd00:50::{host:x}"),
                    _ => format!("10.50.{}.{host}", self.random.below(2)),
                });
            }
            addresses.sort();
            addresses.dedup();
            attachments.push((*self.random.one_of(&NETWORKS), format!("net{number}"), addresses));
        }
        attachments
    }

    fn spec(&mut self) -> Value {
        let kind = *self.random.one_of(&["Headless", "Headless", "ClusterIP", "NodePort"]);
        let named =
            json!([{"name": "sip", "port": 5060, "targetPort": "sip", "protocol": "UDP"}, {"name": "web", "port": 80}]);
        let sip = json!([{"port": 5060, "targetPort": "sip", "protocol": "UDP"}]);
        let one = json!([{"port": 8080, "targetPort": 80}]);
        let mut ports = vec![named, sip, one];
        if kind == "Headless" {
            ports.push(json!([]));
        }
        let families = [json!([]), json!([]), json!(["IPv4"]), json!(["IPv6"]), json!(["IPv6", "IPv4"])];
        let interface = if self.random.percent(25) { json!("net1") } else { Value::Null };
        json!({
            "netAttachDef": self.random.one_of(&NETWORKS),
            "selector": {"app": self.random.one_of(&APPS)},
            "type": kind,
            "ports": self.random.one_of(&ports),
            "ipFamilies": self.random.one_of(&families),
            "addressPolicy": self.random.one_of(&["All", "First"]),
            "publishNotReadyAddresses": self.random.percent(20),
            "interface": interface,
        })
    }

    async fn add(&mut self) {
        let app = *self.random.one_of(&APPS);
        let attachments = self.attachments();
        let has_port = self.random.percent(60);
        let name = format!("pod-{}", self.created);
        self.created += 1;
        let mut pod = NetPod::new(&name).label("app", app).annotation(STATUS_ANNOTATION, &text(&attachments));
        if has_port {
            pod = pod.port("sip", 5061, "UDP");
        }
        let is_ready = self.random.percent(70);
        let pod = if is_ready { pod.create(self.namespace).await } else { pod.starting(self.namespace).await };
        self.pods.push(Member { pod, app, is_ready, attachments, has_port, is_finished: false });
    }

    async fn happen(&mut self) {
        let at = usize::try_from(self.random.below(self.pods.len().max(1) as u64)).unwrap_or_default();
        let (name, _) = *self.random.one_of(&NAMES);
        match self.random.below(100) {
            0..20 => self.add().await,
            20..28 if !self.pods.is_empty() => self.pods.swap_remove(at).pod.delete().await,
            28..38 if !self.pods.is_empty() && !self.pods[at].is_finished => {
                self.pods[at].is_ready = !self.pods[at].is_ready;
                let status = if self.pods[at].is_ready { "True" } else { "False" };
                is_ready(&mut self.pods[at].pod, status).await;
            }
            38..44 if !self.pods.is_empty() => {
                self.pods[at].app = *self.random.one_of(&APPS);
                edit_metadata(&self.pods[at].pod, json!({"labels": {"app": self.pods[at].app}})).await;
            }
            44..54 if !self.pods.is_empty() => {
                let attachments = if self.random.percent(15) { None } else { Some(self.attachments()) };
                let text = attachments.as_deref().map_or("{ no JSON".to_owned(), text);
                edit_metadata(&self.pods[at].pod, json!({"annotations": {STATUS_ANNOTATION: text}})).await;
                self.pods[at].attachments = attachments.unwrap_or_default();
            }
            54..57 if !self.pods.is_empty() => {
                self.pods[at].pod.report(json!({"phase": "Failed"})).await;
                self.pods[at].is_finished = true;
            }
            57..70 => {
                let spec = self.spec();
                match self.specs.insert(name, spec.clone()) {
                    Some(_) => self.net_service(name).edit(spec).await,
                    None => drop(self.net_service(name).made(without_nulls(spec)).await),
                }
            }
            70..74 if self.specs.remove(name).is_some() => self.net_service(name).delete().await,
            74..86 => self.meddle(name).await,
            86..92 => self.proxy.cut_connections(),
            92..95 => {
                let replica = self.replicas.remove(0);
                if self.random.percent(50) {
                    replica.signal(Signal::Kill);
                    replica.wait().await;
                } else {
                    replica.terminate().await.expect_code(0);
                }
                self.replica().await;
            }
            _ => tokio::time::sleep(Duration::from_millis(self.random.below(800))).await,
        }
    }

    /// Somebody touches what is the controller's.
    async fn meddle(&mut self, name: &str) {
        let services: Api<Service> = self.namespace.api();
        let api: Api<EndpointSlice> = self.namespace.api();
        let all = slices(self.namespace, name).await;
        let merge = PatchParams::default();
        // What is gone by now was not touched.
        match (self.random.below(6), all.first()) {
            (0, _) => drop(services.delete(name, &DeleteParams::default()).await),
            (1, _) => {
                let edit = json!({"spec": {"publishNotReadyAddresses": true, "externalIPs": ["203.0.113.7"]}});
                drop(services.patch(name, &merge, &Patch::Merge(edit)).await);
            }
            (2, _) => {
                let edit = json!({"metadata": {"labels": {MANAGED_BY_LABEL: null}}});
                drop(services.patch(name, &merge, &Patch::Merge(edit)).await);
            }
            (3, Some(slice)) => drop(api.delete(&slice.name_any(), &DeleteParams::default()).await),
            (4, Some(slice)) => {
                let edit = json!({"endpoints": [{"addresses": ["10.66.6.6"]}]});
                let edit = if slice.address_type == "IPv4" { edit } else { json!({"endpoints": []}) };
                drop(api.patch(&slice.name_any(), &merge, &Patch::Merge(edit)).await);
            }
            (_, Some(slice)) => {
                let edit = json!({"metadata": {"labels": {SERVICE_NAME_LABEL: "other"}}});
                drop(api.patch(&slice.name_any(), &merge, &Patch::Merge(edit)).await);
            }
            _ => {}
        }
    }

    async fn check(&self) -> Result<(), String> {
        let api: Api<EndpointSlice> = self.namespace.api();
        let all = api.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        let mut owners = Vec::new();
        for (name, spec) in &self.specs {
            let net_service = self.net_service(name);
            let object = net_service.get().await;
            let uid = object.uid().unwrap_or_default();
            let service = net_service.service().await.ok_or_else(|| format!("no Service {name}"))?;
            if !service.owner_references().iter().any(|owner| owner.uid == uid) {
                return Err(format!("Service {name} is of {:?}", service.owner_references()));
            }
            let found = service.spec.as_ref().ok_or("no spec")?;
            let is_headless = found.cluster_ip.as_deref() == Some("None");
            if found.selector.is_some() || is_headless != (spec["type"] == "Headless") {
                return Err(format!("Service {name} is {found:?}"));
            }
            let wanted = self.expected(spec);
            let mut seen = Vec::new();
            for slice in all.iter().filter(|slice| slice.labels().get(SERVICE_NAME_LABEL).is_some_and(|it| it == name))
            {
                seen.extend(lines(slice));
            }
            seen.sort();
            if seen != wanted {
                return Err(format!("{name}: {spec}\nhas {seen:#?}\ninstead of {wanted:#?}"));
            }
            let count = wanted.iter().filter(|line| line.contains(" ready")).count();
            if object.data["status"]["endpoints"] != json!(count) {
                return Err(format!("{name} is told {} for {count}", object.data["status"]));
            }
            owners.push(uid);
        }
        let stray = all.iter().find(|slice| {
            let is_ours = slice.labels().get(SLICES_MANAGED_BY_LABEL).is_some_and(|it| it == SLICES_MANAGED_BY);
            !is_ours || !slice.owner_references().iter().any(|owner| owners.contains(&owner.uid))
        });
        stray.map_or(Ok(()), |slice| Err(format!("a stray slice: {:?}", slice.metadata)))
    }

    /// The endpoints by the specification, without the controller's code.
    fn expected(&self, spec: &Value) -> Vec<String> {
        let mut by_address: BTreeMap<IpAddr, Vec<(&Member<'_>, String)>> = BTreeMap::new();
        let families: Vec<_> = spec["ipFamilies"].as_array().into_iter().flatten().cloned().collect();
        for member in self.pods.iter().filter(|member| !member.is_finished && spec["selector"]["app"] == member.app) {
            let ports: Vec<_> = spec["ports"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|port| {
                    let target = match &port["targetPort"] {
                        Value::String(_) if member.has_port => json!(5061),
                        Value::String(_) => return None,
                        Value::Null => port["port"].clone(),
                        number => number.clone(),
                    };
                    let protocol = port["protocol"].as_str().unwrap_or("TCP");
                    Some(format!("{}:{target}/{protocol}", port["name"].as_str().unwrap_or_default()))
                })
                .collect();
            if ports.is_empty() && spec["type"] != "Headless" {
                continue;
            }
            let attached = member.attachments.iter().filter(|(network, interface, _)| {
                spec["netAttachDef"] == *network && (spec["interface"].is_null() || spec["interface"] == *interface)
            });
            let mut seen = Vec::new();
            for address in attached.flat_map(|(_, _, addresses)| addresses) {
                let is_odd = ["127.", "fe80:", "224."].iter().any(|prefix| address.starts_with(prefix));
                let address: IpAddr = address.parse().unwrap();
                let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
                if is_odd || spec["addressPolicy"] == "First" && seen.contains(&family) {
                    continue;
                }
                seen.push(family);
                if families.is_empty() || families.contains(&json!(family)) {
                    let all = by_address.entry(address).or_default();
                    if !all.iter().any(|(other, _)| other.pod.uid() == member.pod.uid()) {
                        all.push((member, ports.join(" ")));
                    }
                }
            }
        }
        let mut lines = Vec::new();
        for (address, mut members) in by_address {
            let created = |pod: &Pod<'_>| pod.object().metadata.creation_timestamp.clone();
            members.sort_by_key(|(member, _)| (member.is_ready, created(&member.pod), member.pod.uid().to_owned()));
            let Some((member, ports)) = members.pop() else { continue };
            let ready = if member.is_ready || spec["publishNotReadyAddresses"] == true { " ready" } else { "" };
            let serving = if member.is_ready { " serving" } else { "" };
            lines.push(format!("{address} {}{ready}{serving} {ports}", member.pod.name()));
        }
        lines.sort();
        lines
    }
}

fn lines(slice: &EndpointSlice) -> Vec<String> {
    let ports: Vec<_> = slice
        .ports
        .iter()
        .flatten()
        .map(|port| {
            let (name, protocol) =
                (port.name.as_deref().unwrap_or_default(), port.protocol.as_deref().unwrap_or_default());
            format!("{name}:{}/{protocol}", port.port.unwrap_or_default())
        })
        .collect();
    slice
        .endpoints
        .iter()
        .flatten()
        .map(|endpoint| {
            let pod = endpoint.target_ref.as_ref().and_then(|pod| pod.name.as_deref()).unwrap_or("-");
            let conditions = endpoint.conditions.as_ref();
            let is = |word: &str, is: Option<bool>| if is == Some(true) { word.to_owned() } else { String::new() };
            let ready = is(" ready", conditions.and_then(|conditions| conditions.ready));
            let serving = is(" serving", conditions.and_then(|conditions| conditions.serving));
            format!("{} {pod}{ready}{serving} {}", endpoint.addresses.join(","), ports.join(" "))
        })
        .collect()
}

fn text(attachments: &[(&'static str, String, Vec<String>)]) -> String {
    let all =
        attachments.iter().map(|(name, interface, ips)| json!({"name": name, "interface": interface, "ips": ips}));
    Value::from_iter(all).to_string()
}

/// A merge patch takes away what is null; a creation leaves it out.
fn without_nulls(mut spec: Value) -> Value {
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    spec
}

#[tokio::test]
async fn whatever_happens_all_is_right_when_it_is_quiet() {
    let Some(namespace) = namespace().await else { return };
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text}")));
    let seed = number("NET_SERVICE_SEED").unwrap_or_else(|| RandomState::new().hash_one(()) % 1_000_000);
    let time = Duration::from_secs(number("NET_SERVICE_SECONDS").unwrap_or(SECONDS));
    let (begun, proxy) = (Instant::now(), namespace.control_plane().proxy());
    let mut storm = Storm {
        namespace: &namespace,
        random: Random::new(seed),
        proxy: &proxy,
        replicas: Vec::new(),
        pods: Vec::new(),
        created: 0,
        specs: BTreeMap::new(),
    };
    for _ in 0..2 {
        storm.replica().await;
    }
    let mut rounds = 0;
    while begun.elapsed() < time {
        for _ in 0..OPERATIONS {
            storm.happen().await;
        }
        let what = format!("all is right after round {rounds} with NET_SERVICE_SEED={seed}");
        eventually(QUIET, &what, async || storm.check().await).await;
        rounds += 1;
    }
    let pods: Api<PodObject> = namespace.api();
    println!(
        "{rounds} rounds, seed {seed}, {} pods",
        pods.list_metadata(&ListParams::default()).await.unwrap().items.len()
    );
    for replica in storm.replicas {
        replica.terminate().await.expect_code(0);
    }
}
