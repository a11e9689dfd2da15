//! `dry-run`: what would be done is shown, and nothing is.

use cluster_tests::harness::{ControlPlane, Run};
use serde_json::{Value, json};

use crate::support::{
    WithTemplate, assert_nothing_left, assert_says, documented_but, existing_service, fixed_port, original_tools,
    service,
};

fn shown(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("no YAML: {error}\n{text}"))
}

#[tokio::test]
async fn a_dry_run_prints_the_service_without_invented_ports_and_leaves_nothing() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let template = documented_but("nodePort: 0", &format!("nodePort: {}", fixed_port(21)));
    let outcome = Run::creator(&pod).await.template(&template).arg("--dry-run").run().await.expect_code(0);
    let service = shown(&outcome.stdout);
    assert_eq!(service["kind"], "Service");
    assert_eq!(service["metadata"]["name"], "app-0");
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], pod.uid());
    assert_eq!(service["spec"]["selector"], json!({"ipfPodName": "app-0"}));
    let ports = service["spec"]["ports"].as_array().unwrap();
    assert_eq!(ports[0]["nodePort"], fixed_port(21), "the template's own");
    assert_eq!(ports[1]["nodePort"], Value::Null);
    assert!(service["spec"].get("clusterIP").is_none() && service.get("status").is_none());
    assert_nothing_left(&pod, &outcome, &["service.yaml"]).await;
}

#[tokio::test]
async fn a_dry_run_says_what_would_become_of_an_existing_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let existing = original_tools(&namespace).await;
    let outcome = Run::creator(&pod).await.arg("--dry-run").run().await.expect_code(0);
    assert_says(&outcome.stdout, &["would be deleted first: the original tool made it"]);
    assert_eq!(shown(&outcome.stdout)["metadata"]["name"], "app-0");
    assert_eq!(service(&namespace, "app-0").await, existing);

    Run::creator(&pod).await.run().await.expect_code(0);
    let outcome = Run::creator(&pod).await.arg("--dry-run").run().await.expect_code(0);
    let kept = format!("# Service {}/app-0 is this pod's already, and would be kept\n", namespace.name());
    assert_eq!(outcome.stdout, kept);
}

#[tokio::test]
async fn a_dry_run_fails_as_the_run_would() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let template = documented_but("type: NodePort", "type: NodePort\n  externalTraficPolicy: Local");
    let outcome = Run::creator(&pod).await.template(&template).arg("--dry-run").run().await.expect_code(3);
    assert_says(
        &outcome.termination_message(),
        &["line 13, column", "spec.externalTraficPolicy: Kubernetes does not know"],
    );
    assert_nothing_left(&pod, &outcome, &["service.yaml"]).await;
    existing_service(&namespace, json!({"name": "app-0"}), json!({"app": "shop"})).await;
    let outcome = Run::creator(&pod).await.arg("--dry-run").run().await.expect_code(5);
    assert_says(&outcome.termination_message(), &["it was not made by this program"]);
}
