//! What the watcher costs, held to bounds that a busy machine keeps too. `make bench` has the real ones, and the figures.

#![cfg(test)]

use std::time::Duration;

use cluster_tests::{
    cost::{
        latency::Rivals,
        scale::{self, Crowd},
    },
    harness::{
        ControlPlane, Options,
        preflight::{self, Level},
    },
};

/// What is asked for 10,000 pods and as many Services.
const PEAK_RESIDENT: u64 = 20 << 20;

/// Of a core, while nothing happens.
const IDLE_SHARE: f64 = 0.01;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_goes_soon_after_its_pod_and_takes_three_requests() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let mut rivals = Rivals::start(&control_plane).await;
    let before = rivals.requests().await;
    let mut latencies = rivals.one_by_one(20).await.watcher;
    let requests = rivals.requests().await - before;
    latencies.sort();
    assert!(latencies[10] < Duration::from_secs(1), "{latencies:?}");
    // And one try to write an Event, which the documented permissions do not allow.
    assert!(requests <= 20 * 3 + 1, "{requests} requests for 20 Services");
    let bursts = rivals.bursts(1, 50).await;
    let [took, theirs] = [&bursts.watcher, &bursts.collector].map(|bursts| bursts[0].from_last);
    assert!(took < Duration::from_secs(10), "{took:?} for a burst of 50, beside {theirs:?} by the garbage collector");
    control_plane.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_pods_take_little_memory_and_others_none() {
    if !preflight::require(Level::ControlPlane) {
        return;
    }
    let control_plane = scale::control_plane().await.unwrap();
    let mut crowd = Crowd::new(&control_plane).await;
    crowd.add_couples(500).await;
    let (watcher, alone) = crowd.start().await.unwrap();
    assert!(alone.scanned < Duration::from_secs(10), "{alone:?}");
    let idle = crowd.idle(&watcher, Duration::from_secs(5)).await.unwrap();
    assert_eq!(idle.requests, 0, "while nothing happens");
    assert!(idle.cpu.as_secs_f64() <= IDLE_SHARE * idle.window.as_secs_f64(), "{idle:?}");
    let loss = crowd.lose(&watcher, 100).await.unwrap();
    assert!(loss.peak_resident <= PEAK_RESIDENT, "{loss:?}");
    watcher.terminate().await.expect_code(0);

    crowd.add_couples(100).await;
    crowd.add_others(500).await;
    let (watcher, beside_others) = crowd.start().await.unwrap();
    // A page of others is larger than all they may add.
    let added = beside_others.peak_resident.saturating_sub(alone.peak_resident);
    assert!(added < 1 << 20, "{added} bytes more: {beside_others:?} after {alone:?}");
    watcher.terminate().await.expect_code(0);
    control_plane.close().await;
}
