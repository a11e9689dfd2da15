//! Who has which address. These networks exist only inside the tests' own machine.

use std::{
    fmt::{self, Display, Formatter},
    net::SocketAddr,
};

/// Where the control plane is reached from nodes and pods. It is on the bridge that links all networks.
pub const CONTROL_PLANE: &str = "172.18.0.1";

/// A client that is on neither node.
pub const CLIENT: &str = "172.18.0.9";

/// The addresses of all pods.
pub(super) const PODS: &str = "10.244.0.0/16";

/// A network beside the pods' own, which pods are attached to where they ask for it: one segment across both nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdditionalNetwork {
    /// `core`.
    Core,
    /// `access`.
    Access,
}

/// All of them.
pub const ADDITIONAL_NETWORKS: [AdditionalNetwork; 2] = [AdditionalNetwork::Core, AdditionalNetwork::Access];

/// The addresses of an additional network.
#[derive(Debug)]
pub(super) struct Range {
    /// All of it.
    pub(super) subnet: &'static str,
    /// What pods get, the first and the last: the nodes have others.
    pub(super) pods: [&'static str; 2],
    /// The nodes', in the order of [`NODES`].
    pub(super) nodes: [&'static str; 2],
}

const CORE: Range =
    Range { subnet: "10.50.0.0/24", pods: ["10.50.0.1", "10.50.0.200"], nodes: ["10.50.0.251", "10.50.0.252"] };

const ACCESS: Range =
    Range { subnet: "10.51.0.0/24", pods: ["10.51.0.1", "10.51.0.200"], nodes: ["10.51.0.251", "10.51.0.252"] };

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeName {
    /// The first.
    Node1,
    /// The second.
    Node2,
}

/// Both nodes.
pub const NODES: [NodeName; 2] = [NodeName::Node1, NodeName::Node2];

/// The addresses of a node.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) name: NodeName,
    /// Its own.
    pub(super) node: &'static str,
    /// Its pods'.
    pub(super) pods: &'static str,
}

pub(super) const ADDRESSES: [Addresses; 2] = [
    Addresses { name: NodeName::Node1, node: "172.18.0.2", pods: "10.244.1.0/24" },
    Addresses { name: NodeName::Node2, node: "172.18.0.3", pods: "10.244.2.0/24" },
];

impl AdditionalNetwork {
    pub(super) fn range(self) -> &'static Range {
        match self {
            Self::Core => &CORE,
            Self::Access => &ACCESS,
        }
    }

    /// Its name: of the bridges, and of the NetworkAttachmentDefinitions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Access => "access",
        }
    }
}

impl NodeName {
    pub(super) fn addresses(self) -> &'static Addresses {
        match self {
            Self::Node1 => &ADDRESSES[0],
            Self::Node2 => &ADDRESSES[1],
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(self) -> &'static str {
        self.addresses().node
    }

    /// A port of its.
    ///
    /// # Panics
    /// Never: its address is one.
    #[must_use]
    pub fn at(self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address().parse().expect("an address is written as one"), port)
    }

    /// Its address on an additional network.
    #[must_use]
    pub fn address_on(self, network: AdditionalNetwork) -> &'static str {
        let [first, second] = network.range().nodes;
        match self {
            Self::Node1 => first,
            Self::Node2 => second,
        }
    }

    /// The name of its Node object.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node1 => "node1",
            Self::Node2 => "node2",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Node1 => Self::Node2,
            Self::Node2 => Self::Node1,
        }
    }
}

impl Display for NodeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Display for AdditionalNetwork {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
