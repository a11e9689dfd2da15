//! Sees what becomes of pods and of a NetService's endpoints, and judges afterwards how late the endpoints were.
//!
//! What counts is when a change of a pod can be seen, and when that of the endpoints can; not who asked for it when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use cluster_tests::{
    harness::{Change, Namespace, observe},
    net_service::{PROMPT, lines},
    nodes::{AdditionalNetwork, networks, pods},
};
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::api::ListParams;
use net_service::names::SERVICE_NAME_LABEL;
use tokio::{sync::watch, task::JoinHandle};

struct Event {
    at: Instant,
    what: What,
}

enum What {
    /// What a pod's endpoint has to be from now on, if it has one.
    Pod { name: String, endpoint: Option<String> },
    /// The endpoints in a slice.
    Slice { name: String, endpoints: Vec<String> },
}

/// Watches until it is asked what it saw.
pub(crate) struct Follower {
    pods: JoinHandle<Vec<Event>>,
    slices: JoinHandle<Vec<Event>>,
    end: watch::Sender<()>,
}

impl Follower {
    /// Begins, for a NetService of this name that selects the pods with this label `app` on this network. Neither has been
    /// created yet.
    pub(crate) async fn start(
        namespace: &Namespace<'_>,
        net_service: &'static str,
        app: &'static str,
        network: AdditionalNetwork,
    ) -> Self {
        let (end, ended) = watch::channel(());
        let now = |what| Event { at: Instant::now(), what };
        let version = namespace.api::<Pod>().list(&ListParams::default()).await.unwrap().metadata.resource_version;
        let pods = observe(namespace.api::<Pod>(), version.clone().unwrap(), ended.clone(), move |change| {
            let name = pods::name(change.object()).to_owned();
            Some(now(What::Pod { name, endpoint: endpoint(change, app, network) }))
        });
        let slices = observe(namespace.api::<EndpointSlice>(), version.unwrap(), ended, move |change| {
            let metadata = &change.object().metadata;
            let service = metadata.labels.as_ref()?.get(SERVICE_NAME_LABEL)?;
            let endpoints = match change {
                Change::There(slice) => lines(std::slice::from_ref(slice)),
                Change::Gone(_) => Vec::new(),
            };
            (service == net_service).then(|| now(What::Slice { name: metadata.name.clone().unwrap(), endpoints }))
        });
        Self { pods: tokio::spawn(pods), slices: tokio::spawn(slices), end }
    }

    /// No endpoint was ever late.
    pub(crate) async fn was_in_time(self) {
        drop(self.end);
        let mut events = self.pods.await.unwrap();
        events.extend(self.slices.await.unwrap());
        events.sort_by_key(|event| event.at);
        let late = late(&events, Instant::now());
        let (pod, time) = late.iter().max_by_key(|(_, time)| *time).expect("it saw a pod with an endpoint");
        assert!(*time <= PROMPT, "the endpoint of {pod} was late by {time:?}");
    }
}

/// What a pod's endpoint has to be.
fn endpoint(change: &Change<Pod>, app: &str, network: AdditionalNetwork) -> Option<String> {
    let Change::There(pod) = change else { return None };
    let labels = pod.metadata.labels.as_ref()?;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if labels.get("app").map(String::as_str) != Some(app) || matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let mut line = format!("{} {}", networks::attached(pod, network)?, pods::name(pod));
    let is_going = pod.metadata.deletion_timestamp.is_some();
    let serves = pods::serves(pod);
    for (word, is) in [(" ready", serves && !is_going), (" serving", serves), (" terminating", is_going)] {
        if is {
            line += word;
        }
    }
    Some(line)
}

/// For each pod the longest time for which its endpoint was another one than it had to be, since the pod last changed.
fn late(events: &[Event], end: Instant) -> BTreeMap<String, Duration> {
    let mut wanted: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut slices: BTreeMap<&str, &[String]> = BTreeMap::new();
    let mut since: BTreeMap<&str, Instant> = BTreeMap::new();
    let mut late: BTreeMap<String, Duration> = BTreeMap::new();
    for event in events {
        match &event.what {
            What::Pod { name, endpoint } => {
                if wanted.insert(name, endpoint.as_deref()).flatten() != endpoint.as_deref() {
                    since.remove(&**name);
                }
            }
            What::Slice { name, endpoints } => drop(slices.insert(name, endpoints)),
        }
        let all: BTreeSet<_> = slices.values().copied().flatten().map(String::as_str).collect();
        for (pod, endpoint) in &wanted {
            let mut found = all.iter().copied().filter(|line| line.split(' ').nth(1) == Some(pod));
            let is_right = found.next() == *endpoint && found.next().is_none();
            match (is_right, since.get(pod).copied()) {
                (true, Some(begun)) => {
                    let time = late.entry((*pod).to_owned()).or_default();
                    *time = (*time).max(event.at - begun);
                    since.remove(pod);
                }
                (false, None) => drop(since.insert(pod, event.at)),
                _ => {}
            }
        }
    }
    for (pod, begun) in since {
        let time = late.entry(pod.to_owned()).or_default();
        *time = (*time).max(end - begun);
    }
    late
}

#[test]
fn an_endpoint_that_is_not_as_its_pod_is_is_late_since_the_pod_changed() {
    let start = Instant::now();
    let at = |second: u64| start + Duration::from_secs(second);
    let pod = |second, endpoint: &str| {
        let endpoint = (!endpoint.is_empty()).then(|| endpoint.to_owned());
        Event { at: at(second), what: What::Pod { name: "a".to_owned(), endpoint } }
    };
    let slice = |second, endpoints: &[&str]| {
        let endpoints = endpoints.iter().map(|&line| line.to_owned()).collect();
        Event { at: at(second), what: What::Slice { name: "s".to_owned(), endpoints } }
    };
    let seconds = |events: &[Event]| late(events, at(100)).get("a").map(Duration::as_secs);
    for (case, events, expected) in [
        ("never selected", vec![pod(1, ""), slice(2, &["4 b"])], None),
        ("in time", vec![pod(1, "4 a"), slice(3, &["4 a"])], Some(2)),
        ("seen before its pod", vec![slice(1, &["4 a"]), pod(3, "4 a")], None),
        ("changed in between", vec![pod(1, "4 a"), pod(5, "4 a ready"), slice(6, &["4 a ready"])], Some(1)),
        ("told again, unchanged", vec![pod(1, "4 a"), pod(5, "4 a"), slice(6, &["4 a"])], Some(5)),
        ("never", vec![pod(1, "4 a"), slice(3, &["5 a"])], Some(99)),
        ("another one beside it", vec![pod(1, "4 a"), slice(3, &["4 a", "5 a"]), slice(5, &["4 a"])], Some(4)),
        ("gone", vec![pod(1, "4 a"), slice(1, &["4 a"]), pod(5, ""), slice(8, &[])], Some(3)),
        ("wrong for a while", vec![pod(1, "4 a"), slice(1, &["4 a"]), slice(5, &[]), slice(9, &["4 a"])], Some(4)),
    ] {
        assert_eq!(seconds(&events), expected, "{case}");
    }
}
