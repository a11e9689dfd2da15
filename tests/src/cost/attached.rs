//! What NetServices take for many pods on additional networks: time, writes and memory.

use std::{
    io,
    time::{Duration, Instant},
};

use kube::{Api, api::ListParams};
use net_service::resource::Group;
use serde_json::{Value, json};

use super::{population, usage::Usage};
use crate::{
    harness::{Component, ControlPlane, Namespace, Running, Signal, cargo, eventually},
    net_service::{self as scene, NetService, lines, ready},
};

/// The applications that the pods belong to.
const APPS: usize = 9;

/// The networks that each pod is attached to; a NetService for each of them and each application, and one for all pods.
const NETWORKS: [&str; 2] = ["core", "access"];

/// How many NetServices that are.
pub const NET_SERVICES: usize = (APPS + 1) * NETWORKS.len();

/// The most endpoints in a slice.
const A_SLICE: usize = 100;

/// How long anything may take before it counts as failed.
const FAILED: Duration = Duration::from_secs(180);

/// Pods on two networks, and NetServices that lead to them.
pub struct Attached<'a> {
    namespace: Namespace<'a>,
    pods: usize,
    net_services: Vec<(String, Value)>,
}

/// How a controller brought everything into order.
#[derive(Clone, Copy, Debug)]
pub struct Convergence {
    /// How long it took.
    pub took: Duration,
    /// What it wrote.
    pub writes: Writes,
    /// Its processor time up to then.
    pub cpu: Duration,
    /// Bytes, up to then.
    pub peak_resident: u64,
}

/// What a controller wrote, but for the Lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Of Services.
    pub services: usize,
    /// Of slices.
    pub slices: usize,
    /// Of the NetServices' status.
    pub statuses: usize,
    /// Of anything else.
    pub others: usize,
}

impl Writes {
    /// Whether there were none.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn since(self, before: Self) -> Self {
        Self {
            services: self.services - before.services,
            slices: self.slices - before.slices,
            statuses: self.statuses - before.statuses,
            others: self.others - before.others,
        }
    }
}

impl<'a> Attached<'a> {
    /// No pods yet, and no NetServices.
    pub async fn new(control_plane: &'a ControlPlane) -> Self {
        control_plane.serve_net_services(&Group::ALL).await;
        let namespace = scene::namespace_of(control_plane).await;
        // It has no part in what is measured.
        control_plane.stop(Component::ControllerManager, Signal::Terminate).await;
        let mut net_services = Vec::new();
        let ports = json!([{"name": "sip", "port": 5060, "protocol": "UDP"}, {"name": "http", "port": 8080}]);
        for network in NETWORKS {
            let mut selectors: Vec<_> = (0..APPS).map(|app| (name_of(app), json!({"app": name_of(app)}))).collect();
            selectors.push(("all".to_owned(), json!({"tier": "media"})));
            net_services.extend(selectors.into_iter().map(|(name, selector)| {
                let spec = json!({"netAttachDef": network, "type": "ClusterIP", "selector": selector, "ports": ports});
                (format!("{name}-{network}"), spec)
            }));
        }
        Self { namespace, pods: 0, net_services }
    }

