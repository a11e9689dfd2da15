//! NetService: Services whose endpoints are pods' addresses on additional networks.

#[cfg(feature = "schema")]
pub mod crd;
pub mod resource;
