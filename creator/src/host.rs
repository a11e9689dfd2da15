//! The host that a pod is reached at: checked and in canonical text, so that nothing later looks at it again.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Serialize, Serializer};

/// Longest domain name in text (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;

/// Longest part of a domain name between two dots (RFC 1035 section 2.3.4).
const MAX_LABEL: usize = 63;

/// An IP address or a domain name, in the one text that every reader sees.
///
/// Never empty. Names are lower case; IPv6 is in the short form of RFC 5952, without brackets. Akka's bootstrap
/// finds its own contact point by comparing text, so two spellings of one host would never form a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Address(IpAddr),
    Name(String),
}

/// Why a text is no host that others could be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHost {
    /// There is no text.
    #[error("it is empty")]
    Empty,
    /// More than 253 characters.
    #[error("it has {0} characters, and a domain name at most {MAX_NAME}")]
    TooLong(usize),
    /// A port is at its end.
    #[error("{0:?} carries a port: give the host alone, the ports are allocated")]
    Port(String),
    /// An IPv6 zone is at its end.
    #[error("{0:?} carries a zone, which means something on one machine only")]
    Zone(String),
    /// `0.0.0.0` or `::`.
    #[error("{0} means every address, and nobody can connect to it")]
    Unspecified(IpAddr),
    /// Four numbers that are no IPv4 address.
    #[error("{0:?} looks like an IPv4 address and is none")]
    NotIpv4(String),
    /// A character that no domain name has.
    #[error("{0:?} has the character {1:?}, and a host has letters, digits, '-', '.' and '_' only")]
    Character(String, char),
    /// A part between dots that is empty, too long, or starts or ends with a hyphen.
    #[error(
        "{0:?} has the part {1:?} between dots; each has 1 to {MAX_LABEL} characters and no hyphen at its start or end"
    )]
    Label(String, String),
}

impl Host {
    /// The address, where the host is not a name.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match &self.0 {
            Kind::Address(address) => Some(*address),
            Kind::Name(_) => None,
        }
    }

    /// The name, where the host is not an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Address(_) => None,
            Kind::Name(name) => Some(name),
        }
    }
}

impl TryFrom<IpAddr> for Host {
    type Error = InvalidHost;

    /// An IPv4 address mapped into IPv6 becomes the IPv4 address that it stands for.
    fn try_from(address: IpAddr) -> Result<Self, InvalidHost> {
        let address = address.to_canonical();
        if address.is_unspecified() {
            return Err(InvalidHost::Unspecified(address));
        }
        Ok(Self(Kind::Address(address)))
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    /// Takes an IPv6 address with or without brackets, and a name in upper or lower case.
    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if text.is_empty() {
            return Err(InvalidHost::Empty);
        }
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>()
            && (bare.len() == text.len() || address.is_ipv6())
        {
            return Self::try_from(address);
        }
        if let Some((host, port)) = text.rsplit_once(':')
            && port.parse::<u16>().is_ok()
            && host.parse::<Self>().is_ok()
        {
            return Err(InvalidHost::Port(text.to_owned()));
        }
        if bare.split_once('%').is_some_and(|(address, _)| address.parse::<IpAddr>().is_ok()) {
            return Err(InvalidHost::Zone(text.to_owned()));
        }
        name(text).map(|name| Self(Kind::Name(name)))
    }
}

/// Checks a domain name and gives it in lower case. A final dot, which makes a name absolute, stays.
fn name(text: &str) -> Result<String, InvalidHost> {
    if let Some(other) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_')) {
        return Err(InvalidHost::Character(text.to_owned(), other));
    }
    let relative = text.strip_suffix('.').unwrap_or(text);
    if relative.len() > MAX_NAME {
        return Err(InvalidHost::TooLong(relative.len()));
    }
    let bad =
        |label: &&str| label.is_empty() || label.len() > MAX_LABEL || label.starts_with('-') || label.ends_with('-');
    if let Some(label) = relative.split('.').find(bad) {
        return Err(InvalidHost::Label(text.to_owned(), label.to_owned()));
    }
    if relative.split('.').count() == 4 && relative.split('.').all(is_number) {
        return Err(InvalidHost::NotIpv4(text.to_owned()));
    }
    Ok(text.to_ascii_lowercase())
}

/// Whether resolvers read every part of this name as a number, and so the name as an old spelling of an IPv4
/// address (`inet_aton(3)`, and Java's `InetAddress`): `10.1` is 10.0.0.1 to them, `0123` is 0.0.0.83.
#[must_use]
pub fn is_read_as_ipv4(name: &str) -> bool {
    name.split('.').count() <= 4 && name.split('.').all(is_number)
}

fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x").or_else(|| label.strip_prefix("0X")) {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Address(address) => address.fmt(f),
            Kind::Name(name) => f.write_str(name),
        }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_written_in_canonical_text() {
        for (text, canonical) in [
            ("node-1", "node-1"),
            ("NODE-1.Example.COM", "node-1.example.com"),
            ("node_1", "node_1"),
            ("node.example.", "node.example."),
            ("0123", "0123"),
            ("1e5", "1e5"),
            ("true", "true"),
            ("null", "null"),
            ("10.1", "10.1"),
            ("10.0.0.5", "10.0.0.5"),
            ("127.0.0.1", "127.0.0.1"),
            ("fd00:0:0:0:0:0:0:5", "fd00::5"),
            ("FD00::ABCD", "fd00::abcd"),
            ("[fd00::5]", "fd00::5"),
            ("::1", "::1"),
            ("::ffff:10.0.0.5", "10.0.0.5"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ] {
            assert_eq!(text.parse::<Host>().unwrap().to_string(), canonical, "{text:?}");
        }
    }

    #[test]
    fn what_nobody_could_connect_to_is_refused_with_its_reason() {
        let long = vec!["a".repeat(63); 4].join(".");
        let long_label = "a".repeat(64);
        for (text, reason) in [
            ("", "it is empty"),
            (" ", "the character ' '"),
            ("node 1", "the character ' '"),
            ("node-1\n", "the character '\\n'"),
            ("node-1\0", "the character '\\0'"),
            ("knoten-ä", "the character 'ä'"),
            ("http://node-1", "the character ':'"),
            ("node/1", "the character '/'"),
            ("${NODE}", "the character '$'"),
            ("[10.0.0.5]", "the character '['"),
            ("[node-1]", "the character '['"),
            ("node-1:31234", "carries a port"),
            ("10.0.0.5:31234", "carries a port"),
            ("[fd00::5]:31234", "carries a port"),
            ("fe80::1%eth0", "carries a zone"),
            ("0.0.0.0", "means every address"),
            ("::", "means every address"),
            ("::ffff:0.0.0.0", "means every address"),
            ("10.0.0.256", "is none"),
            ("10.0.0.05", "is none"),
            ("node..1", "the part \"\""),
            (".", "the part \"\""),
            (".node", "the part \"\""),
            ("-node", "the part \"-node\""),
            ("node-.a", "the part \"node-\""),
            (&long, "it has 255 characters"),
            (&long_label, "has the part"),
        ] {
            let refused = text.parse::<Host>().unwrap_err().to_string();
            assert!(refused.contains(reason), "{text:?}: {refused}");
        }
    }

    #[test]
    fn names_that_resolvers_take_for_addresses_are_known() {
        for (name, read) in
            [("0123", true), ("10.1", true), ("0x1f", true), ("1e5", false), ("node-1", false), ("1.a", false)]
        {
            assert_eq!(is_read_as_ipv4(name), read, "{name}");
        }
    }
}
