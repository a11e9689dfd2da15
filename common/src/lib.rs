//! What the creator and the watcher share.
//!
//! [`ownership`] alone decides whose a Service is; everything else here serves that, or serves reading settings
//! and speaking to the Kubernetes API.

pub mod api;
pub mod exit;
pub mod key;
pub mod labels;
pub mod logging;
pub mod names;
pub mod ownership;
pub mod settings;
