//! Decides what is wrong with what a NetService asks for, and what its user can do: pure. A schema refuses most of that before; an
//! older definition may not.

use std::collections::HashSet;

use crate::resource::{ServiceType, Spec, TargetPort};

/// The first thing that is wrong with a NetService of this name, and what to do about it.
#[must_use]
pub fn problem(name: &str, spec: &Spec) -> Option<String> {
    if !is_label(name) {
        return Some(format!(
            "{name:?} is no name of a Service: create it under a name of at most 63 lower case letters, digits and dashes"
        ));
    }
    match spec.net_attach_def.as_deref() {
        Some("") => {
            return Some(
                "spec.netAttachDef is empty: name a NetworkAttachmentDefinition, or leave the field out for the pod network"
                    .to_owned(),
            );
        }
        Some(network) if !is_reference(network) => {
            return Some(format!("spec.netAttachDef {network:?} is neither NAME nor NAMESPACE/NAME"));
        }
        _ => {}
    }
    if spec.ports.is_empty() && spec.service_type != ServiceType::Headless {
        return Some("spec.ports is empty: name the ports, or leave the type at Headless".to_owned());
    }
    let families: HashSet<_> = spec.ip_families.iter().collect();
    if families.len() < spec.ip_families.len() {
        return Some("spec.ipFamilies names a family twice".to_owned());
    }
    ports_problem(spec)
}

fn ports_problem(spec: &Spec) -> Option<String> {
    let (mut numbers, mut names, mut node_ports) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (index, port) in spec.ports.iter().enumerate() {
        let field = format!("spec.ports[{index}]");
        let protocol = port.protocol.as_str();
        if port.port == 0 || port.target_port == Some(TargetPort::Number(0)) {
            return Some(format!("{field} has port 0: ports are 1 to 65535"));
        }
        if matches!(&port.target_port, Some(TargetPort::Name(name)) if name.is_empty()) {
            return Some(format!("{field}.targetPort is empty: name a container's port, or leave the field out"));
        }
        if !numbers.insert((port.port, port.protocol)) {
            return Some(format!("{field} is port {} of {protocol} a second time", port.port));
        }
        if port.name.is_empty() && spec.ports.len() > 1 {
            return Some(format!("{field} has no name, which it needs since there are several"));
        }
        if !port.name.is_empty() && !is_label(&port.name) {
            return Some(format!("{field}.name {:?} is not made of lower case letters, digits and dashes", port.name));
        }
        if !names.insert(&port.name) {
            return Some(format!("{field} is named {:?} like another", port.name));
        }
        let Some(node_port) = port.node_port else { continue };
        if spec.service_type != ServiceType::NodePort {
            return Some(format!("{field}.nodePort is set: that takes the type NodePort"));
        }
        if !node_ports.insert((node_port, port.protocol)) {
            return Some(format!("{field} has node port {node_port} of {protocol} a second time"));
        }
    }
    None
}

/// A DNS label, as the names of Services and ports are (RFC 1123; a Service's may not begin with a digit before Kubernetes 1.34).
fn is_label(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| is_inside(*byte) || *byte == b'-')
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|byte| is_inside(*byte))
}

fn is_reference(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.len() <= 253 && name.split('.').all(is_label);
    match text.split_once('/') {
        Some((namespace, name)) => is_label(namespace) && is_name(name),
        None => is_name(text),
    }
}
