//! A node port that the template fixes.

use std::time::Duration;

use cluster_tests::harness::{ControlPlane, Pod, Run, eventually};

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, ports, services},
};

/// In the lower part of the range, which Kubernetes leaves to those who ask for a port.
const ARTERY: i32 = 30_011;
const MANAGEMENT: i32 = 30_012;

/// The creator with a template that fixes both ports.
async fn fixed(pod: &Pod<'_>, artery: i32, management: i32) -> Run {
    let template = format!(
        r"apiVersion: v1
kind: Service
metadata:
  name: {{{{.PodName}}}}
spec:
  type: NodePort
  publishNotReadyAddresses: true
  selector:
    ipfPodName: {{{{.PodName}}}}
  ports:
    - {{name: akka-management, port: 8558, nodePort: {management}}}
    - {{name: akka-artery, port: 55001, nodePort: {artery}}}
"
    );
    let run = Run::creator(pod).await;
    let path = run.file("template.yaml", template);
    run.args(["--template", path.as_str()])
}

#[tokio::test]
async fn a_fixed_port_serves_one_pod_and_its_successor() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let first = namespace.pod("app-0").create().await;
    let outcome = fixed(&first, ARTERY, MANAGEMENT).await.args(["--owner-reference", "none"]).run().await;
    outcome.expect_code(0);

    // A second replica asks for the same.
    let second = namespace.pod("app-1").create().await;
    let outcome = fixed(&second, ARTERY, MANAGEMENT).await.args(["--timeout", "3s"]).run().await;
    failed(&outcome, 6, &["Service", "/app-1", "another Service has one that the template asks for"]);
    // Kubernetes names the first of them.
    failed(&outcome, 6, &["spec.ports[0].nodePort: Invalid value: 30012: provided port is already allocated"]);
    in_time(&outcome, Duration::from_secs(3));
    assert!(services(&second).await.is_empty());

    // The next pod of the first's name finds its Service, which holds the ports: Kubernetes speaks of these, and not of
    // the name.
    first.delete().await;
    let successor = namespace.pod("app-0").create().await;
    let outcome = fixed(&successor, ARTERY, MANAGEMENT).await.run().await;
    let service = converged(&successor, &outcome).await;
    assert_eq!(ports(&service), (ARTERY, MANAGEMENT));
    assert!(outcome.elapsed() < Duration::from_secs(3), "{:?}", outcome.elapsed());

    // The same with the garbage collector at work.
    successor.delete().await;
    let successor = namespace.pod("app-0").create().await;
    let outcome = fixed(&successor, ARTERY, MANAGEMENT).await.run().await;
    assert_eq!(ports(&converged(&successor, &outcome).await), (ARTERY, MANAGEMENT));
}

#[tokio::test]
async fn a_port_that_is_freed_while_the_creator_waits_is_taken() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let (artery, management) = (30_013, 30_014);
    let holder = namespace.pod("app-0").create().await;
    converged(&holder, &fixed(&holder, artery, management).await.run().await).await;

    let pod = namespace.pod("app-1").create().await;
    let waiting = fixed(&pod, artery, management).await.spawn();
    eventually(DEADLINE, "it waits", async || {
        let log = waiting.stderr();
        if log.contains("no node port is to be had") { Ok(()) } else { Err(log) }
    })
    .await;
    holder.delete().await;

    assert_eq!(ports(&converged(&pod, &waiting.wait().await).await), (artery, management));
}

#[tokio::test]
async fn a_port_outside_the_range_is_the_templates_fault() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = fixed(&pod, 80, 30_016).await.run().await;
    failed(&outcome, 3, &["template.yaml", "line 12", "nodePort", "valid ports is 30000-32767"]);
    assert!(services(&pod).await.is_empty());
}
