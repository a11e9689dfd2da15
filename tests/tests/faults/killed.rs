//! A creator that is killed at any step, and what the next one makes of it.

use cluster_tests::{
    harness::{ControlPlane, Run, Signal},
    proxy::{Action, Arrivals, Gate, Held, Verdict, gate},
};

use crate::{
    DEADLINE,
    check::{converged, nothing_written, only_service, services},
    steps::Found,
    wire::{Ask, nth, through},
};

/// Where the killed creator's request is, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// Lost on its way.
    Lost,
    /// On its way, and carried out before the next creator starts.
    Arriving,
    /// On its way, and carried out when the next creator has done everything.
    ArrivingLate,
    /// Carried out; the answer is on its way.
    Answered,
}

impl Where {
    const ALL: [Self; 4] = [Self::Lost, Self::Arriving, Self::ArrivingLate, Self::Answered];

    fn action(self, gate: Gate) -> Action {
        match self {
            Self::Answered => Action::HoldAfter(gate),
            Self::Lost | Self::Arriving | Self::ArrivingLate => Action::HoldBefore(gate),
        }
    }
}

async fn killed_at_every_step(found: Found) {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (number, &(ask, earlier)) in found.steps().iter().enumerate() {
        for place in Where::ALL {
            let pod = found.pod(&namespace, &format!("step-{number}-{place:?}").to_lowercase()).await;
            let proxy = control_plane.proxy();
            let (gate, arrivals): (_, Arrivals) = gate(Verdict::Cut);
            proxy.set_rule(nth(ask, earlier, place.action(gate)));

            let running = through(&proxy, &pod).await.spawn();
            let held: Held = arrivals.next(DEADLINE).unwrap();
            running.signal(Signal::Kill);
            nothing_written(&running.wait().await);

            let index = held.seen.index;
            let carry_out = |held: Held| {
                held.release(Verdict::Pass);
                proxy.wait_until(DEADLINE, |requests| requests[index].status.is_some()).unwrap();
            };
            let late = match place {
                Where::ArrivingLate => Some(held),
                Where::Arriving => {
                    carry_out(held);
                    None
                }
                Where::Lost | Where::Answered => {
                    held.release(Verdict::Cut);
                    None
                }
            };
            let again = Run::creator(&pod).await.run().await;
            let service = converged(&pod, &again).await;
            if let Some(held) = late {
                carry_out(held);
                assert_eq!(converged(&pod, &again).await.metadata.uid, service.metadata.uid, "{ask:?} came late");
            }
        }
    }
}

#[tokio::test]
async fn a_creator_killed_at_any_step_leaves_what_the_next_one_completes() {
    killed_at_every_step(Found::Nothing).await;
}

#[tokio::test]
async fn a_creator_killed_while_it_replaces_a_service_leaves_what_the_next_one_completes() {
    killed_at_every_step(Found::EarlierPods).await;
}

/// The pod goes with its creator. What the dead creator's request creates afterwards nobody would ever look for.
#[tokio::test]
async fn a_service_created_for_a_pod_that_is_gone_goes_too() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let proxy = control_plane.proxy();
    let (gate, arrivals) = gate(Verdict::Cut);
    proxy.set_rule(nth(Ask::CreateService, 0, Action::HoldBefore(gate)));
    let running = through(&proxy, &pod).await.spawn();
    let held = arrivals.next(DEADLINE).unwrap();
    running.signal(Signal::Kill);
    running.wait().await;
    pod.delete().await;

    let next = namespace.pod("app-0").create().await;
    let index = held.seen.index;
    held.release(Verdict::Pass);
    proxy.wait_until(DEADLINE, |requests| requests[index].status.is_some()).unwrap();

    let outcome = Run::creator(&next).await.run().await;
    converged(&next, &outcome).await;
    assert_eq!(services(&next).await.len(), 1);
    only_service(&next).await;
}
