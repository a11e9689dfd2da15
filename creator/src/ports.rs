//! The ports that the API gave a Service; it decides only whether they are those that the template asks for.

use std::num::NonZeroU16;

use k8s_openapi::{
    api::core::v1::{Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::service::{Port, Protocol, TargetPort};

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
    pub target_port: TargetPort,
    /// The port on the node. A Service without one is not done: port 0 must never reach a file.
    pub node_port: NonZeroU16,
}

/// What the API gave a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its ports, in the API's order.
    pub ports: Vec<GivenPort>,
    /// The address families that it answers in, in the words of the API: `IPv4`, `IPv6`. Empty where that is not known.
    pub ip_families: Vec<String>,
}

/// A port of a Service that cannot be told to an application.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {0} has no node port")]
pub struct NoNodePort(String);

/// What a Service has, each port with its node port.
///
/// # Errors
/// Where one has none: a webhook or a hand changed the Service's type.
pub fn granted(service: &Service) -> Result<Granted, NoNodePort> {
    let spec = service.spec.as_ref();
    let ports = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let ip_families = spec.and_then(|spec| spec.ip_families.clone()).unwrap_or_default();
    Ok(Granted { ports: ports.iter().map(given_port).collect::<Result<_, _>>()?, ip_families })
}

fn given_port(port: &ServicePort) -> Result<GivenPort, NoNodePort> {
    let label = || port.name.clone().unwrap_or_else(|| port.port.to_string());
    let narrow = |number: i32| u16::try_from(number).map_err(|_| NoNodePort(label()));
    let node_port = narrow(port.node_port.unwrap_or_default())?;
    Ok(GivenPort {
        name: port.name.clone().filter(|name| !name.is_empty()),
        port: narrow(port.port)?,
        protocol: port.protocol.as_deref().and_then(Protocol::of_name).unwrap_or(Protocol::TCP),
        target_port: match &port.target_port {
            None | Some(IntOrString::Int(0)) => TargetPort::Number(narrow(port.port)?),
            Some(IntOrString::Int(number)) => TargetPort::Number(narrow(*number)?),
            Some(IntOrString::String(name)) => TargetPort::Name(name.clone()),
        },
        node_port: NonZeroU16::new(node_port).ok_or_else(|| NoNodePort(label()))?,
    })
}

/// The first port by which a Service differs from what the template wants.
///
/// The order counts for nothing; a node port counts only where the template fixes it.
#[must_use]
pub fn difference(wanted: &[Port], given: &[GivenPort]) -> Option<String> {
    let answers = |wanted: &Port, given: &GivenPort| {
        wanted.name == given.name
            && wanted.port == given.port
            && wanted.protocol == given.protocol
            && wanted.target_port == given.target_port
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

    fn service(ports: &serde_json::Value) -> Service {
        serde_json::from_value(serde_json::json!({"metadata": {}, "spec": {"ports": ports}})).unwrap()
    }

    fn wanted() -> Vec<Port> {
        let port = |name: &str, port, protocol| Port {
            name: Some(name.into()),
            port,
            protocol,
            target_port: TargetPort::Number(port),
            node_port: None,
        };
        vec![port("artery", 55001, Protocol::TCP), port("gossip", 7000, Protocol::UDP)]
    }

    fn stored() -> serde_json::Value {
        serde_json::json!([
            {"name": "gossip", "port": 7000, "targetPort": 7000, "protocol": "UDP", "nodePort": 30002},
            {"name": "artery", "port": 55001, "targetPort": 55001, "protocol": "TCP", "nodePort": 30001},
        ])
    }

    #[test]
    fn the_order_of_ports_counts_for_nothing() {
        assert_eq!(difference(&wanted(), &granted(&service(&stored())).unwrap().ports), None);
    }

    #[test]
    fn every_field_of_a_port_counts() {
        type Change = fn(&mut Port);
        let changes: [(&str, Change); 5] = [
            ("name", |port| port.name = None),
            ("port", |port| port.port = 1),
            ("protocol", |port| port.protocol = Protocol::SCTP),
            ("targetPort", |port| port.target_port = TargetPort::Name("artery".into())),
            ("nodePort", |port| port.node_port = Some(30009)),
        ];
        for (field, change) in changes {
            let mut wanted = wanted();
            change(&mut wanted[0]);
            assert!(difference(&wanted, &granted(&service(&stored())).unwrap().ports).is_some(), "{field}");
        }
        let mut fixed = wanted();
        fixed[0].node_port = Some(30001);
        assert_eq!(difference(&fixed, &granted(&service(&stored())).unwrap().ports), None);
    }

    #[test]
    fn a_port_too_many_or_too_few_is_a_difference() {
        let given = granted(&service(&stored())).unwrap().ports;
        assert_eq!(difference(&wanted()[..1], &given).as_deref(), Some("port gossip is not in the template"));
        assert_eq!(difference(&wanted(), &given[..1]).as_deref(), Some("port artery differs"));
    }

    #[test]
    fn a_port_without_node_port_is_never_given() {
        for node_port in [serde_json::json!(null), serde_json::json!(0), serde_json::json!(70000)] {
            let ports = serde_json::json!([{"name": "artery", "port": 1, "nodePort": node_port}]);
            assert_eq!(granted(&service(&ports)), Err(NoNodePort("artery".into())));
        }
    }

    #[test]
    fn kubernetes_defaults_are_filled_in() {
        let ports = granted(&service(&serde_json::json!([{"port": 80, "nodePort": 30001}]))).unwrap().ports;
        assert_eq!(ports[0].target_port, TargetPort::Number(80));
        assert_eq!(ports[0].protocol, Protocol::TCP);
    }
}
