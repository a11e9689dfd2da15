//! A namespace in which tokens are stolen: their account may do there whatever it likes with pods and Services, so that what
//! refuses is a policy.

use std::collections::BTreeMap;

use cluster_tests::harness::{ControlPlane, Namespace, access::Credentials, eventually};
use common::labels::{
    ADVERTISED_HOST_ANNOTATION, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION,
};
use k8s_openapi::api::{
    core::v1::{Pod, Secret, Service, ServiceAccount},
    rbac::v1::RoleBinding,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::Status,
};
use serde_json::{Value, json};

use crate::{
    support::{CREATOR, PATIENCE, WATCHER},
    theft::{Deed, Effect, Theft, Thief},
};

/// The pods. Each but `app-0` has a Service of its name: `app-1` its own, which is the victim's; `app-2` somebody else's;
/// `app-3` one that a creator made for another pod; `app-4` the original tool's; `app-5` its own.
const PODS: [&str; 6] = ["app-0", "app-1", "app-2", "app-3", "app-4", "app-5"];

/// Another namespace with the same account, and pods there that have the names of some here.
pub(crate) struct Neighbour {
    namespace: String,
    account: String,
    pods: BTreeMap<&'static str, Stolen>,
}

/// A pod whose token was stolen.
struct Stolen {
    uid: String,
    token: String,
}

impl Neighbour {
    /// Sets it up in a namespace of its own.
    pub(crate) async fn set(namespace: &Namespace<'_>) -> Self {
        make_account(namespace).await;
        let mut pods = BTreeMap::new();
        for name in ["app-0", "app-4"] {
            let pod = namespace.pod(name).create().await;
            pods.insert(name, Stolen { uid: pod.uid().to_owned(), token: pod.bound_token().await });
        }
        Self { namespace: namespace.name().to_owned(), account: namespace.account().to_owned(), pods }
    }
}

/// The namespace, its pods, and a client for each thief.
pub(crate) struct Scene {
    namespace: String,
    admin: Client,
    pods: BTreeMap<&'static str, Pod>,
    neighbours_uids: BTreeMap<&'static str, String>,
    clients: BTreeMap<Thief, Client>,
}

impl Scene {
    /// Sets it up; the stolen tokens are of the namespace's account.
    pub(crate) async fn set(namespace: &Namespace<'_>, neighbour: &Neighbour) -> Self {
        let watcher = namespace.with_account(WATCHER);
        make_account(namespace).await;
        make_account(&watcher).await;
        allow_everything(namespace, neighbour).await;

        let control_plane = namespace.control_plane();
        let mut pods = BTreeMap::new();
        let mut clients = BTreeMap::new();
        for name in PODS {
            let pod = namespace.pod(name).annotation("note", "from the start").create().await;
            match name {
                "app-1" | "app-5" => _ = pod.service().create().await,
                "app-2" => _ = namespace.foreign_service(name).create().await,
                "app-3" => _ = pod.service().without_owner().annotation(POD_NAME_ANNOTATION, "app-1").create().await,
                "app-4" => _ = namespace.original_tools_service(name).create().await,
                _ => {}
            }
            clients.insert(Thief::Pod(name), client(control_plane, pod.bound_token().await));
            pods.insert(name, pod.object().clone());
        }
        clients.insert(Thief::Unbound, client(control_plane, namespace.unbound_token().await));
        clients.insert(Thief::Secret, client(control_plane, secret_token(namespace).await));
        clients.insert(Thief::Watcher, client(control_plane, watcher.unbound_token().await));
        let mut neighbours_uids = BTreeMap::new();
        for (name, stolen) in &neighbour.pods {
            clients.insert(Thief::Neighbour(name), client(control_plane, stolen.token.clone()));
            neighbours_uids.insert(*name, stolen.uid.clone());
        }
        Self { namespace: namespace.name().to_owned(), admin: namespace.admin(), pods, neighbours_uids, clients }
    }

    /// The UID of a pod.
    pub(crate) fn uid(&self, pod: &str) -> &str {
        self.pods[pod].metadata.uid.as_deref().unwrap()
    }

    /// The tolerations that a pod has from the start.
    pub(crate) fn tolerations(&self, pod: &str) -> Vec<Value> {
        let tolerations = self.pods[pod].spec.as_ref().unwrap().tolerations.as_ref();
        tolerations.into_iter().flatten().map(|toleration| serde_json::to_value(toleration).unwrap()).collect()
    }

    /// The Service that a creator would create for a pod.
    pub(crate) fn own_service(&self, pod: &str) -> Value {
        owned_service(pod, self.uid(pod))
    }

