//! The objects as creators, the original tool and hands make and change them.

use common::key::Key;
use common::labels::{
    CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION, PRODUCT, PRODUCT_LABEL,
};
use k8s_openapi::{
    api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus, Service, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
    jiff::Timestamp,
};

use crate::{
    op::{Edit, Owner, PodLabel, PodName, Product, Shape},
    server::{Server, uid},
};

/// A UID that no pod has or had.
const NOBODY: &str = "p0";

/// Another one.
const NOBODY_EITHER: &str = "p00";

pub(crate) fn pod(product: Product) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.labels = Some([("app".to_owned(), "app".to_owned())].into());
    pod.status = Some(PodStatus { phase: Some("Running".to_owned()), ..PodStatus::default() });
    if product == Product::Ours {
        label_pod(&mut pod, PodLabel::Product, true);
    }
    pod
}

pub(crate) fn label_pod(pod: &mut Pod, label: PodLabel, is_there: bool) {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let labels = pod.metadata.labels.get_or_insert_default();
    let (key, value) = match label {
        PodLabel::Product => (PRODUCT_LABEL, PRODUCT.to_owned()),
        PodLabel::PodName => (POD_NAME_LABEL, name),
    };
    match is_there {
        true => labels.insert(key.to_owned(), value),
        false => labels.remove(key),
    };
}

/// It has finished: its container ended then, or none ever ran.
pub(crate) fn finish(pod: &mut Pod, ended: Option<Timestamp>) {
    let status = pod.status.get_or_insert_default();
    let reason = if ended.is_none() { Some("Evicted".to_owned()) } else { None };
    (status.phase, status.reason) = (Some("Failed".to_owned()), reason);
    status.container_statuses = ended.map(|ended| {
        let terminated = ContainerStateTerminated { finished_at: Some(Time(ended)), ..Default::default() };
        let state = ContainerState { terminated: Some(terminated), ..ContainerState::default() };
        vec![ContainerStatus { state: Some(state), ..ContainerStatus::default() }]
    });
}

/// What the creator makes for a pod.
pub(crate) fn creators(pod: &Key, pod_uid: &str, owner: Owner) -> Service {
    let mut service = marked(&pod.name);
    annotate(&mut service, &pod.name, pod_uid);
    if owner == Owner::Pod {
        own(&mut service, &pod.name, pod_uid);
    }
    service
}

/// What the original tool or a hand makes.
pub(crate) fn made(shape: Shape, key: &Key, server: &Server) -> Service {
    let name = &*key.name;
    let present = present(server, key);
    let mut service = marked(name);
    match shape {
        Shape::OriginalTool => {}
        Shape::Plain => {
            service.metadata.labels = None;
            select(&mut service, "app", "x");
        }
        Shape::PlainSelecting => service.metadata.labels = None,
        Shape::OnlyLabelled => select(&mut service, "app", "x"),
        Shape::OthersLabel => {
            service.metadata.labels = Some([(CREATOR_LABEL.to_owned(), "helm".to_owned())].into());
        }
        Shape::SelectingAnother => select(&mut service, POD_NAME_LABEL, "another"),
        Shape::ClusterIp => change_type(&mut service),
        Shape::OwnedBySet => {
            let owner = OwnerReference {
                api_version: "apps/v1".to_owned(),
                kind: "StatefulSet".to_owned(),
                name: "app".to_owned(),
                uid: "set".to_owned(),
                ..OwnerReference::default()
            };
            service.metadata.owner_references = Some(vec![owner]);
        }
        Shape::Copy => {
            service.metadata.labels = None;
            annotate(&mut service, name, &present);
        }
        Shape::HalfAnnotated => {
            annotate(&mut service, name, &present);
            note(&mut service, POD_UID_ANNOTATION, None);
        }
        Shape::Contradiction => {
            annotate(&mut service, name, &present);
            own(&mut service, name, NOBODY_EITHER);
        }
        Shape::TwoOwners => {
            own(&mut service, name, &present);
            own(&mut service, "another", NOBODY_EITHER);
        }
    }
    service
}

