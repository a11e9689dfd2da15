//! The watcher: removes the Services whose pods are gone, and no other.

pub mod choices;
pub mod events;
pub mod health;
pub mod metrics;
pub mod orphan;
pub mod run;
pub mod selector;
pub mod serve;
pub mod settings;
