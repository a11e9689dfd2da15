//! The manifests that users apply, as the API server judges them, and what the programs do when run as they say.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

mod apply;
mod chart;
mod chart_values;
mod creator;
mod examples;
mod helm;
mod kustomize;
mod workload;
