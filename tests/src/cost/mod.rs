//! What the watcher costs, and how soon it acts: measured by `make bench`, and held to loose bounds by a test.

pub mod attached;
pub mod latency;
pub mod load;
mod observer;
mod population;
pub mod quantiles;
pub mod scale;
mod usage;
