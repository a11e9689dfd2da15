//! Pods that are deleted while the watcher does not see it.

use std::time::{Duration, Instant};

use cluster_tests::harness::{ControlPlane, Run};

use crate::{
    RECOVERED,
    fleet::Fleet,
    log::{few_lines, field, watching},
    wire::{Ask, through},
};

const PODS: usize = 100;

/// How often connections are cut: each time the pause before the next try grows.
const CUTS: usize = 6;

/// What a hundred deletions may take once the watcher knows: it takes a fraction of a second where nothing else runs.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A dead connection shows when it does not answer a ping: 10 s until the ping, 5 s for the answer.
const NOTICED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn what_was_deleted_while_no_watcher_ran_is_cleaned_up_at_its_start() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let fleet = Fleet::launch(&namespace, "app", PODS).await;
    fleet.delete_pods().await;

    let watcher = Run::watcher(&namespace).await;
    let started = Instant::now();
    let watcher = watcher.spawn();
    fleet.collected(AT_ONCE).await;
    println!("{PODS} missed deletions: gone {:?} after the watcher's start", started.elapsed());

    let deleted = watcher.logged_times(PODS, "Service deleted").await;
    assert!(deleted.iter().all(|line| field(line, "reason") == "PodGone"), "{deleted:#?}");
    few_lines(&watcher, 2);
    staying.assert_untouched().await;
    assert!(fleet.deletions_in_vain().await.is_empty());
}

pub(crate) async fn a_connection_that_stalls_silently_delays_the_clean_up_and_no_more(control_plane: &ControlPlane) {
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let fleet = Fleet::launch(&namespace, "app", PODS).await;
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;

    proxy.freeze_connections();
    let stalled = Instant::now();
    fleet.delete_pods().await;
    fleet.collected(NOTICED).await;
    println!("{PODS} deletions during a stall: gone {:?} after its begin", stalled.elapsed());

    few_lines(&watcher, 6);
    staying.assert_untouched().await;
    assert!(fleet.deletions_in_vain().await.is_empty());
}

#[tokio::test]
async fn connections_that_are_cut_again_and_again_are_opened_again_and_nothing_is_missed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;

    let before = proxy.requests().len();
    for round in 0..CUTS {
        let fleet = Fleet::launch(&namespace, &format!("app-{round}"), 10).await;
        proxy.cut_connections();
        fleet.delete_pods().await;
        let took = fleet.collected(RECOVERED).await;
        println!("cut {round}: gone after {took:?}");
    }

    // Each cut costs two watches, perhaps a list of both, and a few tries; each Service two reads and a delete, some of them
    // twice where the cut took the answer.
    let requests = proxy.requests();
    assert!(requests.len() - before < CUTS * (20 + 10 * 8), "{:#?}", &requests[before..]);
    assert!(Ask::WatchPods.count(&proxy) <= CUTS * 6, "{requests:#?}");
    few_lines(&watcher, 2 + CUTS * 6);
    staying.assert_untouched().await;
}
