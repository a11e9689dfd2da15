//! A Service's ports: what a template wants and what the API gave; it decides only whether one answers the other.

use std::{fmt, num::NonZeroU16};

use k8s_openapi::{
    api::core::v1::{Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};

/// A port as the template has it, with Kubernetes' defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPort {
    /// Its name; may be missing where it is the only port.
    pub name: Option<String>,
    /// The Service's own port.
    pub port: u16,
    /// The transport: TCP where the template says nothing.
    pub protocol: Protocol,
    /// The pod's port: the same as `port` where the template says nothing.
    pub target: Target,
    /// The node port that the template fixes; `None` lets Kubernetes allocate one.
    pub node_port: Option<u16>,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, Kubernetes' default.
    #[default]
    Tcp,
    /// UDP
    Udp,
    /// SCTP
    Sctp,
}

impl Protocol {
    /// The protocol of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Tcp, Self::Udp, Self::Sctp].into_iter().find(|protocol| protocol.as_str() == name)
    }

    /// The name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The pod's end of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A number.
    Number(u16),
    /// The name of a container port; its number may differ from pod to pod.
    Name(String),
}

/// A port as the API gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenPort {
    /// Its name.
    pub name: Option<String>,
    /// The Service's own port.
    pub port: u16,
    /// The transport.
    pub protocol: Protocol,
    /// The pod's port.
    pub target: Target,
    /// The port on the node. A Service without one is not done: port 0 must never reach a file.
    pub node_port: NonZeroU16,
}

/// A port of a Service that cannot be told to an application.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {0} has no node port")]
pub struct NoNodePort(String);

/// The ports of a Service, each with its node port.
///
/// # Errors
/// Where one has none: a webhook or a hand changed the Service's type.
pub fn given(service: &Service) -> Result<Vec<GivenPort>, NoNodePort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    ports.iter().map(given_port).collect()
}

fn given_port(port: &ServicePort) -> Result<GivenPort, NoNodePort> {
    let label = || port.name.clone().unwrap_or_else(|| port.port.to_string());
    let narrow = |number: i32| u16::try_from(number).map_err(|_| NoNodePort(label()));
    let node_port = narrow(port.node_port.unwrap_or_default())?;
    Ok(GivenPort {
        name: port.name.clone().filter(|name| !name.is_empty()),
        port: narrow(port.port)?,
        protocol: port.protocol.as_deref().and_then(Protocol::of_name).unwrap_or_default(),
        target: match &port.target_port {
            None | Some(IntOrString::Int(0)) => Target::Number(narrow(port.port)?),
            Some(IntOrString::Int(number)) => Target::Number(narrow(*number)?),
            Some(IntOrString::String(name)) => Target::Name(name.clone()),
        },
        node_port: NonZeroU16::new(node_port).ok_or_else(|| NoNodePort(label()))?,
    })
}

/// The first port by which a Service differs from what the template wants.
///
/// The order counts for nothing; a node port counts only where the template fixes it.
#[must_use]
pub fn difference(wanted: &[WantedPort], given: &[GivenPort]) -> Option<String> {
    let answers = |wanted: &WantedPort, given: &GivenPort| {
        wanted.name == given.name
            && wanted.port == given.port
            && wanted.protocol == given.protocol
            && wanted.target == given.target
            && wanted.node_port.is_none_or(|fixed| fixed == given.node_port.get())
    };
    let label = |name: &Option<String>, port: u16| name.clone().unwrap_or_else(|| port.to_string());
    let missing = wanted.iter().find(|wanted| !given.iter().any(|given| answers(wanted, given)));
    let extra = given.iter().find(|given| !wanted.iter().any(|wanted| answers(wanted, given)));
    match (missing, extra) {
        (Some(port), _) => Some(format!("port {} differs", label(&port.name, port.port))),
        (None, Some(port)) => Some(format!("port {} is not in the template", label(&port.name, port.port))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(ports: serde_json::Value) -> Service {
        serde_json::from_value(serde_json::json!({"metadata": {}, "spec": {"ports": ports}})).unwrap()
    }

    fn wanted() -> Vec<WantedPort> {
        let port = |name: &str, port, protocol| WantedPort {
            name: Some(name.into()),
            port,
            protocol,
            target: Target::Number(port),
            node_port: None,
        };
        vec![port("artery", 55001, Protocol::Tcp), port("gossip", 7000, Protocol::Udp)]
    }

    fn stored() -> serde_json::Value {
        serde_json::json!([
            {"name": "gossip", "port": 7000, "targetPort": 7000, "protocol": "UDP", "nodePort": 30002},
            {"name": "artery", "port": 55001, "targetPort": 55001, "protocol": "TCP", "nodePort": 30001},
        ])
    }

    #[test]
    fn the_order_of_ports_counts_for_nothing() {
        assert_eq!(difference(&wanted(), &given(&service(stored())).unwrap()), None);
    }

    #[test]
    fn every_field_of_a_port_counts() {
        let changes: [(&str, fn(&mut WantedPort)); 5] = [
            ("name", |port| port.name = None),
            ("port", |port| port.port = 1),
            ("protocol", |port| port.protocol = Protocol::Sctp),
            ("targetPort", |port| port.target = Target::Name("artery".into())),
            ("nodePort", |port| port.node_port = Some(30009)),
        ];
        for (field, change) in changes {
            let mut wanted = wanted();
            change(&mut wanted[0]);
            assert!(difference(&wanted, &given(&service(stored())).unwrap()).is_some(), "{field}");
        }
        let mut fixed = wanted();
        fixed[0].node_port = Some(30001);
        assert_eq!(difference(&fixed, &given(&service(stored())).unwrap()), None);
    }

    #[test]
    fn a_port_too_many_or_too_few_is_a_difference() {
        let given = given(&service(stored())).unwrap();
        assert_eq!(difference(&wanted()[..1], &given).as_deref(), Some("port gossip is not in the template"));
        assert_eq!(difference(&wanted(), &given[..1]).as_deref(), Some("port artery differs"));
    }

    #[test]
    fn a_port_without_node_port_is_never_given() {
        for node_port in [serde_json::json!(null), serde_json::json!(0), serde_json::json!(70000)] {
            let ports = serde_json::json!([{"name": "artery", "port": 1, "nodePort": node_port}]);
            assert_eq!(given(&service(ports)), Err(NoNodePort("artery".into())));
        }
    }

    #[test]
    fn kubernetes_defaults_are_filled_in() {
        let ports = given(&service(serde_json::json!([{"port": 80, "nodePort": 30001}]))).unwrap();
        assert_eq!(ports[0].target, Target::Number(80));
        assert_eq!(ports[0].protocol, Protocol::Tcp);
    }
}
