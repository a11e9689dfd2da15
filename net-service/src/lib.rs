//! NetService: Services whose endpoints are pods' addresses on additional networks.

pub mod resource;
