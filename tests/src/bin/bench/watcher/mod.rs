//! The watcher: how soon it acts, and what it takes.

pub(crate) mod latency;
pub(crate) mod scale;
