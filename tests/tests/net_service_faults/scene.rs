//! Pods on a network, and a NetService of each type that leads to them; and whether all of it is exactly right.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use cluster_tests::{
    harness::{Namespace, Pod, all, eventually},
    net_service::{self, NetPod, NetService, lines, ready},
};
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::json;

/// So many addresses a pod has on the network: a few pods need several slices.
const ADDRESSES: usize = 30;

/// The NetServices, by name.
pub(crate) const NAMES: [&str; 3] = ["headless", "cluster", "node"];

/// The NetServices and their pods.
pub(crate) struct Scene<'a> {
    namespace: &'a Namespace<'a>,
    pods: BTreeMap<usize, Pod<'a>>,
    /// How many pods there have been: neither names nor addresses come again.
    created: usize,
    pub(crate) net_services: Vec<NetService<'a>>,
}

impl<'a> Scene<'a> {
    /// So many pods, and the NetServices.
    pub(crate) async fn set(namespace: &'a Namespace<'a>, pods: usize) -> Self {
        let mut scene = Self { namespace, pods: BTreeMap::new(), created: 0, net_services: Vec::new() };
        scene.add(pods).await;
        let ports = json!([{"name": "sip", "port": 5060, "protocol": "UDP"}]);
        for (name, kind) in NAMES.into_iter().zip(["Headless", "ClusterIP", "NodePort"]) {
            let spec = json!({"netAttachDef": "core", "selector": {"app": "utils"}, "type": kind, "ports": ports});
            scene.net_services.push(NetService::create(namespace, name, spec).await);
        }
        scene
    }

    /// Adds pods.
    pub(crate) async fn add(&mut self, count: usize) {
        let numbers: Vec<_> = (self.created..self.created + count).collect();
        self.created += count;
        let create = async |number: usize| {
            let addresses = addresses(number);
            let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
            (number, NetPod::new(&format!("sip-{number}")).on("core", &addresses).create(self.namespace).await)
        };
        let pods = all(numbers.into_iter().map(create).collect()).await;
        self.pods.extend(pods);
    }

    /// The oldest pod goes, and another one comes.
    pub(crate) async fn shift(&mut self) {
        self.add(1).await;
        if let Some((_, pod)) = self.pods.pop_first() {
            pod.delete().await;
        }
    }

    /// Waits until everything is exactly right, and returns how long that took.
    pub(crate) async fn right(&self, within: Duration) -> Duration {
        let begun = Instant::now();
        eventually(within, "everything is right", async || self.check().await).await;
        begun.elapsed()
    }

    /// Looks whether everything is exactly right: each Service is there, the slices hold the endpoints once each, none is
    /// anybody else's, and the status says so.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let wanted = self.lines();
        let mut owners = BTreeSet::new();
        for (net_service, name) in self.net_services.iter().zip(NAMES) {
            let owner = net_service.get().await;
            let uid = owner.uid().unwrap_or_default();
            let service = net_service.service().await.ok_or_else(|| format!("Service {name} is not there"))?;
            if !is_owned(service.owner_references(), &uid) {
                return Err(format!("Service {name} is of {:?}", service.owner_references()));
            }
            let seen = lines(&net_service.slices().await);
            if seen != wanted {
                let (lacks, has) = (lacking(&wanted, &seen), lacking(&seen, &wanted));
                return Err(format!("{name} has {} endpoints, lacks {lacks:?}, has {has:?}", seen.len()));
            }
            let (ready, endpoints) = (&owner.data["status"]["conditions"][0], &owner.data["status"]["endpoints"]);
            if ready["status"] != "True" || *endpoints != json!(wanted.len()) {
                return Err(format!("{name} is told {}", owner.data["status"]));
            }
            owners.insert(uid);
        }
        let slices: Api<EndpointSlice> = self.namespace.api();
        let slices = slices.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        match slices.iter().find(|slice| !owners.iter().any(|uid| is_owned(slice.owner_references(), uid))) {
            Some(stray) => Err(format!("slice {} is of {:?}", stray.name_any(), stray.owner_references())),
            None => Ok(()),
        }
    }

    /// The UIDs of the Services: none is ever made anew.
    pub(crate) async fn services(&self) -> Vec<Option<String>> {
        let services: Api<Service> = self.namespace.api();
        let mut uids = Vec::new();
        for name in NAMES {
            uids.push(services.get_metadata_opt(name).await.unwrap().and_then(|service| service.metadata.uid));
        }
        uids
    }

    /// The requests by which the controllers wrote anything but the Lease.
    pub(crate) async fn writes(&self) -> usize {
        let writes = self.namespace.requests().await;
        let is_write = |verb: &str| ["create", "patch", "update", "delete"].contains(&verb);
        writes.iter().filter(|event| is_write(&event.verb) && event.resource != "leases").count()
    }

    fn lines(&self) -> Vec<String> {
        let pods = self.pods.iter();
        let all = pods.flat_map(|(number, pod)| addresses(*number).into_iter().map(|it| ready(&it, pod.name())));
        let mut lines: Vec<_> = all.collect();
        lines.sort();
        lines
    }
}

/// Starts a controller for it, and waits until it works.
pub(crate) async fn watching(running: &cluster_tests::harness::Running) {
    running.logged("watching NetServices", |_| true).await;
}

/// A namespace with a scene's needs, of the shared control plane.
pub(crate) async fn namespace() -> Option<Namespace<'static>> {
    net_service::namespace().await
}

fn addresses(number: usize) -> Vec<String> {
    (1..=ADDRESSES).map(|host| format!("10.{}.{}.{host}", 50 + number / 256, number % 256)).collect()
}

fn is_owned(owners: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference], uid: &str) -> bool {
    owners.iter().any(|owner| owner.uid == uid && owner.controller == Some(true))
}

fn lacking<'a>(wanted: &'a [String], seen: &[String]) -> Vec<&'a String> {
    wanted.iter().filter(|line| !seen.contains(line)).take(3).collect()
}
