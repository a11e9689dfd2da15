//! NetService: Services whose endpoints are pods' addresses on additional networks.

pub mod endpoints;
pub mod names;
pub mod net_service;
pub mod network;
pub mod object;
pub mod plan;
pub mod pod;
pub mod resource;
pub mod service;
pub mod slices;
pub mod status;
