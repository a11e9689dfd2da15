//! How soon a Service is gone after its pod: the watcher's work beside that of Kubernetes' own garbage collector.
//!
//! Both work in one control plane, on NodePort Services of the same shape. The collector's have an owner reference and no
//! watcher; the watcher's have none, so the collector leaves them. They take turns, so that noise hits both.

use std::time::{Duration, Instant};

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::api::ListParams;

use super::{
    observer::{Kind, Observer},
    population::{self, Owner, Shape},
};
use crate::harness::{ControlPlane, Namespace, Run, Running, eventually};

/// How long Kubernetes' other controllers may take to see to new pods and Services.
const CALM: Duration = Duration::from_secs(120);

/// One that removes Services whose pods are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remover {
    /// The watcher, under the documented permissions.
    Watcher,
    /// kube-controller-manager.
    Collector,
}

/// Something of each remover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each<T> {
    /// The watcher's.
    pub watcher: T,
    /// The collector's.
    pub collector: T,
}

/// Both, ready to work.
pub struct Rivals<'a> {
    observer: Observer,
    namespaces: Each<Namespace<'a>>,
    watcher: Running,
    /// How many pods each has had so far: names do not repeat.
    created: usize,
}

/// How long a burst took to be cleaned up after; times of receipt of the DELETED events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// From the first pod to the last pod.
    pub pods: Duration,
    /// From the first pod to the last Service.
    pub from_first: Duration,
    /// From the last pod to the last Service.
    pub from_last: Duration,
}

impl<T> Each<T> {
    fn of(&self, remover: Remover) -> &T {
        match remover {
            Remover::Watcher => &self.watcher,
            Remover::Collector => &self.collector,
        }
    }

    fn of_mut(&mut self, remover: Remover) -> &mut T {
        match remover {
            Remover::Watcher => &mut self.watcher,
            Remover::Collector => &mut self.collector,
        }
    }

    /// What becomes of both.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Each<U> {
        Each { watcher: change(self.watcher), collector: change(self.collector) }
    }
}

impl<'a> Rivals<'a> {
    /// Gives each a namespace, and starts the watcher in its own.
    pub async fn start(control_plane: &'a ControlPlane) -> Self {
        let observer = Observer::start(control_plane).await;
        let namespaces = Each { watcher: control_plane.namespace().await, collector: control_plane.namespace().await };
        let watcher = Run::watcher(&namespaces.watcher).await.spawn();
        watcher.logged("scanned", |_| true).await;
        Self { observer, namespaces, watcher, created: 0 }
    }

    /// Deletes pods one after the other, the next when the Service of the last is gone, and returns from the DELETED event
    /// of each pod to that of its Service.
    pub async fn one_by_one(&mut self, count: usize) -> Each<Vec<Duration>> {
        let names = self.create(count).await;
        self.calm().await;
        let mut latencies = Each::<Vec<Duration>>::default();
        for index in 0..count {
            for remover in turn(index) {
                let name = &names.of(remover)[index..=index];
                population::delete_pods(self.namespaces.of(remover), name).await;
                self.observer.until_gone(Kind::Service, name).await;
                latencies.of_mut(remover).push(self.latency(&name[0]));
            }
        }
        latencies
    }

    /// Deletes many pods at once, several times, and returns how long each time took.
    pub async fn bursts(&mut self, times: usize, count: usize) -> Each<Vec<Burst>> {
        let mut names = Vec::new();
        for _ in 0..times {
            names.push(self.create(count).await);
        }
        self.calm().await;
        let mut bursts = Each::<Vec<Burst>>::default();
        for (index, names) in names.iter().enumerate() {
            for remover in turn(index) {
                let names = names.of(remover);
                population::delete_pods(self.namespaces.of(remover), names).await;
                self.observer.until_gone(Kind::Pod, names).await;
                self.observer.until_gone(Kind::Service, names).await;
                bursts.of_mut(remover).push(self.burst(names));
            }
        }
        bursts
    }

    /// The requests of the watcher so far.
    pub async fn requests(&self) -> usize {
        self.namespaces.watcher.requests().await.len()
    }

    /// The process id of the watcher.
    #[must_use]
    pub fn watcher(&self) -> u32 {
        self.watcher.pid()
    }

    /// As many pods with Services for each, and their names.
    async fn create(&mut self, count: usize) -> Each<Vec<String>> {
        let numbers = self.created..self.created + count;
        self.created += count;
        let names = Each { watcher: "watcher", collector: "collector" }
            .map(|prefix| numbers.clone().map(|number| format!("{prefix}-6c9f7d5b8-{number:05}")).collect::<Vec<_>>());
        for (remover, owner) in [(Remover::Watcher, Owner::Nobody), (Remover::Collector, Owner::Pod)] {
            population::create_couples(self.namespaces.of(remover), names.of(remover), Shape::NodePort, owner).await;
        }
        names
    }

    /// Waits until every Service has its EndpointSlice: the controllers that see to new Services are busy until then.
    async fn calm(&self) {
        for namespace in [&self.namespaces.watcher, &self.namespaces.collector] {
            let (services, slices) = (namespace.api::<Service>(), namespace.api::<EndpointSlice>());
            eventually(CALM, "each Service has an EndpointSlice", async || -> Result<_, String> {
                let all = ListParams::default();
                let services = services.list_metadata(&all).await.map_err(|error| error.to_string())?.items.len();
                let slices = slices.list_metadata(&all).await.map_err(|error| error.to_string())?.items.len();
                if slices == services { Ok(()) } else { Err(format!("{slices} for {services} Services")) }
            })
            .await;
        }
    }

    fn latency(&self, name: &str) -> Duration {
        let [pod, service] = [Kind::Pod, Kind::Service].map(|kind| self.observer.gone(kind, name));
        // The two watches are two connections: what happened at nearly the same time can arrive the other way round.
        service.saturating_duration_since(pod)
    }

    fn burst(&self, names: &[String]) -> Burst {
        let times = |kind| names.iter().map(move |name| self.observer.gone(kind, name));
        let (Some(first), Some(last)) = (times(Kind::Pod).min(), times(Kind::Pod).max()) else {
            return Burst::default();
        };
        let service = times(Kind::Service).max().unwrap_or_else(Instant::now);
        Burst {
            pods: last - first,
            from_first: service.saturating_duration_since(first),
            from_last: service.saturating_duration_since(last),
        }
    }
}

/// Whoever is first in one turn is last in the next.
fn turn(index: usize) -> [Remover; 2] {
    if index.is_multiple_of(2) {
        [Remover::Watcher, Remover::Collector]
    } else {
        [Remover::Collector, Remover::Watcher]
    }
}
