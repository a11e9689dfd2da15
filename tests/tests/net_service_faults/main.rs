//! The controller of NetServices while the API, the network, its permissions or its own life go wrong: on a real control
//! plane, under the shipped Role.

#![cfg(test)]

mod by_hand;
mod expired;
mod fights;
mod leaders;
mod log;
mod lost;
mod outage;
mod refused;
mod revoked;
mod scene;
mod storm;
mod throttled;
mod wire;

use std::time::Duration;

/// Long enough for any step here on a busy machine; only a failing test waits that long.
const DEADLINE: Duration = Duration::from_secs(60);

/// How soon the controller goes on once what stopped it is over: its longest pause between two tries is 30 s, and a busy
/// machine takes its time.
const RECOVERED: Duration = Duration::from_secs(45);
