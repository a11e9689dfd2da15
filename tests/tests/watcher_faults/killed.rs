//! A watcher that is killed in the middle of its work, and what the next one makes of it.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Run, Signal},
    proxy::{Action, Verdict, gate},
};

use crate::{
    DEADLINE,
    fleet::Fleet,
    log::watching,
    wire::{Ask, through},
};

/// More than one page of each list, and more than is done at a time.
const SERVICES: usize = 1000;

/// What so many may take: the scan's suspects beyond the first 200 are spread over 16 s.
const COLLECTED: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_watcher_killed_in_the_middle_of_a_thousand_is_completed_by_the_next() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 20).await;
    let fleet = Fleet::launch(&namespace, "app", SERVICES).await;
    fleet.delete_pods().await;

    // In the middle of a scan: some pages of the Services are read, one is on its way. Nothing is deleted yet, …
    let proxy = control_plane.proxy();
    let (gate_of_pages, pages) = gate(Verdict::Cut);
    // The watch lists the Services as well, also in pages.
    let mut continued = 0;
    proxy.set_rule(move |seen| {
        continued += usize::from(Ask::ListServices.is(seen) && seen.path_and_query.contains("continue="));
        match continued > SERVICES / 250 + 1 {
            true => Action::HoldBefore(gate_of_pages.clone()),
            false => Action::Pass,
        }
    });
    let watcher = through(&proxy, &namespace).await.spawn();
    let held = pages.next(DEADLINE).unwrap();
    watcher.logged("watching", |_| true).await;
    watcher.signal(Signal::Kill);
    watcher.wait().await;
    drop((held, pages));
    assert_eq!(Ask::DeleteService.count(&proxy), 0, "{:#?}", proxy.requests());
    assert_eq!(fleet.left().await.len(), SERVICES);

    // … in the middle of the deletions, …
    let proxy = control_plane.proxy();
    let (gate_of_deletions, deletions) = gate(Verdict::Cut);
    let mut begun = 0;
    proxy.set_rule(move |seen| {
        begun += usize::from(Ask::DeleteService.is(seen));
        match begun > SERVICES / 2 && Ask::DeleteService.is(seen) {
            true => Action::HoldBefore(gate_of_deletions.clone()),
            false => Action::Pass,
        }
    });
    let watcher = through(&proxy, &namespace).await.spawn();
    let held = deletions.next(DEADLINE).unwrap();
    watcher.signal(Signal::Kill);
    watcher.wait().await;
    drop(deletions);
    let left = fleet.left().await.len();
    assert!((SERVICES / 2..=SERVICES / 2 + 50).contains(&left), "{left} are left");

    // … of which one is carried out only when the next watcher is at work.
    let next = Run::watcher(&namespace).await.spawn();
    watching(&next).await;
    held.release(Verdict::Pass);
    println!("the other half of {SERVICES}: gone after {:?}", fleet.collected(COLLECTED).await);
    fleet.assert_deleted_once_each().await;
    staying.assert_untouched().await;
    next.terminate().await.expect_code(0);
}
