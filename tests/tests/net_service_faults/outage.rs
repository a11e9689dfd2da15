//! The apiserver is away, in the middle of a change.

use cluster_tests::{
    harness::{Component, ControlPlane, Options, Signal},
    net_service::namespace_of,
    proxy::{Action, Verdict, gate, times},
};
use net_service::resource::Group;

use crate::{
    DEADLINE, RECOVERED,
    log::few_complaints,
    scene::{Scene, watching},
    wire::{Ask, through},
};

#[tokio::test]
async fn an_apiserver_that_restarts_in_the_middle_of_a_change_finds_it_completed() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    control_plane.serve_net_services(&Group::ALL).await;
    let namespace = namespace_of(&control_plane).await;
    let mut scene = Scene::set(&namespace, 8).await;
    let proxy = control_plane.proxy();
    let restart = async || {
        control_plane.stop(Component::ApiServer, Signal::Kill).await;
        control_plane.resume(Component::ApiServer).await;
    };

    // Some of the slices are there, one is on its way, …
    let (gate_of_slices, slices) = gate(Verdict::Pass);
    let mut skip = 3;
    proxy.set_rule(move |seen| {
        if !Ask::CreateSlice.is(seen) {
            return Action::Pass;
        }
        skip = usize::saturating_sub(skip, 1);
        if skip == 0 { Action::HoldBefore(gate_of_slices.clone()) } else { Action::Pass }
    });
    let watcher = through(&proxy, &namespace).await.spawn();
    let held = slices.next(DEADLINE).unwrap();
    proxy.set_rule(|_| Action::Pass);
    restart().await;
    held.release(Verdict::Pass);
    drop(slices);
    println!("restarted while slices are made: right after {:?}", scene.right(RECOVERED).await);
    watching(&watcher).await;
    let services = scene.services().await;

    // … some are changed, …
    let (gate_of_slices, slices) = gate(Verdict::Pass);
    proxy.set_rule(times(|seen| Ask::PatchSlice.is(seen), 1, move || Action::HoldAfter(gate_of_slices.clone())));
    scene.shift().await;
    let held = slices.next(DEADLINE).unwrap();
    restart().await;
    held.release(Verdict::Cut);
    println!("restarted while slices are changed: right after {:?}", scene.right(RECOVERED).await);

    // … and what changes while it is away and has forgotten all earlier versions is noticed.
    let (gate_of_watches, watches) = gate(Verdict::Pass);
    proxy.set_rule(times(|seen| Ask::Watch.is(seen), 5, move || Action::HoldBefore(gate_of_watches.clone())));
    proxy.cut_connections();
    let held: Vec<_> = (0..5).map(|_| watches.next(DEADLINE).unwrap()).collect();
    scene.shift().await;
    namespace.foreign_service("newer").headless().create().await.delete().await;
    control_plane.compact().await;
    restart().await;
    held.into_iter().for_each(|held| held.release(Verdict::Pass));
    println!("versions forgotten: right after {:?}", scene.right(RECOVERED).await);

    assert_eq!(scene.services().await, services);
    few_complaints(&watcher, 40);
    watcher.terminate().await.expect_code(0);
    control_plane.close().await;
}
