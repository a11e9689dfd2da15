//! Connections on which nothing comes and nothing ends.

use std::time::{Duration, Instant};

use cluster_tests::{
    harness::{ControlPlane, Namespace},
    proxy::{Action, Protocols, Tapped, tap},
};

use crate::{
    DEADLINE,
    fleet::Fleet,
    log::{few_lines, watching},
    wire::{Ask, always, through, times},
};

const PODS: usize = 20;

/// Over HTTP/1.1 no ping tells that a connection is dead. A request that gets no answer does, after 20 s, and the scan
/// sends one.
async fn http_1(control_plane: &ControlPlane, namespace: &Namespace<'_>) {
    let fleet = Fleet::launch(namespace, "http-1", PODS).await;
    let proxy = control_plane.proxy_speaking(Protocols::Http1);
    let watcher = through(&proxy, namespace).await.args(["--scan-interval", "5s"]).spawn();
    watching(&watcher).await;

    proxy.freeze_connections();
    let stalled = Instant::now();
    fleet.delete_pods().await;
    fleet.collected(DEADLINE).await;
    println!("HTTP/1.1, stalled: gone {:?} after its begin", stalled.elapsed());
    few_lines(&watcher, 10);
    assert!(fleet.deletions_in_vain().await.is_empty());
}

/// The connection lives and answers pings, and the watches on it say nothing any more: what a load balancer that has lost
/// its own connection to the API looks like.
async fn mute(control_plane: &ControlPlane, namespace: &Namespace<'_>) {
    let fleet = Fleet::launch(namespace, "mute", PODS).await;
    let proxy = control_plane.proxy();
    let (tap, taps) = tap();
    proxy.set_rule(always(&Ask::WATCHES, move || Action::Tap(tap.clone())));
    let watcher = through(&proxy, namespace).await.args(["--scan-interval", "5s"]).spawn();
    watching(&watcher).await;

    // Both are there by now, for the first scan is over.
    let watches = [taps.next(DEADLINE).unwrap(), taps.next(DEADLINE).unwrap()];
    watches.iter().for_each(Tapped::mute);
    let stalled = Instant::now();
    fleet.delete_pods().await;
    fleet.collected(DEADLINE).await;
    println!("mute watches: gone {:?} after they fell silent", stalled.elapsed());
    few_lines(&watcher, 2);
    assert!(fleet.deletions_in_vain().await.is_empty());
}

pub(crate) async fn watches_that_say_nothing_are_made_up_for_by_the_scan(control_plane: &ControlPlane) {
    let (first, second) = (control_plane.namespace().await, control_plane.namespace().await);
    tokio::join!(http_1(control_plane, &first), mute(control_plane, &second));
}

/// Without the scan's help: a watch that has said nothing for three minutes, not even a bookmark, is given up.
#[tokio::test]
#[ignore = "it takes more than three minutes"]
async fn a_watch_that_says_nothing_is_given_up_in_the_end() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let fleet = Fleet::launch(&namespace, "app", PODS).await;
    let proxy = control_plane.proxy();
    let (tap, taps) = tap();
    proxy.set_rule(times(&Ask::WATCHES, 2, move || Action::Tap(tap.clone())));
    let watcher = through(&proxy, &namespace).await.args(["--scan-interval", "1h"]).listening().spawn();
    watching(&watcher).await;
    let watches = [taps.next(DEADLINE).unwrap(), taps.next(DEADLINE).unwrap()];
    watches.iter().for_each(Tapped::mute);
    let stalled = Instant::now();
    fleet.delete_pods().await;
    fleet.collected(Duration::from_secs(240)).await;
    println!("mute watches and no scan: gone {:?} after they fell silent", stalled.elapsed());
    let metrics = watcher.get("/metrics").await.body;
    assert!(metrics.lines().any(|line| line.contains("cause=\"silent\"") && line.ends_with(" 1")), "{metrics}");
    few_lines(&watcher, 6);
}
