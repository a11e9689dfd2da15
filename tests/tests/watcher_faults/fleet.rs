//! Many pods with a Service each, made as a creator with `owner-reference: none` makes it.

use std::{
    collections::BTreeSet,
    sync::OnceLock,
    time::{Duration, Instant},
};

use cluster_tests::harness::{Event, Namespace, Pod, Service, all, eventually};
use k8s_openapi::api::core::v1::{Pod as PodObject, Service as ServiceObject};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};

/// How many requests of a test are under way at a time.
const AT_A_TIME: usize = 16;

/// The label that tells the pods of one fleet from those of another.
const FLEET: &str = "fleet";

/// Pods, and a Service for each.
pub(crate) struct Fleet<'a> {
    namespace: &'a Namespace<'a>,
    name: String,
    /// When the deletion of its pods was asked for.
    deleted: OnceLock<Instant>,
    pub(crate) pods: Vec<Pod<'a>>,
    pub(crate) services: Vec<Service<'a>>,
}

impl<'a> Fleet<'a> {
    /// Creates so many. The Services are headless: there are only 2,768 node ports.
    pub(crate) async fn launch(namespace: &'a Namespace<'a>, name: &str, count: usize) -> Self {
        let mut fleet =
            Self { namespace, name: name.to_owned(), deleted: OnceLock::new(), pods: Vec::new(), services: Vec::new() };
        let names: Vec<_> = (0..count).map(|number| format!("{name}-{number}")).collect();
        for names in names.chunks(AT_A_TIME) {
            let member = async |pod_name: &str| {
                let pod = namespace.pod(pod_name).label(FLEET, name).host_ips(&[]).create().await;
                let service = pod.service().without_owner().headless().create().await;
                (pod, service)
            };
            for (pod, service) in all(names.iter().map(|name| member(name)).collect()).await {
                fleet.pods.push(pod);
                fleet.services.push(service);
            }
        }
        fleet
    }

    /// Deletes all its pods at once, and returns when they are gone.
    pub(crate) async fn delete_pods(&self) {
        let pods: Api<PodObject> = self.namespace.api();
        let fleet = self.selected();
        self.deleted.get_or_init(Instant::now);
        pods.delete_collection(&DeleteParams::default().grace_period(0), &fleet).await.unwrap();
        eventually(crate::DEADLINE, &format!("the pods of {} are gone", self.name), async || {
            let left = pods.list_metadata(&fleet).await.unwrap().items.len();
            if left == 0 { Ok(()) } else { Err(format!("{left} are left")) }
        })
        .await;
    }

    /// Waits until all its Services are gone, and returns how long after the deletion of its pods that was.
    pub(crate) async fn collected(&self, within: Duration) -> Duration {
        eventually(within, &format!("the Services of {} are gone", self.name), async || {
            let left = self.left().await;
            if left.is_empty() { Ok(()) } else { Err(format!("{} are left: {left:?}", left.len())) }
        })
        .await;
        self.deleted.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// The names of its Services that are there.
    pub(crate) async fn left(&self) -> BTreeSet<String> {
        let services: Api<ServiceObject> = self.namespace.api();
        let there = services.list_metadata(&ListParams::default()).await.unwrap().items;
        let uids: BTreeSet<_> = there.into_iter().filter_map(|service| service.metadata.uid).collect();
        self.services.iter().filter(|service| uids.contains(service.uid())).map(|s| s.name().to_owned()).collect()
    }

    /// Fails unless all its Services are there as they were made.
    pub(crate) async fn assert_untouched(&self) {
        for service in &self.services {
            service.assert_untouched().await;
        }
    }

    /// Fails unless the watchers have deleted each of its Services exactly once, and nothing else in the namespace.
    pub(crate) async fn assert_deleted_once_each(&self) {
        let in_vain = self.deletions_in_vain().await;
        assert!(in_vain.iter().all(|code| [404, 409].contains(code)), "{in_vain:?}");
    }

    /// The same, whatever became of further deletions; returns what they were answered with.
    pub(crate) async fn deletions_in_vain(&self) -> Vec<u16> {
        let mut expected: Vec<_> = self.services.iter().map(Service::uid).collect();
        expected.sort_unstable();
        // An answer may be here a moment before it is in the log.
        eventually(crate::DEADLINE, "the log has each Service's deletion once, and no other", async || {
            let requests = self.namespace.requests().await;
            let (done, in_vain): (Vec<_>, Vec<_>) =
                requests.iter().filter(|event| event.verb == "delete").partition(|event| event.code == 200);
            let uid = |event: &&Event| event.answer["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let mut deleted: Vec<_> = done.iter().map(uid).collect();
            deleted.sort_unstable();
            let in_vain = in_vain.into_iter().map(|event| event.code).collect();
            if deleted == expected { Ok(in_vain) } else { Err(format!("{done:#?}")) }
        })
        .await
    }

    fn selected(&self) -> ListParams {
        ListParams::default().labels(&format!("{FLEET}={}", self.name))
    }
}
