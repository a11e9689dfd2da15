//! Never wrong: random sequences of what happens to pods, Services, watchers and connections, on a real control plane, under
//! the documented Role.
//!
//! At no moment may a watcher delete the Service of a pod that lives, or one that is nobody's; and when it has become quiet,
//! each live pod that ran the creator has exactly one Service, unless a hand took it, and no Service outlives its pod.
//! What the watchers deleted is read from the apiserver's audit log, each Service as it was at that revision; whether its pod
//! lived then is known from the revisions at which this test created and deleted it.
//!
//! `WATCHER_SECONDS=600` runs longer, `WATCHER_SEED=<number>` repeats one sequence: the same operations, at other moments.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

mod judge;
mod lanes;
mod operation;
mod pods;
mod sequence;
mod services;
mod settled;
mod watchers;

use std::{
    env,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use cluster_tests::harness::ControlPlane;

/// The variable that names one sequence.
const SEED: &str = "WATCHER_SEED";

/// How long sequences run, all in all.
const SECONDS: u64 = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_live_pod_ever_loses_its_service_and_none_outlives_its_pod() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text}")));
    if let Some(seed) = number(SEED) {
        sequence::run(control_plane, seed).await;
        return;
    }
    let time = Duration::from_secs(number("WATCHER_SECONDS").unwrap_or(SECONDS));
    // Few digits, to be typed again.
    let seed = RandomState::new().hash_one(()) % 1_000_000 * 1_000;
    lanes::run(control_plane, seed, time).await;
}
