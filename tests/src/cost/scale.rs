//! What the watcher takes for many pods and Services: memory, time and requests.

use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use super::{
    observer::{self, Kind, Observer},
    population::{self, Owner, Shape},
    usage::Usage,
};
use crate::harness::{Component, ControlPlane, Namespace, Options, Run, Running, Signal, control_plane::StartError};

/// The requests of who makes the pods would be most of the audit log, which the apiserver begins anew at 100 MB. Those
/// to paths, such as /version, must stay: by one of them the harness sees that the log is complete.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["admin", "OBSERVER"]
  resources: [{group: ""}]
- level: None
  users: ["system:kube-controller-manager", "system:apiserver"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
"#;

/// How long a scan may take before it counts as failed.
const SCAN: Duration = Duration::from_secs(120);

/// A control plane that takes many objects.
///
/// # Errors
/// When it does not start.
pub async fn control_plane() -> Result<ControlPlane, StartError> {
    let mut policy = NamedTempFile::new()?;
    policy.write_all(AUDIT_POLICY.replace("OBSERVER", observer::USER).as_bytes())?;
    let options = Options {
        apiserver_flags: vec![format!("--audit-policy-file={}", policy.path().display())],
        // All versions of all objects, until they are compacted.
        etcd_flags: vec![format!("--quota-backend-bytes={}", 8_u64 << 30)],
        ..Options::default()
    };
    ControlPlane::try_start(options).await
}

/// A namespace with many pods and Services.
pub struct Crowd<'a> {
    observer: Observer,
    namespace: Namespace<'a>,
    /// The names of the pods that have Services, in the order of their creation.
    couples: Vec<String>,
    /// How many were ever created: names do not repeat.
    created: usize,
    others: usize,
}

/// How a watcher started, and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Pods that have Services.
    pub couples: usize,
    /// Pods of others.
    pub others: usize,
    /// From the start of the process until both watches have listed.
    pub watching: Duration,
    /// From the start of the process until the first scan is done.
    pub scanned: Duration,
    /// Processor time of that scan.
    pub scan_cpu: Duration,
    /// Bytes, up to when both watches have listed.
    pub peak_watching: u64,
    /// Bytes, up to the end of the first scan.
    pub peak_resident: u64,
}

/// What a watcher takes while nothing happens.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// For how long that was measured.
    pub window: Duration,
    /// Its processor time in the window.
    pub cpu: Duration,
    /// Its requests in the window.
    pub requests: usize,
}

/// How many Services were found to be orphans at once.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// How many pods went.
    pub pods: usize,
    /// From the first pod's DELETED event to the last pod's.
    pub pods_took: Duration,
    /// Until the last Service was gone.
    pub took: Duration,
    /// Bytes, up to then.
    pub peak_resident: u64,
}

impl<'a> Crowd<'a> {
    /// An empty one.
    pub async fn new(control_plane: &'a ControlPlane) -> Self {
        let observer = Observer::start(control_plane).await;
        let namespace = control_plane.namespace().await;
        // It has no part in what is measured, and would write an EndpointSlice for each Service at the same time.
        control_plane.stop(Component::ControllerManager, Signal::Terminate).await;
        Self { observer, namespace, couples: Vec::new(), created: 0, others: 0 }
    }

    /// How many pods have Services.
    #[must_use]
    pub fn couples(&self) -> usize {
        self.couples.len()
    }

    /// Adds pods with Services that have no owner.
    pub async fn add_couples(&mut self, count: usize) {
        let names = self.names(count);
        population::create_couples(&self.namespace, &names, Shape::Headless, Owner::Nobody).await;
        self.couples.extend(names);
        self.observed().await;
    }

    /// Adds pods of others.
    pub async fn add_others(&mut self, count: usize) {
        let names = self.names(count);
        population::create_others(&self.namespace, &names).await;
        self.others += count;
    }

