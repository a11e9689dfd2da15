//! Every node port of the cluster is in use.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Options, Run, eventually},
    proxy::Action,
};

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, only_service, ports, services},
    wire::{Ask, through},
};

/// Room for two pods of two ports each.
const RANGE: std::ops::RangeInclusive<u16> = 31000..=31003;

#[tokio::test]
async fn a_full_range_is_waited_for_and_never_shared() {
    let options = Options { service_node_port_range: Some(RANGE), ..Options::default() };
    let Some(control_plane) = ControlPlane::start(options).await else { return };
    let namespace = control_plane.namespace().await;
    let first = namespace.pod("app-0").create().await;
    let first_run = Run::creator(&first).await.run().await;
    converged(&first, &first_run).await;
    let second = namespace.pod("app-1").create().await;
    converged(&second, &Run::creator(&second).await.run().await).await;

    // There is no port: the run says so, at its timeout.
    let third = namespace.pod("app-2").create().await;
    let watched = control_plane.proxy();
    let outcome = through(&watched, &third).await.args(["--timeout", "4s"]).run().await;
    let service = format!("Service {}/app-2", namespace.name());
    failed(&outcome, 6, &[&service, "no node port is to be had", "range is full", "--service-node-port-range"]);
    in_time(&outcome, Duration::from_secs(4));
    assert!(services(&third).await.is_empty());
    assert!(Ask::CreateService.count(&watched) <= 20, "{:#?}", watched.requests());

    // The last try falls so close to the timeout that it is not answered any more. That is not why there is no port.
    watched.set_rule(|_| Action::Delay(Duration::from_millis(400)));
    let outcome = through(&watched, &third).await.args(["--timeout", "4s"]).run().await;
    failed(&outcome, 6, &[&service, "no node port is to be had", "range is full"]);
    in_time(&outcome, Duration::from_secs(4));

    // Kubernetes looks for ports before it looks at the name: the pod's own Service hides behind the full range.
    let again = Run::creator(&first).await.run().await;
    converged(&first, &again).await;
    assert_eq!(again.output(), first_run.output());
    assert!(again.elapsed() < Duration::from_secs(3), "{:?}", again.elapsed());

    // Another pod ends: its ports are the waiting one's.
    let freed = ports(&only_service(&second).await);
    let waiting = Run::creator(&third).await.spawn();
    eventually(DEADLINE, "it waits", async || {
        let log = waiting.stderr();
        if log.contains("no node port is to be had") { Ok(()) } else { Err(log) }
    })
    .await;
    second.delete().await;
    let outcome = waiting.wait().await;
    let (artery, management) = ports(&converged(&third, &outcome).await);
    assert!([(artery, management), (management, artery)].contains(&freed), "{freed:?}");
    control_plane.close().await;
}
