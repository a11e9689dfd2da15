//! Pods and Services by the hundred, as a controller, a kubelet and the creator leave them.

use common::labels::{
    ADVERTISED_HOST_ANNOTATION, CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION,
    PRODUCT, PRODUCT_LABEL,
};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use net_service::network::STATUS_ANNOTATION;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{
    Namespace,
    control_plane::{NODE, NODE_IPV4},
    namespace::SERVICE_ACCOUNT,
};

/// How many requests are under way at once: enough to keep an apiserver busy.
const PARALLEL: usize = 32;

/// How often a request is sent that gets no answer.
const ATTEMPTS: u32 = 5;

/// Whose a Service is, for Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Its pod's: the garbage collector removes it.
    Pod,
    /// Nobody's: the watcher alone removes it.
    Nobody,
}

/// Of which kind a Service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As the documented template has it: two node ports.
    NodePort,
    /// Without addresses and node ports, of which there are fewer than such Services.
    Headless,
}

/// Pods that have run the creator, each with its Service.
pub(super) async fn create_couples(namespace: &Namespace<'_>, names: &[String], shape: Shape, owner: Owner) {
    let (pods, services) = (namespace.api::<Pod>(), namespace.api::<Service>());
    each(names.to_vec(), |name| {
        let (pods, services) = (pods.clone(), services.clone());
        async move {
            let pod = create_pod(&pods, &couples_pod(&name)).await;
            let uid = pod.metadata.uid.unwrap_or_default();
            create_service(&services, &service(&name, &uid, shape, owner)).await;
            report(&pods, &name, &status()).await;
        }
    })
    .await;
}

/// Pods of others: neither the product's label nor ours is on them, and they have no Service.
pub(super) async fn create_others(namespace: &Namespace<'_>, names: &[String]) {
    let pods = namespace.api::<Pod>();
    each(names.to_vec(), |name| {
        let pods = pods.clone();
        // Without a status, which takes a second request: the watcher must not even be sent them.
        async move { drop(create_pod(&pods, &pod(&name, &json!({"app.kubernetes.io/name": "other"}))).await) }
    })
    .await;
}

/// Pods that run and are ready, each with a name, labels, and what Multus says about its networks.
pub(super) async fn create_attached(namespace: &Namespace<'_>, all: Vec<(String, Value, String)>) {
    let pods = namespace.api::<Pod>();
    each(all, |(name, labels, networks)| {
        let pods = pods.clone();
        async move {
            let mut pod = pod(&name, &labels);
            pod["metadata"]["annotations"][STATUS_ANNOTATION] = networks.into();
            create_pod(&pods, &pod).await;
            report(&pods, &name, &status()).await;
        }
    })
    .await;
}

/// Reports whether a pod is ready.
pub(super) async fn report_readiness(namespace: &Namespace<'_>, name: &str, ready: &str) {
    let status = json!({"conditions": [{"type": "Ready", "status": ready}]});
    report(&namespace.api::<Pod>(), name, &status).await;
}

/// Deletes pods at once, without a grace period.
pub(super) async fn delete_pods(namespace: &Namespace<'_>, names: &[String]) {
    let pods = namespace.api::<Pod>();
    each(names.to_vec(), |name| {
        let pods = pods.clone();
        async move {
            let now = DeleteParams::default().grace_period(0);
            match persistently(|| pods.delete(&name, &now)).await {
                Err(error) if !is_code(&error, 404) => panic!("cannot delete Pod {name}: {error}"),
                _ => {}
            }
        }
    })
    .await;
}

/// Does the same for each, several at a time.
async fn each<T, F>(all: impl IntoIterator<Item = T>, work: impl Fn(T) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    for one in all {
        if running.len() == PARALLEL {
            running.join_next().await.transpose().unwrap_or_else(|error| panic!("{error}"));
        }
        running.spawn(work(one));
    }
    running.join_all().await;
}

async fn create_pod(pods: &Api<Pod>, pod: &Value) -> Pod {
    let pod: Pod = serde_json::from_value(pod.clone()).expect("a Pod");
    let name = pod.metadata.name.clone().unwrap_or_default();
    let as_controller =
        PostParams { field_manager: Some("kube-controller-manager".to_owned()), ..PostParams::default() };
    match persistently(|| pods.create(&as_controller, &pod)).await {
        // Made by a request whose answer was lost: names do not repeat.
        Err(error) if is_code(&error, 409) => pods.get(&name).await,
        created => created,
    }
    .unwrap_or_else(|error| panic!("cannot create Pod {name}: {error}"))
}

async fn create_service(services: &Api<Service>, service: &Value) {
    let service: Service = serde_json::from_value(service.clone()).expect("a Service");
    let as_creator = PostParams { field_manager: Some(CREATOR.to_owned()), ..PostParams::default() };
    match persistently(|| services.create(&as_creator, &service)).await {
        Err(error) if !is_code(&error, 409) => panic!("cannot create a Service: {error}"),
        _ => {}
    }
}

/// What a kubelet reports of a pod.
async fn report(pods: &Api<Pod>, name: &str, status: &Value) {
    let as_kubelet = PatchParams { field_manager: Some("kubelet".to_owned()), ..PatchParams::default() };
    let status = Patch::Merge(json!({"status": status}));
    let patched = persistently(|| pods.patch_status(name, &as_kubelet, &status)).await;
    patched.unwrap_or_else(|error| panic!("cannot report the status of Pod {name}: {error}"));
}

