//! The keeper: a process of its own that owns every process a test starts.
//!
//! It is told what to start through its standard input. When that ends, for whatever reason (the test is done, has
//! panicked, was killed), it ends what it started, by process id, and removes its folder. So nothing outlives a test.
//! The kernel's parent-death signal would not do: it follows the thread that spawned, not the process.

mod client;
pub mod protocol;
pub mod server;

pub use client::{Exit, Keeper, KeeperError, Process};
