//! NetService: Services whose endpoints are pods' addresses on additional networks.
//!
//! [`network`] reads what pods say about their networks, [`endpoints`], [`verdict`], [`slices`] and [`status`] decide what should
//! be, [`plan`] what is to be done: pure. [`apply`] does it. [`index`] holds what the watches report, [`controller`] runs it all
//! while [`lease`] says so.

pub mod apply;
pub mod controller;
#[cfg(feature = "schema")]
pub mod crd;
mod election;
pub mod endpoints;
pub mod index;
pub mod lease;
pub mod names;
pub mod net_service;
pub mod network;
pub mod object;
pub mod plan;
pub mod pod;
pub mod problem;
pub mod pulse;
pub mod refusal;
pub mod resource;
pub mod run;
pub mod selector;
pub mod service;
pub mod slices;
pub mod status;
pub mod store;
pub mod telling;
pub mod verdict;
pub mod watched;
pub mod work;
