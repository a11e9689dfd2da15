//! Reads what a pod's annotation says about its networks. Whatever the text is, it is read as far as that makes sense, and
//! what makes none is told; it never fails, and never decides what becomes of an address.
//!
//! The format is the one of the Network Plumbing Working Group's specification 1.0 (section 4.1), as Multus writes it.

use std::net::IpAddr;

use serde_json::{Map, Value};

/// The annotation that says what networks a pod is attached to, …
pub const STATUS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/network-status";

/// … and what it was called up to Multus 3.
pub const OLD_STATUS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks-status";

/// So many problems are told; a broken text can have as many as it has bytes.
const TOLD: usize = 3;

/// So much of an odd value is repeated.
const QUOTED: usize = 60;

/// What the annotation says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkStatus {
    /// The pod's attachments, in their order.
    pub attachments: Vec<Attachment>,
    /// What could not be read, in words; nothing where all could.
    pub problems: Option<Box<str>>,
}

/// One interface of a pod, in one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The network.
    pub network: Network,
    /// The interface, in the pod; empty where the annotation does not say.
    pub interface: Box<str>,
    /// Its addresses, each once.
    pub addresses: Vec<IpAddr>,
}

/// The network of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// A NetworkAttachmentDefinition.
    Attached(Reference),
    /// The cluster's own network: no definition has it.
    Default,
}

/// A NetworkAttachmentDefinition, as it is referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its namespace; none says: the one of who refers to it.
    pub namespace: Option<Box<str>>,
    /// Its name.
    pub name: Box<str>,
}

impl Reference {
    /// Reads `name` or `namespace/name`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => Self { namespace: Some(namespace.into()), name: name.into() },
            None => Self { namespace: None, name: text.into() },
        }
    }

    /// Whether both mean the same definition, where both are used in this namespace.
    #[must_use]
    pub fn is(&self, other: &Self, namespace: &str) -> bool {
        let full = |reference: &Self| reference.namespace.clone().unwrap_or_else(|| namespace.into());
        self.name == other.name && full(self) == full(other)
    }
}

/// Reads an annotation. An empty one says nothing, and that is no problem.
#[must_use]
pub fn parse(text: &str) -> NetworkStatus {
    let mut read = Reader::default();
    if !text.trim().is_empty() {
        match serde_json::from_str(text) {
            Ok(Value::Array(entries)) => (0..).zip(&entries).for_each(|(number, entry)| read.entry(number, entry)),
            Ok(Value::Null) => {}
            Ok(other) => read.problem(format!("is {}, not a list", quoted(&other))),
            Err(error) => read.problem(format!("is no JSON: {error}")),
        }
    }
    NetworkStatus { attachments: read.attachments, problems: read.problems.told() }
}

#[derive(Default)]
struct Reader {
    attachments: Vec<Attachment>,
    problems: Problems,
}

impl Reader {
    fn problem(&mut self, text: String) {
        self.problems.add(text);
    }

    fn entry(&mut self, number: usize, entry: &Value) {
        let Value::Object(entry) = entry else {
            return self.problem(format!("entry {number} is {}, not an object", quoted(entry)));
        };
        let name = match entry.get("name") {
            None | Some(Value::Null) => "",
            Some(Value::String(name)) => name.trim(),
            Some(other) => return self.problem(format!("name of entry {number} is {}, not a text", quoted(other))),
        };
        let reference = Reference::parse(name);
        let is_default = entry.get("default") == Some(&Value::Bool(true));
        let network = match name {
            "" => Network::Default,
            // The cluster's own network may be called like somebody's definition.
            _ if is_default && reference.namespace.is_none() => Network::Default,
            _ => Network::Attached(reference),
        };
        let interface = match entry.get("interface") {
            Some(Value::String(interface)) => interface.as_str().into(),
            _ => Box::default(),
        };
        let addresses = self.addresses(number, entry);
        self.attachments.push(Attachment { network, interface, addresses });
    }

    fn addresses(&mut self, number: usize, entry: &Map<String, Value>) -> Vec<IpAddr> {
        let listed = match entry.get("ips") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(listed)) => listed,
            Some(other) => {
                self.problem(format!("ips of entry {number} is {}, not a list", quoted(other)));
                return Vec::new();
            }
        };
        let mut addresses = Vec::new();
        for value in listed {
            match value.as_str().and_then(address) {
                Some(address) if addresses.contains(&address) => {}
                Some(address) => addresses.push(address),
                None => self.problem(format!("{} in ips of entry {number} is no address", quoted(value))),
            }
        }
        addresses
    }
}

/// An address, bare or with the length of its network's prefix.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let Some((address, length)) = text.split_once('/') else { return text.parse().ok() };
    let address: IpAddr = address.parse().ok()?;
    let length: u8 = length.parse().ok()?;
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some(address)
}

/// A value as it is written, cut where it is long.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[derive(Default)]
struct Problems {
    first: Vec<String>,
    more: usize,
}

impl Problems {
    fn add(&mut self, text: String) {
        if self.first.len() < TOLD { self.first.push(text) } else { self.more += 1 }
    }

    fn told(self) -> Option<Box<str>> {
        let Self { first, more } = self;
        match (first.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(first.join("; ").into()),
            (false, more) => Some(format!("{}; and {more} more", first.join("; ")).into()),
        }
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