/// Asks again where there was no answer: among so many requests, some meet a connection that was just closed.
async fn persistently<T, F: Future<Output = kube::Result<T>>>(ask: impl Fn() -> F) -> kube::Result<T> {
    let mut attempt = 1;
    loop {
        match ask().await {
            Err(error) if !matches!(error, kube::Error::Api(_)) && attempt < ATTEMPTS => attempt += 1,
            answer => return answer,
        }
    }
}

fn is_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

fn couples_pod(name: &str) -> Value {
    let labels = json!({
        PRODUCT_LABEL: PRODUCT,
        POD_NAME_LABEL: name,
        "app.kubernetes.io/name": "ipf-example",
        "app.kubernetes.io/instance": "ipf-example",
        "app.kubernetes.io/version": "1.2.3",
        "app.kubernetes.io/managed-by": "Helm",
        "pod-template-hash": "6c9f7d5b8",
    });
    pod(name, &labels)
}

/// A pod of an application with a creator, as a Deployment makes it.
fn pod(name: &str, labels: &Value) -> Value {
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port, "protocol": "TCP"});
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "management"}, "periodSeconds": 10});
    let mount = json!([{"name": "nodeport", "mountPath": "/tmp"}]);
    json!({
        "metadata": {
            "name": name,
            "generateName": "ipf-example-6c9f7d5b8-",
            "labels": labels,
            "annotations": {
                "checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "prometheus.io/port": "9001",
                "prometheus.io/scrape": "true",
            },
            // Of a version that the garbage collector does not know, so that it does not miss the ReplicaSet.
            "ownerReferences": [{
                "apiVersion": "apps.example/v1", "kind": "ReplicaSet", "name": "ipf-example-6c9f7d5b8",
                "uid": "6d1ad0b7-4f7e-4f0e-8f4e-0c9e4f2f7b11", "controller": true,
            }],
        },
        "spec": {
            "serviceAccountName": SERVICE_ACCOUNT,
            "nodeName": NODE,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "nodeport", "emptyDir": {}}],
            "initContainers": [{
                "name": "service-creator", "image": "ipf-dynamic-nodeport-service-creator", "volumeMounts": mount,
                "env": [field("POD_NAME", "metadata.name"), field("NODE_NAME", "spec.nodeName")],
            }],
            "containers": [{
                "name": "application", "image": "application:1.2.3", "volumeMounts": mount,
                "ports": [port("http", 8080), port("management", 8558), port("artery", 55001), port("metrics", 9001)],
                "env": [field("POD_IP", "status.podIP"), {"name": "JAVA_TOOL_OPTIONS", "value": "-XX:MaxRAMPercentage=75"}],
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
                "livenessProbe": probe("/alive"), "readinessProbe": probe("/ready"),
            }],
        },
    })
}

/// Of a pod that runs and is ready.
fn status() -> Value {
    let since = "2026-01-01T00:00:00Z";
    let conditions: Vec<_> = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": since}))
        .to_vec();
    let container = |name: &str, state: Value| {
        json!({
            "name": name, "image": name, "imageID": format!("example.org/{name}@sha256:9f86d081884c7d659a2feaa0c55ad015"),
            "containerID": "containerd://5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8",
            "ready": true, "started": true, "restartCount": 0, "state": state,
        })
    };
    let ended = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": since}});
    json!({
        "phase": "Running",
        "conditions": conditions,
        "hostIP": NODE_IPV4,
        "hostIPs": [{"ip": NODE_IPV4}],
        "podIP": "198.51.100.7",
        "podIPs": [{"ip": "198.51.100.7"}],
        "startTime": since,
        "initContainerStatuses": [container("service-creator", ended)],
        "containerStatuses": [container("application", json!({"running": {"startedAt": since}}))],
    })
}

fn service(pod: &str, uid: &str, shape: Shape, owner: Owner) -> Value {
    let owners = match owner {
        Owner::Pod => json!([{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}]),
        Owner::Nobody => json!([]),
    };
    let port = |name: &str, port: u16| json!({"name": name, "port": port, "targetPort": port, "protocol": "TCP"});
    let mut spec = json!({
        "selector": {POD_NAME_LABEL: pod},
        "publishNotReadyAddresses": true,
        "ports": [port("akka-management", 8558), port("akka-artery", 55001)],
    });
    match shape {
        Shape::NodePort => {
            spec["type"] = json!("NodePort");
            spec["externalTrafficPolicy"] = json!("Local");
            spec["internalTrafficPolicy"] = json!("Local");
        }
        Shape::Headless => spec["clusterIP"] = json!("None"),
    }
    json!({
        "metadata": {
            "name": pod,
            "labels": {CREATOR_LABEL: CREATOR, "app": pod},
            "annotations": {
                POD_NAME_ANNOTATION: pod,
                POD_UID_ANNOTATION: uid,
                ADVERTISED_HOST_ANNOTATION: NODE,
            },
            "ownerReferences": owners,
        },
        "spec": spec,
    })
}
