//! Two real nodes: kubelet, containerd and kube-proxy each in a network of its own, on a machine of the tests' own.

mod addresses;
mod cluster;
mod dial;
mod image;
mod machine;
mod node;
pub mod pods;
pub mod preflight;

use addresses::ADDRESSES;
pub use addresses::{CLIENT, CONTROL_PLANE, NODES, NodeName};
pub use cluster::{Cluster, Guard};
pub use dial::{Answer, get};
pub use image::Image;
pub use machine::Network;
pub use node::Program;
