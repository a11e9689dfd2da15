//! What happens to pods in a cluster's daily life: none of it leaves a pod without its port, or a Service without its pod.

use std::{collections::BTreeMap, time::Duration};

use cluster_tests::{
    harness::{Namespace, eventually, manifests},
    nodes::{Cluster, NODES, Network, NodeName, Part, Program, pods},
};
use common::labels::POD_UID_ANNOTATION;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ContainerStatus, Node, Pod, Service},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, EvictParams, Patch, PatchParams},
};
use serde_json::json;

use super::observer::Observer;

/// How long the cluster may take to settle, on a busy machine.
const SETTLED: Duration = Duration::from_secs(120);

/// Whether Kubernetes itself removes the Service of a pod that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// It does.
    Pod,
    /// It does not: only the watcher does.
    None,
}

/// The documented watcher and the documented application, with this many pods.
struct Life<'a> {
    cluster: &'a Cluster,
    namespace: Namespace<'a>,
    observer: Observer,
}

impl<'a> Life<'a> {
    async fn begin(cluster: &'a Cluster, owner: Owner, replicas: usize) -> Self {
        let namespace = cluster.control_plane().namespace().await;
        let observer = Observer::start(&namespace).await;
        pods::apply(&namespace, "examples/documented/watcher.yaml").await;
        let mut documents = manifests::read("examples/documented/deployment.yaml");
        documents.iter_mut().for_each(pods::use_application);
        documents[1]["spec"]["replicas"] = replicas.into();
        if owner == Owner::None {
            let command = &mut documents[1]["spec"]["template"]["spec"]["initContainers"][0]["command"];
            command.as_array_mut().unwrap().extend(["--owner-reference".into(), "none".into()]);
        }
        manifests::create(&namespace.admin(), namespace.name(), documents).await;
        let life = Self { cluster, namespace, observer };
        life.settled(replicas).await;
        life
    }

    fn pods(&self) -> Api<Pod> {
        self.namespace.api()
    }

    /// The application's pods, whatever becomes of them.
    async fn all(&self) -> Vec<Pod> {
        let all = pods::list(&self.namespace, "product=ipfv2").await;
        all.into_iter().filter(|pod| pods::name(pod).starts_with("ipf-example")).collect()
    }

    /// Waits until there are just this many pods, all ready, and one Service for each and no other; returns the pods by UID.
    async fn settled(&self, count: usize) -> BTreeMap<String, Pod> {
        eventually(SETTLED, &format!("{count} pods have one Service each, and no other is left"), async || {
            let all = self.all().await;
            let ready = all.iter().filter(|pod| pods::is_ready(pod)).count();
            let services = self.namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
            let mut made_for: Vec<_> =
                services.iter().map(|it| it.annotations().get(POD_UID_ANNOTATION).cloned()).collect();
            let mut uids: Vec<_> = all.iter().map(ResourceExt::uid).collect();
            made_for.sort();
            uids.sort();
            if ready == count && all.len() == count && made_for == uids {
                return Ok(all.into_iter().map(|pod| (pod.uid().unwrap(), pod)).collect());
            }
            Err(format!("{ready} ready of {}, Services for {made_for:?}, pods {uids:?}", all.len()))
        })
        .await
    }

    /// What the application of each pod has read; by its own node port, which that names.
    async fn files(&self, pods: &BTreeMap<String, Pod>) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for (uid, pod) in pods {
            let port = pods::node_port(&self.namespace, pods::name(pod), "akka-management").await;
            let file = self.cluster.reach(Network::Client, pods::node(pod).at(port), "/file").await;
            let artery = pods::node_port(&self.namespace, pods::name(pod), "akka-artery").await;
            for line in [format!("IPF_MANAGEMENTPORT = {port}\n"), format!("IPF_NODEPORT = {artery}\n")] {
                assert!(file.contains(&line), "{line} is not in {file}");
            }
            files.insert(uid.clone(), file);
        }
        files
    }

    async fn patch(&self, spec: serde_json::Value) {
        let deployments = self.namespace.api::<Deployment>();
        let patch = Patch::Merge(json!({"spec": spec}));
        deployments.patch("ipf-example", &PatchParams::default(), &patch).await.unwrap();
    }

    /// There was no moment at which a live pod had no port.
    async fn end(self, count: usize) {
        let pods = self.settled(count).await;
        self.files(&pods).await;
        assert_eq!(self.observer.faults().await, Vec::<String>::new());
    }
}

async fn rolling_update_and_scale(owner: Owner) {
    let Some(cluster) = Cluster::shared().await else { return };
    let life = Life::begin(&cluster, owner, 1).await;
    life.patch(json!({"replicas": 10})).await;
    let before = life.settled(10).await;
    life.patch(json!({"template": {"metadata": {"annotations": {"revision": "2"}}}})).await;
    eventually(SETTLED, "all pods are of the new revision", async || {
        let all = life.all().await;
        let old = all.iter().filter(|pod| before.contains_key(&pod.uid().unwrap())).count();
        if old == 0 { Ok(()) } else { Err(format!("{old} old ones")) }
    })
    .await;
    life.settled(10).await;
    life.patch(json!({"replicas": 2})).await;
    life.end(2).await;
}