/// Changes a Service by hand.
pub(crate) fn edit(service: &mut Service, edit: Edit, pod_uid: impl Fn(PodName) -> Option<String>) {
    match edit {
        Edit::Unlabel => {
            service.metadata.labels.get_or_insert_default().remove(CREATOR_LABEL);
        }
        Edit::Label => label(service),
        Edit::Unannotate => {
            note(service, POD_NAME_ANNOTATION, None);
            note(service, POD_UID_ANNOTATION, None);
        }
        Edit::DropPodNameNote => note(service, POD_NAME_ANNOTATION, None),
        Edit::DropPodUidNote => note(service, POD_UID_ANNOTATION, None),
        Edit::Annotate(pod) => {
            if let Some(uid) = pod_uid(pod) {
                annotate(service, &pod.key().name, &uid);
            }
        }
        Edit::AlterPodUidNote => note(service, POD_UID_ANNOTATION, Some(NOBODY)),
        Edit::AlterPodNameNote => note(service, POD_NAME_ANNOTATION, Some("another")),
        Edit::Unown => service.metadata.owner_references = None,
        Edit::Own(pod) => {
            if let Some(uid) = pod_uid(pod) {
                service.metadata.owner_references = None;
                own(service, &pod.key().name, &uid);
            }
        }
        Edit::Hold => service.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]),
        Edit::Release => service.metadata.finalizers = None,
        Edit::ChangeType => change_type(service),
        Edit::ChangeSelector => select(service, "app", "x"),
        Edit::Touch => {
            let version = service.metadata.resource_version.clone();
            note(service, "example.com/touched", version.as_deref());
        }
    }
}

impl Edit {
    /// Whether the Service may mean something else after it.
    pub(crate) fn alters(self) -> bool {
        !matches!(self, Self::Hold | Self::Release | Self::Touch)
    }
}

/// The creator label, and of NodePort and selector what the documented template has.
fn marked(pod_name: &str) -> Service {
    let spec = ServiceSpec { type_: Some("NodePort".to_owned()), ..ServiceSpec::default() };
    let mut service = Service { metadata: ObjectMeta::default(), spec: Some(spec), status: None };
    label(&mut service);
    select(&mut service, POD_NAME_LABEL, pod_name);
    service
}

fn label(service: &mut Service) {
    service.metadata.labels.get_or_insert_default().insert(CREATOR_LABEL.to_owned(), CREATOR.to_owned());
}

fn annotate(service: &mut Service, name: &str, uid: &str) {
    note(service, POD_NAME_ANNOTATION, Some(name));
    note(service, POD_UID_ANNOTATION, Some(uid));
}

fn note(service: &mut Service, key: &str, value: Option<&str>) {
    let annotations = service.metadata.annotations.get_or_insert_default();
    match value {
        Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
        None => annotations.remove(key),
    };
}

fn own(service: &mut Service, name: &str, uid: &str) {
    service.metadata.owner_references.get_or_insert_default().push(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    });
}

fn select(service: &mut Service, key: &str, value: &str) {
    service.spec.get_or_insert_default().selector = Some([(key.to_owned(), value.to_owned())].into());
}

fn change_type(service: &mut Service) {
    let spec = service.spec.get_or_insert_default();
    let type_ = if spec.type_.as_deref() == Some("NodePort") { "ClusterIP" } else { "NodePort" };
    spec.type_ = Some(type_.to_owned());
}

/// The UID of the present pod of a Service's name, or of nobody.
fn present(server: &Server, key: &Key) -> String {
    server.pods.get(key).map_or(NOBODY, uid).to_owned()
}

/// A Service, as far as it matters here.
pub(crate) fn describe(service: &Service) -> String {
    let ObjectMeta {
        uid, resource_version, labels, annotations, owner_references, finalizers, deletion_timestamp, ..
    } = &service.metadata;
    let owners: Vec<_> =
        owner_references.iter().flatten().map(|owner| (&owner.kind, &owner.name, &owner.uid)).collect();
    let (type_, selector) = service.spec.as_ref().map(|spec| (&spec.type_, &spec.selector)).unzip();
    format!(
        "Service {uid:?} at {resource_version:?}, labels {labels:?}, annotations {annotations:?}, owners {owners:?}, \
         finalizers {finalizers:?}, deletion timestamp {deletion_timestamp:?}, type {type_:?}, selector {selector:?}"
    )
}
