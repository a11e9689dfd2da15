//! The values that options choose from: each a domain type, so that no later code looks at text again.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::ValueEnum;

/// What to write into the file as the address at which others reach the pod's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advertise {
    /// The node's name (`spec.nodeName`).
    NodeName,
    /// The node's primary address (`status.hostIP`).
    HostIp,
    /// An address of this type from the Node's `status.addresses`.
    NodeAddress(NodeAddressType),
    /// Text rendered from the same values as the Service template.
    Template(String),
}

/// A type of `status.addresses` of a Node, spelled as Kubernetes spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAddressType {
    /// An address that only the cluster's network need reach.
    InternalIP,
    /// An address that is reached from outside.
    ExternalIP,
    /// The name that the machine reports.
    Hostname,
    /// A name that resolves to the internal address.
    InternalDNS,
    /// A name that resolves to the external address.
    ExternalDNS,
}

impl NodeAddressType {
    /// Every type that Kubernetes documents.
    pub const ALL: [Self; 5] =
        [Self::InternalIP, Self::ExternalIP, Self::Hostname, Self::InternalDNS, Self::ExternalDNS];

    /// The value of the field `type` in a Node's `status.addresses`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InternalIP => "InternalIP",
            Self::ExternalIP => "ExternalIP",
            Self::Hostname => "Hostname",
            Self::InternalDNS => "InternalDNS",
            Self::ExternalDNS => "ExternalDNS",
        }
    }
}

/// The text is not an address that can be advertised.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected node-name, host-ip, InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS or template:TEXT")]
pub struct UnknownAdvertise;

impl FromStr for Advertise {
    type Err = UnknownAdvertise;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(template) = text.strip_prefix("template:").filter(|template| !template.is_empty()) {
            return Ok(Self::Template(template.to_owned()));
        }
        match text {
            "node-name" => Ok(Self::NodeName),
            "host-ip" => Ok(Self::HostIp),
            _ => NodeAddressType::ALL
                .into_iter()
                .find(|kind| kind.as_str() == text)
                .map(Self::NodeAddress)
                .ok_or(UnknownAdvertise),
        }
    }
}

impl fmt::Display for Advertise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeName => f.write_str("node-name"),
            Self::HostIp => f.write_str("host-ip"),
            Self::NodeAddress(kind) => f.write_str(kind.as_str()),
            Self::Template(text) => write!(f, "template:{text}"),
        }
    }
}

/// What to advertise, as one text: kinds of address to try in this order, separated by commas. A template takes the rest
/// of the text, since it may hold commas of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertiseList(pub Vec<Advertise>);

impl FromStr for AdvertiseList {
    type Err = UnknownAdvertise;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim_start();
        let (first, rest) = match text.split_once(',') {
            Some((first, rest)) if !text.starts_with("template:") => (first.trim_end(), Some(rest)),
            _ => (text, None),
        };
        let mut kinds = vec![first.parse()?];
        if let Some(rest) = rest {
            kinds.extend(rest.parse::<Self>()?.0);
        }
        Ok(Self(kinds))
    }
}

/// The address family to prefer where a node has addresses of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IpFamily {
    /// IPv4 addresses first.
    #[value(name = "IPv4")]
    V4,
    /// IPv6 addresses first.
    #[value(name = "IPv6")]
    V6,
}

/// How an output file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// HOCON for Akka and Pekko.
    Conf,
    /// `NAME=value` lines.
    Env,
    /// One JSON object.
    Json,
    /// The user's own handlebars file.
    Template(PathBuf),
}

/// The text is not a format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected conf, env, json or template:FILE")]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "conf" => Ok(Self::Conf),
            "env" => Ok(Self::Env),
            "json" => Ok(Self::Json),
            _ => match text.strip_prefix("template:") {
                Some(file) if !file.is_empty() => Ok(Self::Template(PathBuf::from(file))),
                _ => Err(UnknownFormat),
            },
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conf => f.write_str("conf"),
            Self::Env => f.write_str("env"),
            Self::Json => f.write_str("json"),
            Self::Template(file) => write!(f, "template:{}", file.display()),
        }
    }
}

/// Whose configuration keys the `.conf` file sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Flavor {
    /// `akka.*`
    Akka,
    /// `pekko.*`
    Pekko,
    /// Both.
    Both,
}

/// Whether the `.conf` file also says where to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bind {
    /// Bind to every address of the pod, at the ports that the Service targets.
    // Helm writes an unquoted `on` of its values as `true` (YAML 1.1).
    #[value(alias = "true")]
    On,
    /// Leave binding to the application's own configuration.
    #[value(alias = "false")]
    Off,
}

/// What the Service names as its owner, and so whether Kubernetes' garbage collector removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OwnerReference {
    /// The pod: the garbage collector removes the Service after it.
    Pod,
    /// Nothing: only the watcher removes the Service.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advertise_reads_what_it_prints() {
        for text in [
            "node-name",
            "host-ip",
            "InternalIP",
            "ExternalIP",
            "Hostname",
            "InternalDNS",
            "ExternalDNS",
            "template:{{NodeName}}.example",
        ] {
            assert_eq!(text.parse::<Advertise>().unwrap().to_string(), text);
        }
        for text in ["", "internalip", "NodeName", "host_ip", "template:"] {
            assert!(text.parse::<Advertise>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn a_list_of_advertise_is_separated_by_commas_but_for_templates() {
        use Advertise::{HostIp, NodeAddress, NodeName, Template};
        for (text, kinds) in [
            ("node-name", vec![NodeName]),
            ("ExternalIP,host-ip", vec![NodeAddress(NodeAddressType::ExternalIP), HostIp]),
            ("ExternalIP , host-ip", vec![NodeAddress(NodeAddressType::ExternalIP), HostIp]),
            ("template:{{a}},{{b}}", vec![Template("{{a}},{{b}}".to_owned())]),
            ("host-ip, template:a, node-name", vec![HostIp, Template("a, node-name".to_owned())]),
        ] {
            assert_eq!(text.parse(), Ok(AdvertiseList(kinds)), "{text:?}");
        }
        for text in ["", ",", "node-name,", ",node-name", "node-name,,host-ip", "node-name;host-ip"] {
            assert_eq!(text.parse::<AdvertiseList>(), Err(UnknownAdvertise), "{text:?}");
        }
    }

    #[test]
    fn format_reads_what_it_prints() {
        for text in ["conf", "env", "json", "template:/etc/my.hbs"] {
            assert_eq!(text.parse::<Format>().unwrap().to_string(), text);
        }
        for text in ["", "yaml", "template:", "CONF"] {
            assert!(text.parse::<Format>().is_err(), "{text:?} was accepted");
        }
    }
}
