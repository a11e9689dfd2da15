//! Decides what is to be done for one NetService, from what is there: pure. Done and planned again, it is nothing.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::{
    endpoints::{Endpoints, endpoints},
    net_service::NetService,
    pod::Pod,
    refusal::What,
    resource::{Group, ServiceType, Spec},
    selector::Left,
    service::Service,
    slices::{self, Slice, SliceChange},
    status::{self, Reason, Told},
    verdict::{Verdict, judge as judge_service},
};

/// What is there.
pub struct Situation<'a> {
    /// The NetService of the other group that has the name, and was first.
    pub first: Option<Group>,
    /// The Service of the name.
    pub service: Option<&'a Service>,
    /// The slices of the NetService.
    pub slices: Vec<&'a Slice>,
    /// What Kubernetes wrote for the Service, if it is the NetService's.
    pub left: Left<'a>,
    /// The names of all slices that are known, whosever.
    pub slice_names: Vec<&'a str>,
    /// The pods of the namespace.
    pub pods: Vec<&'a Pod>,
    /// What the API last refused, and what it said, while it is not to be asked again.
    pub refused: Vec<(What, &'a str)>,
    /// What time it is.
    pub now: Timestamp,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The Service is created.
    CreateService(Value),
    /// The Service is changed by this merge patch.
    PatchService(Value),
    /// The Service is deleted.
    DeleteService {
        /// Its UID.
        uid: String,
        /// Its resource version.
        resource_version: String,
    },
    /// A slice.
    Slice(SliceChange),
    /// The NetService's status is changed by this merge patch.
    Status(Value),
}

/// What is to be done, in this order.
#[must_use]
pub fn plan(net_service: &NetService, situation: &Situation<'_>) -> Vec<Change> {
    if net_service.is_going {
        // Garbage collection takes away what it owns.
        return Vec::new();
    }
    let tell = |reason, message: String| {
        // What was made before works on.
        let service = situation.service.filter(|service| service.is_of(net_service));
        let node_ports = service.map(Service::node_ports).unwrap_or_default();
        let told = Told { has_service: service.is_some(), node_ports, endpoints: 0, reason, message };
        status::change(net_service, told, situation.now).map(Change::Status).into_iter().collect()
    };
    let spec = match &net_service.spec {
        Ok(spec) => spec,
        Err(problem) => return tell(Reason::InvalidSpec, problem.clone()),
    };
    let refused = |what| {
        let mut refused = situation.refused.iter();
        refused.find(|(refused, _)| *refused == what).map(|&(_, text)| text.to_owned())
    };
    let beaten = |message: String| {
        let may_leave = refused(What::Slices).is_none();
        let left = slices::left(&situation.slices).into_iter().filter(|_| may_leave).map(Change::Slice);
        left.chain(tell(Reason::NameConflict, message)).collect()
    };
    if let Some(group) = situation.first {
        let key = &net_service.key;
        return beaten(format!("NetService {key} of group {group} was first: give one of them another name"));
    }
    let (service, trouble) =
        match (judge_service(net_service, spec, situation.service, &situation.left), situation.service) {
            (Verdict::Wait, Some(service)) => match waits_for(net_service, service) {
                // In a moment it is gone.
                None => return Vec::new(),
                Some(message) if service.is_of(net_service) => (service, Some((Reason::ServiceDeleting, message))),
                Some(message) => return tell(Reason::ServiceDeleting, message),
            },
            (Verdict::Conflict(message), _) => {
                return beaten(format!("{message}: delete it, or give the NetService another name"));
            }
            (Verdict::Keep, Some(service)) => (service, None),
            (verdict, service) => match (refused(What::Service), service) {
                (None, service) => return change_of(verdict, service).into_iter().collect(),
                // What it has works on while it cannot be changed.
                (Some(text), Some(service)) => (service, Some((Reason::ServiceRefused, text))),
                (Some(text), None) => return tell(Reason::ServiceRefused, text),
            },
        };
    for_service(net_service, spec, service, trouble, refused(What::Slices), situation)
}

/// What a Service that is being deleted waits for, where that is not over in a moment.
fn waits_for(net_service: &NetService, service: &Service) -> Option<String> {
    let finalizers = service.metadata.finalizers.join(", ");
    let message = || {
        format!(
            "Service {} is being deleted, and kept by finalizers that their controllers, or a hand, must remove: {finalizers}",
            net_service.key
        )
    };
    (!finalizers.is_empty()).then(message)
}

fn change_of(verdict: Verdict, service: Option<&Service>) -> Option<Change> {
    match (verdict, service) {
        (Verdict::Create(service), _) => Some(Change::CreateService(service)),
        (Verdict::Patch(patch), _) => Some(Change::PatchService(patch)),
        (Verdict::Delete, Some(service)) => Some(Change::DeleteService {
            uid: service.metadata.uid.clone(),
            resource_version: service.metadata.resource_version.clone(),
        }),
        (Verdict::Delete | Verdict::Keep | Verdict::Wait | Verdict::Conflict(_), _) => None,
    }
}

/// The Service is there: what is left are its slices, and what is told.
fn for_service(
    net_service: &NetService,
    spec: &Spec,
    service: &Service,
    trouble: Option<(Reason, String)>,
    refused: Option<String>,
    situation: &Situation<'_>,
) -> Vec<Change> {
    let served = (spec.service_type != ServiceType::Headless).then_some(&service.spec.ip_families[..]);
    let key = &net_service.key;
    let found = endpoints(&key.namespace, &key.name, spec, served, situation.pods.iter().copied());
    let mut slices = slices::changes(net_service, spec, &found.sets, &situation.slices, &situation.slice_names);
    // Kubernetes would make another one for a Service with a selector.
    if service.spec.selector.is_empty() {
        slices.extend(slices::leftovers(&situation.left.slices));
    }
    let refused = refused.filter(|_| !slices.is_empty());
    if refused.is_some() {
        slices.clear();
    }
    let (reason, message) =
        trouble.or_else(|| refused.map(|text| (Reason::EndpointsRefused, text))).unwrap_or_else(|| judge(spec, &found));
    let told = Told { has_service: true, node_ports: service.node_ports(), endpoints: found.ready(), reason, message };
    let status = status::change(net_service, told, situation.now);
    slices.into_iter().map(Change::Slice).chain(status.map(Change::Status)).collect()
}

fn judge(spec: &Spec, found: &Endpoints) -> (Reason, String) {
    let network = match (&spec.net_attach_def, &spec.interface) {
        (None, _) => "the pod network".to_owned(),
        (Some(network), None) => format!("network {network}"),
        (Some(network), Some(interface)) => format!("network {network} at interface {interface}"),
    };
    if found.pods > 0 && found.attached == 0 {
        let message = format!(
            "no selected pod is attached to {network}: it is named in the pods' annotation k8s.v1.cni.cncf.io/networks, \
             as NAME in their namespace or as NAMESPACE/NAME"
        );
        return (Reason::NetworkNotFound, message);
    }
    if found.attached > 0 && found.sets.is_empty() {
        let message = format!(
            "no selected pod has an address on {network} that can be an endpoint of this Service: of one of its families, \
             not local to the pod, and with one of its ports"
        );
        return (Reason::NoUsableAddress, message);
    }
    (Reason::Reconciled, format!("the Service has the endpoints of {network}"))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
