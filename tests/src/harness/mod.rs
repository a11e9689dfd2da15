//! A real Kubernetes control plane for tests, and what a scenario needs around it.

pub mod access;
pub mod audit;
pub mod cargo;
pub mod certificates;
mod components;
pub mod control_plane;
mod etcd;
mod eventually;
pub mod http;
pub mod keeper;
pub mod manifests;
pub mod namespace;
pub mod network;
pub mod new_pod;
pub mod outcome;
mod own_network;
pub mod pod;
mod ports;
pub mod preflight;
pub mod programs;
pub mod run;
pub mod running;
pub mod service;
pub(crate) mod start;
mod surroundings;

pub use audit::Event;
pub use control_plane::{Component, ControlPlane, Options, StartError};
pub use eventually::eventually;
pub use keeper::protocol::Signal;
pub use namespace::Namespace;
pub use new_pod::NewPod;
pub use outcome::Outcome;
pub use pod::{Phase, Pod};
pub use run::Run;
pub use running::Running;
pub use service::{NewService, Service};
