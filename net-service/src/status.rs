//! Decides what a NetService is told: pure.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use crate::{net_service::NetService, resource::Status};

/// The one condition: whether Service and endpoints are what the spec asks for.
pub const READY: &str = "Ready";

/// The API takes no longer message.
const LONGEST: usize = 32768;

/// Why a NetService is ready or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is.
    Reconciled,
    /// Another object has the name.
    NameConflict,
    /// The spec is wrong.
    InvalidSpec,
    /// The API refuses the Service.
    ServiceRefused,
    /// The API refuses a slice of endpoints.
    EndpointsRefused,
    /// The Service is being deleted, and something keeps it.
    ServiceDeleting,
    /// No selected pod is attached to the network.
    NetworkNotFound,
    /// No pod has an address there that can be an endpoint.
    NoUsableAddress,
}

impl Reason {
    /// As in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconciled => "Reconciled",
            Self::NameConflict => "NameConflict",
            Self::InvalidSpec => "InvalidSpec",
            Self::ServiceRefused => "ServiceRefused",
            Self::EndpointsRefused => "EndpointsRefused",
            Self::ServiceDeleting => "ServiceDeleting",
            Self::NetworkNotFound => "NetworkNotFound",
            Self::NoUsableAddress => "NoUsableAddress",
        }
    }
}

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Whether a Service of the name is the NetService's.
    pub has_service: bool,
    /// Its ports on the nodes.
    pub node_ports: Vec<i32>,
    /// Endpoints that are ready.
    pub endpoints: usize,
    /// Why it is ready, or not.
    pub reason: Reason,
    /// The same in a sentence.
    pub message: String,
}

/// The merge patch that tells it, or nothing where it was told already.
#[must_use]
pub fn change(net_service: &NetService, told: Told, now: Timestamp) -> Option<Value> {
    let wanted = status(net_service, told, now);
    if wanted == net_service.status {
        return None;
    }
    let Status { service, node_ports, endpoints, observed_generation, conditions } = wanted;
    Some(json!({
        "metadata": {"uid": net_service.uid},
        "status": {
            "service": service,
            "nodePorts": if node_ports.is_empty() { Value::Null } else { json!(node_ports) },
            "endpoints": endpoints,
            "observedGeneration": observed_generation,
            "conditions": conditions,
        },
    }))
}

fn status(net_service: &NetService, told: Told, now: Timestamp) -> Status {
    let Told { has_service, node_ports, endpoints, reason, mut message } = told;
    let is_ready = if reason == Reason::Reconciled { "True" } else { "False" };
    let before = net_service.status.conditions.iter().find(|condition| condition.type_ == READY);
    let unchanged = before.filter(|before| before.status == is_ready);
    // Whole seconds, as the API keeps them.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    if message.len() > LONGEST {
        message.truncate(message.floor_char_boundary(LONGEST));
    }
    Status {
        service: has_service.then(|| net_service.key.name.to_string()),
        node_ports,
        endpoints: endpoints.try_into().unwrap_or(i32::MAX),
        observed_generation: net_service.generation,
        conditions: vec![Condition {
            type_: READY.to_owned(),
            status: is_ready.to_owned(),
            reason: reason.as_str().to_owned(),
            message,
            observed_generation: net_service.generation,
            last_transition_time: unchanged.map_or(Time(now), |before| before.last_transition_time.clone()),
        }],
    }
}
