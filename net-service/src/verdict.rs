//! Decides what becomes of the Service of a NetService: pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    names::{MANAGED_BY, MANAGED_BY_LABEL},
    net_service::NetService,
    resource::{Port, ServiceType, Spec, TargetPort},
    selector::{self, Left},
    service::{Service, ServicePort, is_labelled, net_service_of},
};

/// What becomes of the Service.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is as it should be.
    Keep,
    /// There is none: this one is created.
    Create(Value),
    /// It is changed by this merge patch.
    Patch(Value),
    /// What is asked for cannot be had by a change: it is deleted first.
    Delete,
    /// It is going already, and is waited for.
    Wait,
    /// Somebody else has the name: this one.
    Conflict(String),
}

/// Judges the Service that has the NetService's name, where Kubernetes has left this of it.
#[must_use]
pub fn judge(net_service: &NetService, spec: &Spec, seen: Option<&Service>, left: &Left<'_>) -> Verdict {
    let Some(seen) = seen else { return Verdict::Create(created(net_service, spec)) };
    if !seen.is_of(net_service) {
        return match net_service_of(&seen.metadata) {
            // An earlier one of the name: garbage collection takes its Service away.
            Some(owner) if owner.name == *net_service.key.name => Verdict::Wait,
            _ => Verdict::Conflict(format!("Service {} is not of this NetService", net_service.key)),
        };
    }
    if seen.metadata.deletion_timestamp.is_some() {
        return Verdict::Wait;
    }
    if must_be_new(spec, seen) {
        return Verdict::Delete;
    }
    let selector = selector::wanted(net_service, &seen.spec.selector, left);
    if seen.spec.selector == selector && is_as_wanted(net_service, spec, seen) {
        Verdict::Keep
    } else {
        Verdict::Patch(patch(net_service, spec, seen, &selector))
    }
}

/// Whether Kubernetes would not, or only seemingly, change the Service: from and to headless, and its first family.
fn must_be_new(spec: &Spec, seen: &Service) -> bool {
    let is_headless = spec.service_type == ServiceType::Headless;
    let first = spec.ip_families.first();
    is_headless != seen.is_headless() || first.is_some_and(|first| seen.spec.ip_families.first() != Some(first))
}

fn is_as_wanted(net_service: &NetService, spec: &Spec, seen: &Service) -> bool {
    let policies = policies(spec);
    let has = |(wanted, seen): (Option<&str>, &str)| wanted.is_none_or(|wanted| wanted == seen);
    is_labelled(&seen.metadata)
        && seen.metadata.controller() == Some(&net_service.owner_reference())
        && seen.spec.kind == policies.kind
        && seen.spec.external_ips.is_empty()
        && seen.spec.external_name.is_empty()
        && seen.spec.publish_not_ready_addresses == spec.publish_not_ready_addresses
        && seen.spec.ip_family_policy == policies.families
        && has((policies.internal, &seen.spec.internal_traffic_policy))
        && has((policies.external, &seen.spec.external_traffic_policy))
        // On a cluster with one family a Service gets one.
        && spec.ip_families.starts_with(&seen.spec.ip_families[..seen.spec.ip_families.len().min(spec.ip_families.len())])
        && seen.spec.ports.len() == spec.ports.len()
        && seen.spec.ports.iter().zip(&spec.ports).all(|(seen, wanted)| is_port(seen, wanted))
}

fn is_port(seen: &ServicePort, wanted: &Port) -> bool {
    seen.name == wanted.name
        && (seen.port, seen.protocol) == (wanted.port, wanted.protocol)
        && seen.target_port.as_ref().unwrap_or(&TargetPort::Number(seen.port)) == &target_port(wanted)
        && seen.app_protocol == wanted.app_protocol
        && (wanted.node_port.is_none() || seen.node_port == wanted.node_port)
}

fn target_port(port: &Port) -> TargetPort {
    port.target_port.clone().unwrap_or(TargetPort::Number(port.port))
}

/// What follows from the type alone.
struct Policies {
    kind: &'static str,
    families: &'static str,
    internal: Option<&'static str>,
    external: Option<&'static str>,
}