#[tokio::test]
async fn an_update_and_scaling_up_and_down() {
    rolling_update_and_scale(Owner::Pod).await;
}

#[tokio::test]
async fn the_same_where_only_the_watcher_removes_services() {
    rolling_update_and_scale(Owner::None).await;
}

#[tokio::test]
async fn a_pod_that_is_killed_without_grace() {
    let Some(cluster) = Cluster::shared().await else { return };
    for owner in [Owner::Pod, Owner::None] {
        let life = Life::begin(&cluster, owner, 2).await;
        let before = life.settled(2).await;
        for pod in before.values() {
            life.pods().delete(pods::name(pod), &DeleteParams::default().grace_period(0)).await.unwrap();
        }
        let after = life.settled(2).await;
        assert!(after.keys().all(|uid| !before.contains_key(uid)), "{owner:?}");
        life.end(2).await;
    }
}

fn init_container(pod: &Pod) -> ContainerStatus {
    pod.status.as_ref().unwrap().init_container_statuses.as_ref().unwrap()[0].clone()
}

#[tokio::test]
async fn a_sandbox_that_is_killed_runs_the_creator_again_to_the_same_file() {
    let Some(cluster) = Cluster::shared().await else { return };
    let life = Life::begin(&cluster, Owner::Pod, 2).await;
    let before = life.settled(2).await;
    let files = life.files(&before).await;
    for pod in before.values() {
        cluster.kill(pod, Part::Sandbox).await;
    }
    for (uid, pod) in &before {
        eventually(SETTLED, "its init container has run again", async || {
            let now = life.pods().get(pods::name(pod)).await.unwrap();
            assert_eq!(now.uid().as_ref(), Some(uid), "the pod is the same");
            let (old, new) = (init_container(pod), init_container(&now));
            let again = new.container_id.is_some() && new.container_id != old.container_id && pods::is_ready(&now);
            if again { Ok(()) } else { Err(format!("{:?}", new.state)) }
        })
        .await;
    }
    let after = life.settled(2).await;
    assert_eq!(life.files(&after).await, files, "same ports, same bytes");
    life.end(2).await;
}

#[tokio::test]
async fn a_kubelet_that_restarts_runs_nothing_again() {
    let Some(cluster) = Cluster::alone().await else { return };
    let life = Life::begin(&cluster, Owner::Pod, 2).await;
    let before = life.settled(2).await;
    let files = life.files(&before).await;
    for node in NODES {
        cluster.stop(node, Program::Kubelet).await;
        cluster.resume(node, Program::Kubelet).await;
    }
    let marker = pods::plain(&life.namespace, "marker", NodeName::Node1, json!({})).await;
    pods::plain(&life.namespace, "marker-2", NodeName::Node2, json!({})).await;
    assert!(pods::is_ready(&marker), "the new kubelets work");
    let after = life.settled(2).await;
    for (uid, pod) in &before {
        let (old, new) = (init_container(pod), init_container(&after[uid]));
        assert_eq!((old.container_id, old.restart_count), (new.container_id, new.restart_count));
    }
    assert_eq!(life.files(&after).await, files);
    life.end(2).await;
}

/// Evicts the pods of the test from a node, as `kubectl drain` does.
async fn drain(life: &Life<'_>, node: NodeName) {
    let nodes: Api<Node> = Api::all(life.namespace.admin());
    nodes.cordon(node.as_str()).await.unwrap();
    for pod in pods::list(&life.namespace, "product=ipfv2").await {
        if pod.spec.as_ref().unwrap().node_name.as_deref() == Some(node.as_str()) {
            life.pods().evict(pods::name(&pod), &EvictParams::default()).await.unwrap();
        }
    }
    eventually(SETTLED, &format!("{node} is empty"), async || {
        let all = pods::list(&life.namespace, "product=ipfv2").await;
        let left =
            all.iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.as_deref() == Some(node.as_str())).count();
        if left == 0 { Ok(()) } else { Err(format!("{left} pods")) }
    })
    .await;
}

#[tokio::test]
async fn nodes_that_are_drained_one_after_the_other_the_watcher_among_what_moves() {
    let Some(cluster) = Cluster::alone().await else { return };
    for owner in [Owner::Pod, Owner::None] {
        let life = Life::begin(&cluster, owner, 4).await;
        let nodes: Api<Node> = Api::all(life.namespace.admin());
        let before = life.settled(4).await;
        for node in NODES {
            drain(&life, node).await;
            let moved = life.settled(4).await;
            assert!(moved.values().all(|pod| pods::node(pod) == node.other()), "{node}");
            nodes.uncordon(node.as_str()).await.unwrap();
        }
        let after = life.settled(4).await;
        assert!(after.keys().all(|uid| !before.contains_key(uid)), "each has moved once at least");
        life.end(4).await;
    }
}
