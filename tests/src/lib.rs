//! Harness: a real Kubernetes control plane for tests.

pub mod proxy;
