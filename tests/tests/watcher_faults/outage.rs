//! The apiserver, or its store, is away.

use std::time::{Duration, Instant};

use cluster_tests::{
    harness::{Component, ControlPlane, Options, Running, Signal, eventually},
    proxy::NewConnections,
};

use crate::{
    DEADLINE, RECOVERED,
    fleet::Fleet,
    log::{few_lines, others, watching},
    wire::{Ask, through},
};

/// How long the API is away: longer than it takes to reach long pauses between two tries.
const AWAY: Duration = Duration::from_secs(12);

/// Waits until a process stands still.
async fn stopped(pid: u32) {
    eventually(DEADLINE, "it stands still", async || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
        if status.contains("State:\tT") { Ok(()) } else { Err(status) }
    })
    .await;
}

async fn notices(watcher: &Running) {
    eventually(DEADLINE, "it notices", async || {
        let log = watcher.stderr();
        if log.contains("trying again") || log.contains("does not answer") { Ok(()) } else { Err(log) }
    })
    .await;
}

#[tokio::test]
async fn an_api_that_comes_back_finds_the_watcher_at_work() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    // An apiserver that is dead logs nothing: the proxy counts what is asked meanwhile.
    let proxy = control_plane.proxy();
    let watcher = through(&proxy, &namespace).await.spawn();
    watching(&watcher).await;

    // The apiserver is killed, and is back in seconds, …
    let fleet = Fleet::launch(&namespace, "killed", 50).await;
    control_plane.stop(Component::ApiServer, Signal::Kill).await;
    control_plane.resume(Component::ApiServer).await;
    fleet.delete_pods().await;
    println!("apiserver killed: gone after {:?}", fleet.collected(RECOVERED).await);

    // … or stays away until nobody asks often any more.
    let fleet = Fleet::launch(&namespace, "away", 50).await;
    control_plane.stop(Component::ApiServer, Signal::Kill).await;
    notices(&watcher).await;
    tokio::time::sleep(AWAY).await;
    control_plane.resume(Component::ApiServer).await;
    fleet.delete_pods().await;
    println!("apiserver away for {AWAY:?}: gone after {:?}", fleet.collected(RECOVERED).await);

    // etcd dies, and is back.
    let fleet = Fleet::launch(&namespace, "etcd", 50).await;
    control_plane.stop(Component::Etcd, Signal::Kill).await;
    control_plane.resume(Component::Etcd).await;
    fleet.delete_pods().await;
    println!("etcd killed: gone after {:?}", fleet.collected(RECOVERED).await);

    // etcd stands still: the apiserver answers nothing that it would have to ask.
    let fleet = Fleet::launch(&namespace, "still", 50).await;
    let etcd = control_plane.process(Component::Etcd).unwrap();
    etcd.signal(Signal::Stop);
    stopped(etcd.pid()).await;
    tokio::time::sleep(AWAY).await;
    etcd.signal(Signal::Continue);
    fleet.delete_pods().await;
    println!("etcd stopped for {AWAY:?}: gone after {:?}", fleet.collected(RECOVERED).await);

    let looking = proxy.requests().into_iter().filter(|request| Ask::is_any(&Ask::LOOKING, &request.seen)).count();
    println!("{looking} lists and watches over all outages, {} lines", others(&watcher).len());
    assert!(looking <= 150, "{:#?}", proxy.requests());
    few_lines(&watcher, 40);
    staying.assert_untouched().await;
    watcher.terminate().await.expect_code(0);
    control_plane.close().await;
}

/// The watcher may be faster than the API, a sidecar's proxy or the network.
#[tokio::test]
async fn an_api_that_comes_up_late_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let late = async |mode: NewConnections| {
        let namespace = control_plane.namespace().await;
        let fleet = Fleet::launch(&namespace, "app", 20).await;
        fleet.delete_pods().await;
        let proxy = control_plane.proxy();
        proxy.set_new_connections(mode).unwrap();
        let watcher = through(&proxy, &namespace).await.listening().spawn();
        notices(&watcher).await;
        assert_eq!(watcher.get("/livez").await.status, 200);
        assert_eq!(watcher.get("/readyz").await.status, 503);

        proxy.set_new_connections(NewConnections::Serve).unwrap();
        let served = Instant::now();
        fleet.collected(RECOVERED).await;
        println!("{mode:?} at the start: gone {:?} after it is over", served.elapsed());
        few_lines(&watcher, 10);
        watcher.terminate().await.expect_code(0);
    };
    tokio::join!(late(NewConnections::Refuse), late(NewConnections::CutHandshake), late(NewConnections::BlackHole),);
}
