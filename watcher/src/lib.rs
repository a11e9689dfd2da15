//! The watcher: removes the Services whose pods are gone, and no other. It also hosts the controller of NetServices, where that
//! is asked for.

pub mod choices;
pub mod cleanup;
pub mod controller;
pub mod error;
pub mod events;
pub mod examine;
pub mod examiner;
pub mod health;
pub mod index;
pub mod metrics;
pub mod net_service_metrics;
pub mod object;
pub mod once;
pub mod orphan;
pub mod pace;
pub mod report;
pub mod run;
pub mod scan;
pub mod selector;
pub mod serve;
pub mod settings;
pub mod suspects;
pub mod told;
pub mod uid;
pub mod watched;
