//! Harness: a real Kubernetes control plane for tests.

// A harness fails by panicking: that is how a test learns that its surroundings are broken, and the message says which.
#![allow(clippy::expect_used, clippy::panic)]

pub mod cost;
pub mod harness;
pub mod measurement;
pub mod net_service;
pub mod nodes;
pub mod proxy;
pub mod random;