    /// The same for a pod of the neighbour's.
    pub(crate) fn neighbours_service(&self, pod: &str) -> Value {
        owned_service(pod, &self.neighbours_uids[pod])
    }

    /// What the API server says to it.
    pub(crate) async fn answer(&self, theft: &Theft, effect: Effect) -> Result<(), Box<Status>> {
        self.ask(theft.thief, &theft.deed, effect).await
    }

    /// What the API server says to a request of this client.
    pub(crate) async fn ask(&self, thief: Thief, deed: &Deed, effect: Effect) -> Result<(), Box<Status>> {
        let dry_run = effect == Effect::DryRun;
        let services: Api<Service> = Api::namespaced(self.clients[&thief].clone(), &self.namespace);
        let pods: Api<Pod> = Api::namespaced(self.clients[&thief].clone(), &self.namespace);
        let patching = PatchParams { dry_run, ..PatchParams::default() };
        let answer = match deed {
            Deed::CreateService(body) => {
                let service = serde_json::from_value(body.clone()).unwrap();
                services.create(&PostParams { dry_run, ..PostParams::default() }, &service).await.map(drop)
            }
            Deed::ChangeService(name, change) => services.patch(name, &patching, &Patch::Merge(change)).await.map(drop),
            Deed::ChangePod(name, change) => pods.patch(name, &patching, &Patch::Strategic(change)).await.map(drop),
            Deed::DeleteService(name) => {
                services.delete(name, &DeleteParams { dry_run, ..DeleteParams::default() }).await.map(drop)
            }
        };
        match answer {
            Ok(()) => Ok(()),
            Err(kube::Error::Api(status)) => Err(status),
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// All pods and Services as they are.
    pub(crate) async fn state(&self) -> (Vec<Pod>, Vec<Service>) {
        let pods = Api::namespaced(self.admin.clone(), &self.namespace).list(&ListParams::default()).await;
        let services = Api::namespaced(self.admin.clone(), &self.namespace).list(&ListParams::default()).await;
        (pods.unwrap().items, services.unwrap().items)
    }
}

fn owned_service(pod: &str, uid: &str) -> Value {
    json!({
        "metadata": {
            "name": pod,
            "labels": {CREATOR_LABEL: CREATOR},
            "annotations": {POD_NAME_ANNOTATION: pod, POD_UID_ANNOTATION: uid, ADVERTISED_HOST_ANNOTATION: "node-1"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}],
        },
        "spec": {
            "type": "NodePort",
            "selector": {POD_NAME_LABEL: pod},
            "ports": [{"name": "akka-management", "port": 8558}, {"name": "akka-artery", "port": 55001}],
        },
    })
}

fn client(control_plane: &ControlPlane, token: String) -> Client {
    control_plane.client(&Credentials::Token(token))
}

/// The account, where it is not there.
async fn make_account(namespace: &Namespace<'_>) {
    let accounts: Api<ServiceAccount> = namespace.api();
    if accounts.get_opt(namespace.account()).await.unwrap().is_none() {
        let account = serde_json::from_value(json!({"metadata": {"name": namespace.account()}})).unwrap();
        accounts.create(&PostParams::default(), &account).await.unwrap();
    }
}

/// Kubernetes' own ClusterRole `edit`, for all that steal here.
async fn allow_everything(namespace: &Namespace<'_>, neighbour: &Neighbour) {
    let here = |account: &str| json!({"kind": "ServiceAccount", "namespace": namespace.name(), "name": account});
    let there = json!({"kind": "ServiceAccount", "namespace": neighbour.namespace, "name": neighbour.account});
    let binding = json!({
        "metadata": {"name": "thieves"},
        "subjects": [here(namespace.account()), here(WATCHER), there],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
    });
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    namespace.api().create(&PostParams::default(), &binding).await.unwrap();
    namespace.wait_until_allowed("patch", "services").await;
    let user = format!("system:serviceaccount:{}:{}", neighbour.namespace, neighbour.account);
    namespace.wait_until_user_allowed(&user, "patch", "services").await;
}

/// The token that Kubernetes puts into a Secret made for it.
async fn secret_token(namespace: &Namespace<'_>) -> String {
    let secret = json!({
        "metadata": {
            "name": "token",
            "annotations": {"kubernetes.io/service-account.name": namespace.account()},
        },
        "type": "kubernetes.io/service-account-token",
    });
    let secrets: Api<Secret> = namespace.api();
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    eventually(PATIENCE, "the Secret has its token", async || {
        let data = secrets.get("token").await.unwrap().data.unwrap_or_default();
        data.get("token").map(|token| String::from_utf8(token.0.clone()).unwrap()).ok_or("it has none")
    })
    .await
}
