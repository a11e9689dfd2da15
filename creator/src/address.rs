//! Decides which address others are told. Pure: what must be read first is asked for, one thing at a time.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use serde::Deserialize;

use crate::{
    choices::{Advertise, IpFamily, NodeAddressType},
    host::{self, Host, InvalidHost},
};

/// One entry of a Node's `status.addresses`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NodeAddress {
    /// Its type, in the words of the Node; other types than the documented ones occur.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its address or name.
    pub address: String,
}

/// What is known of the node. What has not been read is `None`, and asked for only if a choice needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The pod's `spec.nodeName`.
    pub node_name: Option<String>,
    /// The pod's `status.hostIPs` in their order: the node's primary address, at most one of each family.
    pub host_ips: Option<Vec<IpAddr>>,
    /// The Node's `status.addresses` in their order.
    pub node_addresses: Option<Vec<NodeAddress>>,
    /// What each template among the choices rendered to.
    pub rendered: BTreeMap<String, String>,
}

/// Something that a choice needs and [`Facts`] does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// [`Facts::node_name`]
    NodeName,
    /// [`Facts::host_ips`]
    HostIps,
    /// [`Facts::node_addresses`]
    NodeAddresses,
    /// [`Facts::rendered`] for this template.
    Rendered(String),
}

/// Where the choice of an address stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advertised {
    /// This is the address.
    Host(Host),
    /// No earlier choice gave an address: add this to the facts and ask again.
    Needs(Need),
}

/// No choice gave an address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no address to advertise: {}; name another with --advertise", reasons(.0))]
pub struct NoAddress(Vec<(Advertise, Unusable)>);

/// Why one choice gave no address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The pod has no host IP.
    #[error("the pod's status has no host IP")]
    NoHostIp,
    /// The Node has no address of the type.
    #[error("the Node has none of this type ({})", there(.0))]
    NoNodeAddress(Vec<NodeAddress>),
    /// The text is no host.
    #[error(transparent)]
    Invalid(#[from] InvalidHost),
}

fn reasons(failed: &[(Advertise, Unusable)]) -> String {
    if failed.is_empty() {
        return "nothing is chosen".to_owned();
    }
    failed.iter().map(|(choice, why)| format!("{choice}: {why}")).collect::<Vec<_>>().join("; ")
}

fn there(addresses: &[NodeAddress]) -> String {
    if addresses.is_empty() {
        return "it has no addresses at all".to_owned();
    }
    let listed: Vec<_> = addresses.iter().map(|entry| format!("{} {}", entry.kind, entry.address)).collect();
    format!("it has {}", listed.join(", "))
}

/// The address of the first of `choices` that gives one.
///
/// Facts are asked for in the order of the choices and only until one is satisfied, so that a Node is not read, and
/// no permission for it needed, where the node's name does.
///
/// # Errors
/// No choice gives an address; each one's reason is in the message.
pub fn advertised(choices: &[Advertise], family: Option<IpFamily>, facts: &Facts) -> Result<Advertised, NoAddress> {
    let mut failed = Vec::new();
    for choice in choices {
        match usable(choice, family, facts) {
            Ok(found) => return Ok(found),
            Err(why) => failed.push((choice.clone(), why)),
        }
    }
    Err(NoAddress(failed))
}

fn usable(choice: &Advertise, family: Option<IpFamily>, facts: &Facts) -> Result<Advertised, Unusable> {
    match choice {
        Advertise::NodeName => text(facts.node_name.as_ref(), || Need::NodeName),
        Advertise::Template(template) => text(facts.rendered.get(template), || Need::Rendered(template.clone())),
        Advertise::HostIp => match &facts.host_ips {
            None => Ok(Advertised::Needs(Need::HostIps)),
            Some(addresses) => first(addresses.iter().map(|address| Host::try_from(*address)), family)
                .unwrap_or(Err(Unusable::NoHostIp)),
        },
        Advertise::NodeAddress(kind) => match &facts.node_addresses {
            None => Ok(Advertised::Needs(Need::NodeAddresses)),
            Some(addresses) => first(of_type(addresses, *kind), family)
                .unwrap_or_else(|| Err(Unusable::NoNodeAddress(addresses.clone()))),
        },
    }
}

fn text(known: Option<&String>, need: impl FnOnce() -> Need) -> Result<Advertised, Unusable> {
    match known {
        None => Ok(Advertised::Needs(need())),
        Some(text) => Ok(Advertised::Host(text.parse()?)),
    }
}

