//! permissions/least-privilege and permissions/hardened on a real control plane: each feature works under exactly its rules,
//! and what a stolen token is tried for is refused.

#![cfg(test)]

mod creator;
mod documents;
mod support;
mod watcher;
