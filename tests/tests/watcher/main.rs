//! The watcher on a real control plane, under the documented Role.

#![cfg(test)]

mod all_namespaces;
mod bare;
mod between;
mod by_hand;
mod dry_run;
mod events;
mod finalizers;
mod finished;
mod gone;
mod health;
mod left_alone;
mod metrics;
mod once;
mod original_tool;
mod permissions;
mod recreated;
mod requests;
mod settings;
mod support;
