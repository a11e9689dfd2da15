//! The creator while the API, the network or its own life goes wrong, and in great numbers: on a real control plane,
//! under the documented Role.

#![cfg(test)]

mod check;
mod fixed_port;
mod full_range;
mod killed;
mod lost;
mod many_pods;
mod namespace_ends;
mod outage;
mod policy;
mod quota;
mod recreated;
mod refused;
mod silence;
mod steps;
mod stranded_token;
mod terminated;
mod throttled;
mod twins;
mod unreachable;
mod wire;

use std::time::Duration;

/// Long enough for any step here on a busy machine; only a failing test waits that long.
const DEADLINE: Duration = Duration::from_secs(60);
