//! Two real nodes: kubelet, containerd and kube-proxy each in a network of its own, on a machine of the tests' own.

mod addresses;
mod cluster;
mod dial;
mod dns;
pub mod every_node;
mod image;
mod machine;
pub mod networks;
mod node;
mod permissions;
pub mod pods;
pub mod preflight;

use addresses::ADDRESSES;
pub use addresses::{ADDITIONAL_NETWORKS, AdditionalNetwork, CLIENT, CONTROL_PLANE, NODES, NodeName};
pub use cluster::{Cluster, Guard, Kind, Part};
pub use dial::{Answer, Protocol, get};
pub use image::Image;
pub use machine::Network;
pub use node::Program;