fn policies(spec: &Spec) -> Policies {
    let is_headless = spec.service_type == ServiceType::Headless;
    let families = match (spec.ip_families.len(), is_headless) {
        (1, _) => "SingleStack",
        // A headless Service without selector may have both on any cluster.
        (_, true) => "RequireDualStack",
        (_, false) => "PreferDualStack",
    };
    let kind = if spec.service_type == ServiceType::NodePort { "NodePort" } else { "ClusterIP" };
    Policies {
        kind,
        families,
        internal: (!is_headless).then_some("Cluster"),
        // With Local only the pod's own node would answer, and only where the pod's answers leave through it.
        external: (spec.service_type == ServiceType::NodePort).then_some("Cluster"),
    }
}

fn created(net_service: &NetService, spec: &Spec) -> Value {
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": &*net_service.key.namespace,
            "name": &*net_service.key.name,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY},
            "ownerReferences": [net_service.owner_reference()],
        },
        "spec": wanted(spec, &[]),
    });
    if spec.service_type == ServiceType::Headless {
        service["spec"]["clusterIP"] = json!("None");
    }
    service
}

fn patch(net_service: &NetService, spec: &Spec, seen: &Service, selector: &BTreeMap<String, String>) -> Value {
    let mut wanted = wanted(spec, &seen.spec.ports);
    // Whoever may edit a Service must not lead its traffic elsewhere.
    for field in ["externalIPs", "externalName"] {
        wanted[field] = Value::Null;
    }
    let others = seen.spec.selector.keys().map(|key| (key, None));
    let all: BTreeMap<_, _> = others.chain(selector.iter().map(|(key, value)| (key, Some(value)))).collect();
    wanted["selector"] = if selector.is_empty() { Value::Null } else { json!(all) };
    if spec.service_type != ServiceType::NodePort {
        wanted["externalTrafficPolicy"] = Value::Null;
    }
    let mut patch = json!({
        "metadata": {
            "uid": seen.metadata.uid,
            "resourceVersion": seen.metadata.resource_version,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY},
        },
        "spec": wanted,
    });
    // Lists are replaced: where ours is in it, those of others stay.
    if seen.metadata.controller() != Some(&net_service.owner_reference()) {
        patch["metadata"]["ownerReferences"] = json!([net_service.owner_reference()]);
    }
    patch
}

/// The spec. A port that the Service has already keeps its node port, unless another one asks for that.
fn wanted(spec: &Spec, seen: &[ServicePort]) -> Value {
    let policies = policies(spec);
    let ports = spec.ports.iter().map(|port| {
        let mut wanted = json!({"port": port.port, "protocol": port.protocol, "targetPort": target_port(port)});
        let same = seen.iter().find(|seen| (seen.port, seen.protocol) == (port.port, port.protocol));
        let is_free = |kept: &u16| {
            let mut others = spec.ports.iter().filter(|other| other.protocol == port.protocol);
            spec.service_type == ServiceType::NodePort && others.all(|other| other.node_port != Some(*kept))
        };
        let kept = same.and_then(|seen| seen.node_port).filter(is_free);
        for (key, value) in [
            ("name", (!port.name.is_empty()).then(|| json!(port.name))),
            ("appProtocol", port.app_protocol.as_ref().map(|protocol| json!(protocol))),
            ("nodePort", port.node_port.or(kept).map(|port| json!(port))),
        ] {
            if let Some(value) = value {
                wanted[key] = value;
            }
        }
        wanted
    });
    let mut wanted = json!({
        "type": policies.kind,
        "ports": ports.collect::<Vec<_>>(),
        "publishNotReadyAddresses": spec.publish_not_ready_addresses,
        "ipFamilyPolicy": policies.families,
    });
    for (key, value) in [
        ("ipFamilies", (!spec.ip_families.is_empty()).then(|| json!(spec.ip_families))),
        ("internalTrafficPolicy", policies.internal.map(|policy| json!(policy))),
        ("externalTrafficPolicy", policies.external.map(|policy| json!(policy))),
    ] {
        if let Some(value) = value {
            wanted[key] = value;
        }
    }
    wanted
}
