//! Sees all that happens to the pods and Services of a namespace, and judges it afterwards: was there ever a live pod without its
//! port?
//!
//! Pods and Services are watched apart, but their resource versions are etcd's revisions: sorted by these, the events are in the
//! one order in which they happened.

use std::collections::BTreeMap;

use cluster_tests::{
    harness::{Change, Namespace, observe},
    nodes::pods,
};
use common::labels::POD_UID_ANNOTATION;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{Api, ResourceExt, api::ListParams};
use tokio::task::JoinHandle;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    revision: u64,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A pod of the application is there.
    Pod { uid: String, name: String, state: State },
    /// It is gone.
    PodGone { uid: String },
    /// A Service is there, for this pod, with these node ports.
    Service { uid: String, pod: String, ports: Vec<i32> },
    /// It is gone.
    ServiceGone { uid: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// Its application does not run yet, or not now.
    Waits,
    /// Its application runs, and has read the file.
    Ready,
    /// It has finished.
    Finished,
}

/// Watches a namespace until it is asked what it saw.
pub(crate) struct Observer {
    pods: JoinHandle<Vec<Event>>,
    services: JoinHandle<Vec<Event>>,
    end: tokio::sync::watch::Sender<()>,
}

impl Observer {
    /// Begins, in a namespace where no pod of the application is yet: what is made once this returns is seen.
    pub(crate) async fn start(namespace: &Namespace<'_>) -> Self {
        let (end, ended) = tokio::sync::watch::channel(());
        let (pods, services) = (namespace.api(), namespace.api());
        let (first_pods, first_services) = (nothing_yet(&pods, pod).await, nothing_yet(&services, service).await);
        Self {
            pods: tokio::spawn(observe(pods, first_pods, ended.clone(), |change| event(change, pod))),
            services: tokio::spawn(observe(services, first_services, ended, |change| event(change, service))),
            end,
        }
    }

    /// What was wrong at any time, in the order in which it was.
    pub(crate) async fn faults(self) -> Vec<String> {
        drop(self.end);
        let mut events = self.pods.await.unwrap();
        events.extend(self.services.await.unwrap());
        assert!(
            events.iter().any(|event| matches!(event.what, What::Pod { state: State::Ready, .. })),
            "it saw nothing"
        );
        events.sort();
        faults(&events)
    }
}

/// The resource version at which there is nothing to see yet.
async fn nothing_yet<K>(api: &Api<K>, read: fn(bool, &K) -> Option<What>) -> String
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let list = api.list(&ListParams::default()).await.unwrap();
    assert!(list.items.iter().all(|object| read(true, object).is_none()), "there are some already");
    list.metadata.resource_version.unwrap()
}

fn event<K: kube::Resource>(change: &Change<K>, read: fn(bool, &K) -> Option<What>) -> Option<Event> {
    let object = change.object();
    let what = read(matches!(change, Change::There(_)), object)?;
    Some(Event { revision: object.resource_version().unwrap().parse().unwrap(), what })
}

/// A pod of the documented Deployment; the watcher's has no Service.
fn pod(is_there: bool, pod: &Pod) -> Option<What> {
    if !pods::name(pod).starts_with("ipf-example") {
        return None;
    }
    let uid = pod.uid().unwrap();
    if !is_there {
        return Some(What::PodGone { uid });
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let runs = pod
        .status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten())
        .any(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()));
    let state = match phase {
        Some("Succeeded" | "Failed") => State::Finished,
        _ if runs => State::Ready,
        _ => State::Waits,
    };
    Some(What::Pod { uid, name: pods::name(pod).to_owned(), state })
}

fn service(is_there: bool, service: &Service) -> Option<What> {
    let pod = service.annotations().get(POD_UID_ANNOTATION)?.clone();
    let uid = service.uid().unwrap();
    if !is_there {
        return Some(What::ServiceGone { uid });
    }
    let ports = service.spec.as_ref()?.ports.iter().flatten().filter_map(|port| port.node_port).collect();
    Some(What::Service { uid, pod, ports })
}

/// The rules: a pod whose application runs has one Service, whose ports never change; no Service goes while its pod runs or will.
fn faults(events: &[Event]) -> Vec<String> {
    let mut pods: BTreeMap<&str, (&str, State)> = BTreeMap::new();
    let mut services: BTreeMap<&str, (&str, &[i32])> = BTreeMap::new();
    let mut promised: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    let mut faults = Vec::new();
    for Event { revision, what } in events {
        match what {
            What::Pod { uid, name, state } => drop(pods.insert(uid, (name, *state))),
            What::PodGone { uid } => drop(pods.remove(&**uid)),
            What::Service { uid, pod, ports } => drop(services.insert(uid, (pod, ports))),
            What::ServiceGone { uid } => {
                let of = services.remove(&**uid).and_then(|(pod, _)| pods.get(pod));
                if let Some((name, State::Waits | State::Ready)) = of {
                    faults.push(format!("{revision}: the Service of {name} goes before it"));
                }
            }
        }
        for (uid, (name, _)) in pods.iter().filter(|(_, (_, state))| *state == State::Ready) {
            let own: Vec<_> =
                services.values().filter(|(pod, _)| pod == uid).map(|(_, ports)| ports.to_vec()).collect();
            match &own[..] {
                [ports] if ports.contains(&0) || ports.is_empty() => {
                    faults.push(format!("{revision}: {name} has no ports"));
                }
                [ports] if promised.entry(uid).or_insert_with(|| ports.clone()) != ports => {
                    faults.push(format!("{revision}: the ports of {name} change to {ports:?}"));
                }
                [_] => {}
                other => faults.push(format!("{revision}: {name} has {} Services", other.len())),
            }
        }
    }
    faults
}

#[test]
fn a_live_pod_without_its_port_is_a_fault() {
    let pod = |state| What::Pod { uid: "u".into(), name: "app".into(), state };
    let service = |uid: &str, port| What::Service { uid: uid.into(), pod: "u".into(), ports: vec![port] };
    let gone = |uid: &str| What::ServiceGone { uid: uid.into() };
    let all = |whats: Vec<What>| {
        let events: Vec<_> = (1..).zip(whats).map(|(revision, what)| Event { revision, what }).collect();
        faults(&events)
    };
    let life = vec![
        pod(State::Waits),
        service("s", 30_001),
        pod(State::Ready),
        pod(State::Finished),
        gone("s"),
        What::PodGone { uid: "u".into() },
    ];
    assert_eq!(all(life), Vec::<String>::new());
    for (case, whats, expected) in [
        ("never made", vec![pod(State::Ready)], "1: app has 0 Services"),
        ("too early", vec![service("s", 1), pod(State::Ready), gone("s")], "3: the Service of app goes before it"),
        ("before it ran", vec![pod(State::Waits), service("s", 1), gone("s")], "3: the Service of app goes before it"),
        ("two", vec![service("s", 1), service("t", 2), pod(State::Ready)], "3: app has 2 Services"),
        ("other ports", vec![service("s", 1), pod(State::Ready), service("s", 2)], "3: the ports of app change to [2]"),
        ("none allocated", vec![service("s", 0), pod(State::Ready)], "2: app has no ports"),
    ] {
        assert_eq!(all(whats).first().map(String::as_str), Some(expected), "{case}");
    }
}
