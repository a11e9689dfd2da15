//! permissions/least-privilege and permissions/hardened on a real control plane: each feature works under exactly its rules,
//! and what a stolen token is tried for is refused. Where a test does not say otherwise, the policies are in effect.

#![cfg(test)]

mod clauses;
mod creator;
mod documents;
mod example;
mod hardened;
mod net_service;
mod policies;
mod refused;
mod scene;
mod support;
mod theft;
mod thefts;
mod watcher;
