//! The custom resource definitions of NetService, as the API server judges them, and by them.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

mod accepted;
mod files;
mod refused;
mod support;
