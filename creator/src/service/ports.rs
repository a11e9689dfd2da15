//! The ports of the Service.

use std::fmt;

use common::names;

use super::{
    field::Field,
    problem::{Flaw, ServiceProblem},
};
use crate::yaml::Value;

/// A port that the template asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name; a Service's only port may have none.
    pub name: Option<String>,
    /// The port at the Service's own address.
    pub port: u16,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The port of the pod.
    pub target_port: TargetPort,
    /// The node port that the template fixes; none where Kubernetes is to allocate one.
    pub node_port: Option<u16>,
}

/// A transport protocol, spelled as in `spec.ports[].protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// What Kubernetes takes where the template says nothing.
    TCP,
    /// Datagrams.
    UDP,
    /// Streams of messages.
    SCTP,
}

impl Protocol {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::TCP, Self::UDP, Self::SCTP].into_iter().find(|protocol| protocol.as_str() == name)
    }

    /// The protocol's name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TCP => "TCP",
            Self::UDP => "UDP",
            Self::SCTP => "SCTP",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where on the pod a port leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPort {
    /// A port number.
    Number(u16),
    /// The name of a container's port.
    Name(String),
}

/// All ports of the Service, in the template's order.
pub(super) fn ports(list: &Field<'_>) -> Result<Vec<Port>, Flaw> {
    let items = list.items()?;
    if items.is_empty() {
        return Err(list.flaw(ServiceProblem::Missing("at least one port".to_owned())));
    }
    let mut ports: Vec<Port> = Vec::new();
    for item in &items {
        item.mapping()?;
        let name = name(item)?;
        match &name {
            None if items.len() > 1 => {
                item.require("name", "a name, as every port has where there are several")?;
            }
            Some(name) if ports.iter().any(|port| port.name.as_ref() == Some(name)) => {
                let field = item.require("name", "")?;
                return Err(field.flaw(ServiceProblem::DuplicatePortName(name.clone())));
            }
            _ => {}
        }
        let number = item.require("port", "port: NUMBER")?;
        let port = port_number(&number)?;
        let protocol = protocol(item)?;
        let node_port = node_port(item)?;
        if let Some(fixed) = node_port
            && ports
                .iter()
                .any(|other| other.node_port == Some(fixed) && !(other.port == port && other.protocol != protocol))
        {
            return Err(item.require("nodePort", "")?.flaw(ServiceProblem::SharedNodePort(fixed)));
        }
        ports.push(Port { name, port, protocol, target_port: target_port(item, port)?, node_port });
    }
    Ok(ports)
}

fn name(port: &Field<'_>) -> Result<Option<String>, Flaw> {
    let Some(field) = port.get("name") else { return Ok(None) };
    match field.text()?.as_str() {
        "" => Ok(None),
        name if names::is_dns_label(name) => Ok(Some(name.to_owned())),
        name => Err(field.flaw(ServiceProblem::PortName(name.to_owned()))),
    }
}

fn port_number(field: &Field<'_>) -> Result<u16, Flaw> {
    let number = field.integer()?;
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(field.flaw(ServiceProblem::PortNumber(number))),
    }
}

fn protocol(port: &Field<'_>) -> Result<Protocol, Flaw> {
    let Some(field) = port.get("protocol") else { return Ok(Protocol::TCP) };
    let name = field.text()?.as_str();
    Protocol::of_name(name).ok_or_else(|| field.flaw(ServiceProblem::Protocol(name.to_owned())))
}

/// The target; where there is none or it is 0, Kubernetes takes the port's own number.
fn target_port(port: &Field<'_>, number: u16) -> Result<TargetPort, Flaw> {
    let Some(field) = port.get("targetPort") else { return Ok(TargetPort::Number(number)) };
    match &field.node.value {
        Value::Integer(0) => Ok(TargetPort::Number(number)),
        Value::Integer(_) => port_number(&field).map(TargetPort::Number),
        Value::Text(text) if is_service_port_name(text.as_str()) => Ok(TargetPort::Name(text.as_str().to_owned())),
        Value::Text(text) => Err(field.flaw(ServiceProblem::TargetPort(text.as_str().to_owned()))),
        _ => Err(field.not("a port number or the name of a container's port")),
    }
}

fn node_port(port: &Field<'_>) -> Result<Option<u16>, Flaw> {
    let Some(field) = port.get("nodePort") else { return Ok(None) };
    let number = field.integer()?;
    match u16::try_from(number) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(field.flaw(ServiceProblem::NodePort(number))),
    }
}

/// Whether the name is a service name of RFC 6335, as Kubernetes wants container ports called.
fn is_service_port_name(name: &str) -> bool {
    let has_letter = name.bytes().any(|b| b.is_ascii_lowercase());
    name.len() <= 15 && has_letter && names::is_dns_label(name) && !name.contains("--")
}
