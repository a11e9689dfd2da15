//! Who leads dies, stands still, or loses its Lease in the middle of its work; for a moment two believe that they lead.

use std::time::Duration;

use cluster_tests::{
    harness::{Namespace, Running, Signal, eventually},
    net_service::{PATIENCE, controller},
    proxy::{Action, Proxy, Verdict, gate, times},
};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use net_service::names::MANAGER;
use serde_json::json;

use crate::{
    DEADLINE, RECOVERED,
    log::few_complaints,
    scene::{Scene, namespace, watching},
    wire::{Ask, through},
};

/// How soon another one leads where the leader says nothing.
const TAKEN_OVER: Duration = Duration::from_secs(20);

/// How soon where it gives its Lease back.
const HANDED_OVER: Duration = Duration::from_secs(5);

/// One that stands by, and has seen that another one leads.
async fn standby(namespace: &Namespace<'_>) -> (Proxy, Running) {
    let proxy = namespace.control_plane().proxy();
    let running = through(&proxy, namespace).await.listening().spawn();
    let has_looked = |proxy: &Proxy| {
        proxy.requests().iter().any(|asked| Ask::ReadLease.is(&asked.seen) && asked.status.is_some_and(|it| it == 200))
    };
    eventually(
        DEADLINE,
        "it has looked at the Lease",
        async || {
            if has_looked(&proxy) { Ok(()) } else { Err(running.stderr()) }
        },
    )
    .await;
    assert!(running.log_of("leading").is_empty(), "{}", running.stderr());
    (proxy, running)
}

async fn leads(running: &Running) -> bool {
    running.get("/metrics").await.body.lines().any(|line| line.ends_with("net_service_leader 1"))
}

async fn killed(namespace: &Namespace<'_>) {
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 8).await;
    let (gate_of_slices, slices) = gate(Verdict::Pass);
    let mut skip = 4;
    proxy.set_rule(move |seen| {
        skip -= usize::from(skip > 0 && Ask::CreateSlice.is(seen));
        match skip {
            0 if Ask::CreateSlice.is(seen) => Action::HoldBefore(gate_of_slices.clone()),
            _ => Action::Pass,
        }
    });
    let leader = through(&proxy, namespace).await.spawn();
    let held = slices.next(DEADLINE).unwrap();
    let (_proxy, other) = standby(namespace).await;

    leader.signal(Signal::Kill);
    leader.wait().await;
    println!("leader killed: right after {:?}", scene.right(TAKEN_OVER).await);
    // What was under way arrives now.
    held.release(Verdict::Pass);
    drop(slices);
    scene.shift().await;
    scene.right(PATIENCE).await;
    few_complaints(&other, 2);
    other.terminate().await.expect_code(0);
}

async fn terminated(namespace: &Namespace<'_>) {
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 4).await;
    let leader = through(&proxy, namespace).await.spawn();
    scene.right(RECOVERED).await;
    let (_proxy, other) = standby(namespace).await;
    let (gate_of_slices, slices) = gate(Verdict::Pass);
    proxy.set_rule(times(|seen| Ask::PatchSlice.is(seen), 1, move || Action::HoldBefore(gate_of_slices.clone())));
    scene.shift().await;
    let held = slices.next(DEADLINE).unwrap();
    leader.terminate().await.expect_code(0);
    println!("leader terminated: right after {:?}", scene.right(HANDED_OVER).await);
    held.release(Verdict::Pass);
    scene.shift().await;
    scene.right(PATIENCE).await;
    few_complaints(&other, 0);
    other.terminate().await.expect_code(0);
}