    /// How many pods there are.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.pods
    }

    /// How many slices hold all endpoints, none of them twice.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.net_services.iter().map(|(name, _)| self.expected(name).len().div_ceil(A_SLICE)).sum()
    }

    /// Adds pods.
    pub async fn add(&mut self, count: usize) {
        let numbers = self.pods..self.pods + count;
        let pods: Vec<_> = numbers.map(|number| (pod_name(number), labels(number), networks(number))).collect();
        population::create_attached(&self.namespace, pods).await;
        self.pods += count;
    }

    /// Creates the NetServices.
    pub async fn publish(&self) {
        for (name, spec) in &self.net_services {
            NetService::create(&self.namespace, name, spec.clone()).await;
        }
    }

    /// Starts a controller where there has been none, and measures until everything is in order.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn converge(&self) -> io::Result<(Running, Convergence)> {
        let (run, before) = (scene::controller(&self.namespace).await, self.writes().await);
        // It may have to be built first.
        cargo::watcher();
        let begun = Instant::now();
        let running = run.spawn();
        let convergence = self.convergence(&running, begun, before).await?;
        Ok((running, convergence))
    }

    /// Adds pods beside a running controller, and measures from the last of them.
    ///
    /// # Errors
    /// When it has ended.
    pub async fn grow(&mut self, running: &Running, count: usize) -> io::Result<Convergence> {
        let before = self.writes().await;
        self.add(count).await;
        self.convergence(running, Instant::now(), before).await
    }

    /// What is written when one pod is no longer ready, and how long it takes until that is told.
    ///
    /// # Errors
    /// When the controller has ended.
    pub async fn one_fails(&self, running: &Running) -> io::Result<Convergence> {
        let before = self.writes().await;
        let begun = Instant::now();
        population::report_readiness(&self.namespace, &pod_name(0), "False").await;
        self.told(|name, expected| expected - usize::from(is_of(name, 0))).await;
        let fallen = self.measured(running, begun, before).await;
        population::report_readiness(&self.namespace, &pod_name(0), "True").await;
        self.told(|_, expected| expected).await;
        fallen
    }

    /// What is written by a controller that starts where everything is in order, and in so long an idle time after it.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn restart(&self, idle: Duration) -> io::Result<(Running, Convergence)> {
        let (run, before) = (scene::controller(&self.namespace).await, self.writes().await);
        // It may have to be built first.
        cargo::watcher();
        let begun = Instant::now();
        let running = run.spawn();
        running.logged("watching NetServices", |_| true).await;
        tokio::time::sleep(idle).await;
        let restart = self.measured(&running, begun, before).await?;
        Ok((running, restart))
    }

    /// Waits until everything is in order and is told to be.
    async fn convergence(&self, running: &Running, begun: Instant, before: Writes) -> io::Result<Convergence> {
        self.told(|_, expected| expected).await;
        let convergence = self.measured(running, begun, before).await?;
        for (name, _) in &self.net_services {
            let seen = lines(&scene::slices(&self.namespace, name).await);
            assert_eq!(seen, self.expected(name), "the endpoints of {name}");
        }
        Ok(convergence)
    }

    async fn measured(&self, running: &Running, begun: Instant, before: Writes) -> io::Result<Convergence> {
        let (took, usage) = (begun.elapsed(), Usage::of(running.pid())?);
        let writes = self.writes().await.since(before);
        Ok(Convergence { took, writes, cpu: usage.cpu, peak_resident: usage.peak_resident })
    }

    /// Waits until the NetServices say that they have so many endpoints, which they do last.
    async fn told(&self, wanted: impl Fn(&str, usize) -> usize) {
        let api: Api<_> = scene::api(&self.namespace, Group::Own);
        let wanted: Vec<_> =
            self.net_services.iter().map(|(name, _)| (name, wanted(name, self.expected(name).len()))).collect();
        eventually(FAILED, "all NetServices have their endpoints", async || {
            let all = api.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let has = |name: &str, count: usize| {
                all.iter().any(|found| {
                    found.metadata.name.as_deref() == Some(name) && found.data["status"]["endpoints"] == json!(count)
                })
            };
            match wanted.iter().find(|(name, count)| !has(name, *count)) {
                None => Ok(()),
                Some((name, count)) => Err(format!("{name} has not {count}")),
            }
        })
        .await;
    }

    async fn writes(&self) -> Writes {
        let mut writes = Writes::default();
        for event in self.namespace.requests().await {
            let is_write = ["create", "patch", "update", "delete"].contains(&event.verb.as_str());
            match event.resource.as_str() {
                _ if !is_write => {}
                "leases" => {}
                "services" => writes.services += 1,
                "endpointslices" => writes.slices += 1,
                "netservices" => writes.statuses += 1,
                _ => writes.others += 1,
            }
        }
        writes
    }

    /// The endpoints of a NetService, as [`lines`] has them.
    fn expected(&self, name: &str) -> Vec<String> {
        let pods = (0..self.pods).filter(|number| is_of(name, *number));
        let network = NETWORKS.iter().position(|network| name.ends_with(network)).unwrap_or_default();
        let mut lines: Vec<_> = pods.map(|number| ready(&address(number, network), pod_name(number))).collect();
        lines.sort();
        lines
    }
}

fn is_of(net_service: &str, number: usize) -> bool {
    net_service.starts_with("all-") || net_service.starts_with(&format!("{}-", name_of(number % APPS)))
}

fn name_of(app: usize) -> String {
    format!("media-{app}")
}

fn pod_name(number: usize) -> String {
    format!("{}-6c9f7d5b8-{number:05}", name_of(number % APPS))
}

fn labels(number: usize) -> Value {
    json!({
        "app": name_of(number % APPS),
        "tier": "media",
        "app.kubernetes.io/version": "1.2.3",
        "app.kubernetes.io/managed-by": "Helm",
        "pod-template-hash": "6c9f7d5b8",
        "topology.kubernetes.io/zone": "zone-a",
    })
}

fn address(number: usize, network: usize) -> String {
    format!("10.{}.{}.{}", 50 + network, number / 250, number % 250 + 1)
}

/// The annotation, as Multus writes it: with indentation.
fn networks(number: usize) -> String {
    let mut all = vec![json!({
        "name": "cbr0", "interface": "eth0", "ips": ["198.51.100.7"], "mac": "0a:58:0a:f4:00:07", "default": true,
        "dns": {}, "gateway": ["198.51.100.1"],
    })];
    for (index, network) in NETWORKS.into_iter().enumerate() {
        all.push(json!({
            "name": network, "interface": format!("net{}", index + 1), "ips": [address(number, index)],
            "mac": "02:00:00:4d:5c:11", "dns": {}, "gateway": ["<nil>"],
            "device-info": {"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:18:02.5"}},
        }));
    }
    serde_json::to_string_pretty(&all).unwrap_or_default()
}
