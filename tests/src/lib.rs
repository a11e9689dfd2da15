//! Harness: a real Kubernetes control plane for tests.