fn of_type(addresses: &[NodeAddress], kind: NodeAddressType) -> impl Iterator<Item = Result<Host, InvalidHost>> {
    addresses.iter().filter(move |entry| entry.kind == kind.as_str()).map(|entry| entry.address.parse())
}

/// The first valid host of the preferred family, else the first valid one, else why the first is invalid; `None`
/// without any.
fn first(
    candidates: impl Iterator<Item = Result<Host, InvalidHost>>,
    family: Option<IpFamily>,
) -> Option<Result<Advertised, Unusable>> {
    // A stable sort: within a rank the API's own order decides.
    candidates
        .min_by_key(|candidate| match candidate {
            Ok(host) if family.is_none_or(|family| is_of(host, family)) => 0,
            Ok(_) => 1,
            Err(_) => 2,
        })
        .map(|candidate| Ok(Advertised::Host(candidate?)))
}

fn is_of(host: &Host, family: IpFamily) -> bool {
    host.address().is_some_and(|address| match family {
        IpFamily::V4 => address.is_ipv4(),
        IpFamily::V6 => address.is_ipv6(),
    })
}

/// Every address and name of the node that is known, each once: `host` first, then the primary addresses, then the
/// Node's own list. What is no valid host is left out.
#[must_use]
pub fn known(host: &Host, facts: &Facts) -> Vec<Host> {
    let primary = facts.host_ips.iter().flatten().filter_map(|address| Host::try_from(*address).ok());
    let listed = facts.node_addresses.iter().flatten().filter_map(|entry| entry.address.parse().ok());
    let mut known = vec![host.clone()];
    for other in primary.chain(listed) {
        if !known.contains(&other) {
            known.push(other);
        }
    }
    known
}

/// What may keep others from reaching the pod at an address, although it is valid.
#[derive(Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Another address of the node than its primary one.
    NotPrimary {
        /// What is advertised.
        address: IpAddr,
        /// The node's primary addresses.
        primary: Vec<IpAddr>,
    },
    /// A name that is read as an address.
    ReadAsIpv4(String),
    /// An address of a family that the Service does not answer in.
    OtherFamily {
        /// What is advertised.
        address: IpAddr,
        /// The Service's families.
        families: Vec<String>,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPrimary { address, primary } => {
                let primary = primary.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "{address} is not the node's primary address ({primary}): where kube-proxy runs in nftables mode, \
                     node ports answer only there; --advertise host-ip names it"
                )
            }
            Self::OtherFamily { address, families } => write!(
                f,
                "the Service has node ports for {} only, and {address} is of another family: set ipFamilyPolicy: \
                 PreferDualStack in the template, or another --ip-family",
                families.join(" and ")
            ),
            Self::ReadAsIpv4(name) => write!(
                f,
                "resolvers take the name {name} for an old spelling of an IPv4 address; --advertise host-ip names \
                 the node's address"
            ),
        }
    }
}

/// What to warn of before this host is written.
///
/// kube-proxy's nftables mode defaults to `--nodeport-addresses primary`: node ports answer only at the addresses
/// that the pod's `status.hostIPs` lists.
#[must_use]
pub fn doubt(host: &Host, facts: &Facts) -> Option<Doubt> {
    if let Some(name) = host.name() {
        return host::is_read_as_ipv4(name).then(|| Doubt::ReadAsIpv4(name.to_owned()));
    }
    let address = host.address()?;
    let primary = primary(facts);
    (!primary.is_empty() && !primary.contains(&address)).then_some(Doubt::NotPrimary { address, primary })
}

/// What to warn of once the Service's address families (`spec.ipFamilies`) are known: kube-proxy forwards node ports only
/// in these.
#[must_use]
pub fn family_doubt(host: &Host, families: &[String]) -> Option<Doubt> {
    let address = host.address()?;
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let is_other = !families.is_empty() && families.iter().all(|there| there != family);
    is_other.then(|| Doubt::OtherFamily { address, families: families.to_vec() })
}

/// The node's primary addresses: as the pod's status has them, else the first `InternalIP` of each family, which is what
/// the kubelet puts there.
fn primary(facts: &Facts) -> Vec<IpAddr> {
    if let Some(addresses) = &facts.host_ips {
        return addresses.iter().map(IpAddr::to_canonical).collect();
    }
    let internal = facts.node_addresses.iter().flatten().filter(|entry| entry.kind == "InternalIP");
    let mut primary: Vec<IpAddr> = Vec::new();
    for address in internal.filter_map(|entry| entry.address.parse::<IpAddr>().ok()) {
        if primary.iter().all(|earlier| earlier.is_ipv4() != address.is_ipv4()) {
            primary.push(address);
        }
    }
    primary
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
