//! The watcher while the API, the network, its permissions or its own life go wrong: on a real control plane, under the
//! documented Role, with Services that Kubernetes' garbage collector leaves alone.

#![cfg(test)]

mod at_the_same_time;
mod expired;
mod fleet;
mod garbled;
mod killed;
mod log;
mod missed;
mod outage;
mod policy;
mod revoked;
mod rotated;
mod signalled;
mod silent;
mod throttled;
mod twins;
mod wire;

use std::time::Duration;

/// Long enough for any step here on a busy machine; only a failing test waits that long.
const DEADLINE: Duration = Duration::from_secs(60);

/// How soon the watcher goes on once what stopped it is over: its longest pause between two tries is 15 s, and a busy
/// machine takes its time.
const RECOVERED: Duration = Duration::from_secs(30);