    /// Starts a watcher, and waits until its first scan is done.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn start(&self) -> io::Result<(Running, Start)> {
        let run = Run::watcher(&self.namespace).await;
        let started = Instant::now();
        let watcher = run.spawn();
        watcher.logged("watching", |_| true).await;
        let watching = started.elapsed();
        let before = Usage::of(watcher.pid())?;
        watcher.logged_within(SCAN, "scanned", |_| true).await;
        let scanned = started.elapsed();
        let after = Usage::of(watcher.pid())?;
        let start = Start {
            couples: self.couples.len(),
            others: self.others,
            watching,
            scanned,
            scan_cpu: after.cpu.saturating_sub(before.cpu),
            peak_watching: before.peak_resident,
            peak_resident: after.peak_resident,
        };
        Ok((watcher, start))
    }

    /// Measures a watcher while nothing happens, for this long.
    ///
    /// # Errors
    /// When it has ended.
    pub async fn idle(&self, watcher: &Running, window: Duration) -> io::Result<Idle> {
        let requests = self.namespace.requests().await.len();
        let (started, before) = (Instant::now(), Usage::of(watcher.pid())?);
        tokio::time::sleep(window).await;
        let (window, after) = (started.elapsed(), Usage::of(watcher.pid())?);
        Ok(Idle {
            window,
            cpu: after.cpu.saturating_sub(before.cpu),
            requests: self.namespace.requests().await.len() - requests,
        })
    }

    /// Deletes pods at once beside a running watcher; measured from the last pod's DELETED event to the last Service's.
    ///
    /// # Errors
    /// When the watcher has ended.
    pub async fn lose(&mut self, watcher: &Running, count: usize) -> io::Result<Loss> {
        let names = self.take(count);
        population::delete_pods(&self.namespace, &names).await;
        self.observer.until_gone(Kind::Pod, &names).await;
        self.observer.until_gone(Kind::Service, &names).await;
        let (_, last) = self.span(Kind::Pod, &names);
        self.loss(watcher, &names, last)
    }

    /// Deletes pods while no watcher runs, then starts one; measured from its start to the last Service's DELETED event.
    ///
    /// # Errors
    /// When the watcher ends instead.
    pub async fn lose_unseen(&mut self, count: usize) -> io::Result<(Running, Loss)> {
        let names = self.take(count);
        population::delete_pods(&self.namespace, &names).await;
        self.observer.until_gone(Kind::Pod, &names).await;
        let run = Run::watcher(&self.namespace).await;
        let started = Instant::now();
        let watcher = run.spawn();
        self.observer.until_gone(Kind::Service, &names).await;
        let loss = self.loss(&watcher, &names, started)?;
        Ok((watcher, loss))
    }

    fn loss(&self, watcher: &Running, names: &[String], since: Instant) -> io::Result<Loss> {
        let (first, last) = self.span(Kind::Pod, names);
        let took = self.span(Kind::Service, names).1.saturating_duration_since(since);
        let peak_resident = Usage::of(watcher.pid())?.peak_resident;
        Ok(Loss { pods: names.len(), pods_took: last - first, took, peak_resident })
    }

    /// When the first and the last of these went.
    fn span(&self, kind: Kind, names: &[String]) -> (Instant, Instant) {
        let times = || names.iter().map(|name| self.observer.gone(kind, name));
        let now = Instant::now();
        (times().min().unwrap_or(now), times().max().unwrap_or(now))
    }

    /// Takes some out of the middle, where they are spread over all pages and watches.
    fn take(&mut self, count: usize) -> Vec<String> {
        let step = (self.couples.len() / count.max(1)).max(1);
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        for (index, name) in self.couples.drain(..).enumerate() {
            let to = if index.is_multiple_of(step) && taken.len() < count { &mut taken } else { &mut kept };
            to.push(name);
        }
        self.couples = kept;
        taken
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        let numbers = self.created..self.created + count;
        self.created += count;
        numbers.map(|number| format!("ipf-example-6c9f7d5b8-{number:05}")).collect()
    }

    /// Waits until the apiserver has told the observer of all.
    async fn observed(&self) {
        let count = self.couples.len();
        let what = format!("there are {count} pods and {count} Services");
        self.observer.until(&what, |seen| seen.live(Kind::Pod) == count && seen.live(Kind::Service) == count).await;
    }
}
