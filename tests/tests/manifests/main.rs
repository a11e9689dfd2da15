//! The manifests that users apply, as the API server judges them, and what the programs do when run as they say.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

mod apply;
mod creator;
mod examples;
mod workload;
