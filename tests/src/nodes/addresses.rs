//! Who has which address. These networks exist only inside the tests' own machine.

use std::fmt::{self, Display, Formatter};

/// Where the control plane is reached from nodes and pods. It is on the bridge that links all networks.
pub const CONTROL_PLANE: &str = "172.18.0.1";

/// A client that is on neither node.
pub const CLIENT: &str = "172.18.0.9";

/// The addresses of all pods.
pub(super) const PODS: &str = "10.244.0.0/16";

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