/// It stands still in the middle of a change for longer than its Lease holds, and goes on as if nothing had been.
async fn stopped(namespace: &Namespace<'_>) {
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 8).await;
    let leader = through(&proxy, namespace).await.listening().spawn();
    watching(&leader).await;
    scene.right(RECOVERED).await;
    let services = scene.services().await;
    let (_proxy, other) = standby(namespace).await;

    let (gate_of_slices, slices) = gate(Verdict::Pass);
    proxy.set_rule(times(|seen| Ask::PatchSlice.is(seen), 1, move || Action::HoldBefore(gate_of_slices.clone())));
    scene.shift().await;
    let held = slices.next(DEADLINE).unwrap();
    leader.signal(Signal::Stop);
    println!("leader stopped: right after {:?}", scene.right(TAKEN_OVER).await);
    scene.add(2).await;
    scene.right(PATIENCE).await;
    leader.signal(Signal::Continue);
    held.release(Verdict::Pass);
    scene.shift().await;
    scene.right(PATIENCE).await;
    leader.logged("the Lease is lost; another one may lead now", |_| true).await;
    eventually(DEADLINE, "one of them leads", async || match (leads(&leader).await, leads(&other).await) {
        (false, true) => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;
    scene.shift().await;
    scene.right(PATIENCE).await;
    assert_eq!(scene.services().await, services);
    few_complaints(&leader, 5);
    few_complaints(&other, 2);
    for running in [leader, other] {
        running.terminate().await.expect_code(0);
    }
}

/// Its connections say nothing any more: it stops by itself before another one begins.
async fn stalled(namespace: &Namespace<'_>) {
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 4).await;
    let leader = through(&proxy, namespace).await.listening().spawn();
    watching(&leader).await;
    scene.right(RECOVERED).await;
    let (_proxy, other) = standby(namespace).await;
    proxy.freeze_connections();
    proxy.set_rule(|_| Action::StallBefore);
    scene.shift().await;
    leader.logged("the Lease is lost; another one may lead now", |_| true).await;
    assert!(!leads(&other).await, "two lead");
    println!("leader stalled: right after {:?}", scene.right(TAKEN_OVER).await);
    proxy.set_rule(|_| Action::Pass);
    proxy.thaw_connections();
    scene.shift().await;
    scene.right(PATIENCE).await;
    for running in [leader, other] {
        running.terminate().await.expect_code(0);
    }
}

/// Somebody deletes the Lease, or writes into it: two may lead for a moment.
async fn edited(namespace: &Namespace<'_>) {
    let mut scene = Scene::set(namespace, 4).await;
    let both = [controller(namespace).await.listening().spawn(), controller(namespace).await.listening().spawn()];
    scene.right(RECOVERED).await;
    let services = scene.services().await;
    let leases: Api<Lease> = namespace.api();
    let one_leads = async || {
        eventually(DEADLINE, "one of them leads", async || match [leads(&both[0]).await, leads(&both[1]).await] {
            [true, false] | [false, true] => Ok(()),
            seen => Err(format!("{seen:?}")),
        })
        .await;
    };

    leases.delete(MANAGER, &DeleteParams::default()).await.unwrap();
    for _ in 0..8 {
        scene.shift().await;
        scene.right(PATIENCE).await;
    }
    one_leads().await;

    for spec in [json!({"holderIdentity": "somebody"}), json!({"holderIdentity": null}), json!(null)] {
        let patch = Patch::Merge(json!({"spec": spec}));
        leases.patch(MANAGER, &PatchParams::default(), &patch).await.unwrap();
        scene.shift().await;
        println!("Lease edited to {spec}: right after {:?}", scene.right(RECOVERED).await);
        eventually(DEADLINE, "it is theirs again", async || {
            let holder = leases.get(MANAGER).await.unwrap().spec.and_then(|spec| spec.holder_identity);
            match holder.as_deref() {
                None | Some("" | "somebody") => Err(format!("{holder:?}")),
                Some(_) => Ok(()),
            }
        })
        .await;
        one_leads().await;
    }
    scene.shift().await;
    scene.right(PATIENCE).await;
    assert_eq!(scene.services().await, services);
    for running in both {
        few_complaints(&running, 10);
        running.terminate().await.expect_code(0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn behaviour_10_whatever_becomes_of_the_leader_another_one_completes_its_work() {
    let mut namespaces = Vec::new();
    for _ in 0..5 {
        let Some(namespace) = namespace().await else { return };
        namespaces.push(namespace);
    }
    tokio::join!(
        killed(&namespaces[0]),
        terminated(&namespaces[1]),
        stopped(&namespaces[2]),
        stalled(&namespaces[3]),
        edited(&namespaces[4]),
    );
}

/// It does not know of which version the Lease is.
#[tokio::test]
async fn behaviour_10_a_leader_that_is_terminated_while_it_renews_hands_over_at_once_too() {
    let Some(namespace) = namespace().await else { return };
    let namespace = &namespace;
    let proxy = namespace.control_plane().proxy();
    let mut scene = Scene::set(namespace, 1).await;
    let leader = through(&proxy, namespace).await.spawn();
    scene.right(RECOVERED).await;
    let (_proxy, other) = standby(namespace).await;
    let (gate_of_leases, leases) = gate(Verdict::Pass);
    proxy.set_rule(times(|seen| Ask::RenewLease.is(seen), 1, move || Action::HoldAfter(gate_of_leases.clone())));
    let held = leases.next(DEADLINE).unwrap();
    leader.terminate().await.expect_code(0);
    scene.shift().await;
    println!("leader terminated while it renews: right after {:?}", scene.right(HANDED_OVER).await);
    held.release(Verdict::Pass);
    other.terminate().await.expect_code(0);
}
