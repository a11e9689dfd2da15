//! The API turns requests away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cluster_tests::proxy::{Action, Answer};

use crate::{
    DEADLINE, RECOVERED,
    log::few_complaints,
    scene::{Scene, namespace, watching},
    wire::{Ask, through},
};

/// For how long, but for the Lease: a leader that cannot renew it has other worries.
const WHILE: Duration = Duration::from_secs(8);

#[tokio::test]
async fn who_is_turned_away_goes_on_when_it_is_served_and_does_not_press() {
    let Some(namespace) = namespace().await else { return };
    let proxy = namespace.control_plane().proxy();
    let is_busy = Arc::new(AtomicBool::new(true));
    let turned_away = Arc::clone(&is_busy);
    proxy.set_rule(move |seen| match turned_away.load(Ordering::Relaxed) {
        true if !seen.path_and_query.contains("/leases") => Action::Answer(Answer::too_many_requests(1)),
        _ => Action::Pass,
    });
    let mut scene = Scene::set(&namespace, 4).await;

    // It starts while it is turned away, …
    let watcher = through(&proxy, &namespace).await.spawn();
    crate::log::complains(&watcher, "429").await;
    is_busy.store(false, Ordering::Relaxed);
    println!("429 at the start: right after {:?}", scene.right(RECOVERED).await);
    watching(&watcher).await;

    // … and is turned away while it works: its watches go on, and what they report cannot be acted upon.
    is_busy.store(true, Ordering::Relaxed);
    let before = proxy.requests().len();
    scene.shift().await;
    proxy
        .wait_until(DEADLINE, |requests| requests[before..].iter().any(|asked| Ask::PatchSlice.is(&asked.seen)))
        .unwrap();
    tokio::time::sleep(WHILE).await;
    let asked = proxy.requests().len() - before;
    println!("429 for {WHILE:?}: {asked} requests");
    // Three NetServices, each at most once a second, and the Lease.
    assert!(asked <= 4 * 10, "{:#?}", &proxy.requests()[before..]);
    is_busy.store(false, Ordering::Relaxed);
    println!("429 while it runs: right after {:?}", scene.right(RECOVERED).await);
    few_complaints(&watcher, 15);
    watcher.terminate().await.expect_code(0);
}
