//! Decides which addresses of which pods are a NetService's endpoints, and how they are told: pure.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    network::{Attachment, Network, Reference},
    pod::{Pod, Stage},
    resource::{AddressPolicy, IpFamily, Protocol, ServiceType, Spec, TargetPort},
};

/// An endpoint, as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct Endpoint {
    /// One: no client uses more.
    pub addresses: Vec<Box<str>>,
    pub conditions: Conditions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// Never ours: somebody's edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Value>,
}

/// Whether an endpoint is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct Conditions {
    pub ready: Option<bool>,
    pub serving: Option<bool>,
    pub terminating: Option<bool>,
}

/// The pod behind an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct TargetRef {
    pub kind: Box<str>,
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub uid: Box<str>,
}

/// A port of endpoints, as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct SlicePort {
    pub name: Box<str>,
    /// The API takes any number: one that is no port in a slice of anybody's must not end the watch of all.
    pub port: Option<i32>,
    pub protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Box<str>>,
}

/// Endpoints that one slice may hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Their family.
    pub family: IpFamily,
    /// Their ports.
    pub ports: Vec<SlicePort>,
    /// The endpoints, by name of the pod and address.
    pub endpoints: Vec<Endpoint>,
}

/// A NetService's endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoints {
    /// All of them.
    pub sets: Vec<Set>,
    /// Selected pods that have an address anywhere.
    pub pods: usize,
    /// Those of them that are attached to the network.
    pub attached: usize,
}

impl Endpoints {
    /// How many are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        let all = self.sets.iter().flat_map(|set| &set.endpoints);
        all.filter(|endpoint| endpoint.conditions.ready == Some(true)).count()
    }
}

/// The endpoints among these pods, in families of `served`; of all families where that is none, as for a headless Service.
#[must_use]
pub fn endpoints<'a>(
    namespace: &str,
    service: &str,
    spec: &Spec,
    served: Option<&[IpFamily]>,
    pods: impl Iterator<Item = &'a Pod>,
) -> Endpoints {
    let network = spec.net_attach_def.as_deref().map(Reference::parse);
    let mut found = Endpoints::default();
    let mut holders: HashMap<IpAddr, &Pod> = HashMap::new();
    for pod in pods.filter(|pod| pod.stage != Stage::Finished && pod.is_selected_by(&spec.selector)) {
        // One that has none yet has not been attached to anything.
        found.pods += usize::from(!pod.addresses.is_empty());
        let Some(addresses) = addresses(pod, network.as_ref(), spec.interface.as_deref(), namespace) else { continue };
        found.attached += 1;
        let is_served = |family: &IpFamily| {
            served.is_none_or(|served| served.contains(family))
                && (spec.ip_families.is_empty() || spec.ip_families.contains(family))
        };
        for address in usable(&addresses, spec.address_policy).filter(|address| is_served(&family(address))) {
            let holder = holders.entry(address).or_insert(pod);
            if precedence(pod) > precedence(holder) {
                *holder = pod;
            }
        }
    }

    let mut holders: Vec<_> = holders.into_iter().collect();
    holders.sort_by(|(address, pod), (other_address, other)| (&pod.name, address).cmp(&(&other.name, other_address)));
    let mut sets: BTreeMap<(IpFamily, Vec<SlicePort>), Vec<Endpoint>> = BTreeMap::new();
    for (address, pod) in holders {
        let ports = ports(pod, spec);
        if ports.is_empty() && spec.service_type != ServiceType::Headless {
            // Nobody could use it.
            continue;
        }
        let endpoint = endpoint(namespace, service, spec, pod, address);
        sets.entry((family(&address), ports)).or_default().push(endpoint);
    }
    found.sets = sets.into_iter().map(|((family, ports), endpoints)| Set { family, ports, endpoints }).collect();
    found
}

/// A pod's addresses on a network; none where it is not attached to it.
fn addresses(pod: &Pod, network: Option<&Reference>, interface: Option<&str>, namespace: &str) -> Option<Vec<IpAddr>> {
    let Some(network) = network else {
        return (!pod.addresses.is_empty()).then(|| pod.addresses.to_vec());
    };
    let is_it = |attachment: &&Attachment| {
        let Network::Attached(reference) = &attachment.network else { return false };
        reference.is(network, namespace) && interface.is_none_or(|interface| *attachment.interface == *interface)
    };
    // A pod in its node's network has no other, whatever an annotation says.
    let mut attached = pod.networks.attachments.iter().filter(|_| !pod.has_host_network).filter(is_it).peekable();
    attached.peek()?;
    Some(attached.flat_map(|attachment| &attachment.addresses).copied().collect())
}

/// Those that can be endpoints, as the policy wants them.
fn usable(addresses: &[IpAddr], policy: AddressPolicy) -> impl Iterator<Item = IpAddr> {
    let mut seen = Vec::new();
    addresses.iter().copied().filter(is_usable).filter(move |address| {
        let is_first = !seen.contains(&family(address));
        seen.push(family(address));
        is_first || policy == AddressPolicy::All
    })
}

/// Whether the address means the same pod from everywhere on its network. The API refuses the others, too.
fn is_usable(address: &IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.to_ipv4_mapped().is_some(),
    };
    !(is_local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
}

fn family(address: &IpAddr) -> IpFamily {
    if address.is_ipv4() { IpFamily::V4 } else { IpFamily::V6 }
}

/// Of two pods with one address the larger has it: the one that lives, that is ready, that is newer.
fn precedence(pod: &Pod) -> impl Ord {
    (pod.stage == Stage::Alive, pod.is_ready, pod.created, pod.uid.clone())
}

/// The ports that a pod has of those that are asked for.
fn ports(pod: &Pod, spec: &Spec) -> Vec<SlicePort> {
    let ports = spec.ports.iter().filter_map(|port| {
        let number = match &port.target_port {
            None => Some(port.port),
            Some(TargetPort::Number(number)) => Some(*number),
            Some(TargetPort::Name(name)) => pod.port(name, port.protocol),
        };
        Some(SlicePort {
            name: port.name.as_str().into(),
            port: Some(number?.into()),
            protocol: port.protocol,
            app_protocol: port.app_protocol.as_deref().map(Into::into),
        })
    });
    ports.collect()
}

/// As Kubernetes' own controller tells it (KEP-752, KEP-1672).
fn endpoint(namespace: &str, service: &str, spec: &Spec, pod: &Pod, address: IpAddr) -> Endpoint {
    let (serving, terminating) = (pod.is_ready, pod.stage == Stage::Terminating);
    let ready = spec.publish_not_ready_addresses || (serving && !terminating);
    let hostname = pod.hostname.as_ref().filter(|(_, subdomain)| **subdomain == *service);
    Endpoint {
        addresses: vec![address.to_string().into()],
        conditions: Conditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) },
        hostname: hostname.map(|(hostname, _)| hostname.clone()),
        node_name: pod.node.as_deref().map(Into::into),
        zone: pod.zone().map(Into::into),
        target_ref: Some(TargetRef {
            kind: "Pod".into(),
            namespace: namespace.into(),
            name: pod.name.as_ref().into(),
            uid: pod.uid.as_ref().into(),
        }),
        hints: None,
    }
}

#[cfg(test)]
#[path = "endpoints_tests.rs"]
mod tests;
