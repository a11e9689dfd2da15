//! The documented manifests, unchanged, do what they are documented to do.

use cluster_tests::harness::{
    ControlPlane, Run, manifests,
    preflight::{self, Level},
};
use k8s_openapi::api::core::v1::Service;

use crate::{
    container::run_init_container,
    support::{WithTemplate, current, documented_template, node_port, requests, service, services, uid},
};

/// The documented lines with real values.
fn seven_lines(service: &Service) -> String {
    let (artery, management) = (node_port(service, "akka-artery"), node_port(service, "akka-management"));
    format!(
        "IPF_NODEPORT = {artery}\nIPF_MANAGEMENTPORT = {management}\nIPF_NODENAME = node-1\n\
         akka.remote.artery.canonical.port = ${{IPF_NODEPORT}}\n\
         akka.remote.artery.canonical.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.port = ${{IPF_MANAGEMENTPORT}}\n"
    )
}

#[tokio::test]
async fn the_documented_config_map_and_role_give_the_pod_its_service_and_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("ipf-example-6d9c-x2x4z").create().await;

    let outcome = Run::creator(&pod).await.run().await.expect_code(0);

    let service = service(&namespace, pod.name()).await;
    let file = outcome.output().unwrap();
    assert!(file.starts_with(&seven_lines(&service)), "{file}");
    assert_eq!(current(&pod).await.metadata.labels.unwrap()["ipfPodName"], pod.name());
    assert_eq!(outcome.termination_message(), "");

    let labels = service.metadata.labels.unwrap();
    assert_eq!(labels["creator"], "ipf-dynamic-nodeport-service-creator");
    assert_eq!(labels["app"], pod.name());
    let annotations = service.metadata.annotations.unwrap();
    assert_eq!(annotations["ipf-dynamic-nodeport-service/pod-name"], pod.name());
    assert_eq!(annotations["ipf-dynamic-nodeport-service/pod-uid"], pod.uid());
    assert_eq!(annotations["ipf-dynamic-nodeport-service/advertised-host"], "node-1");
    let owners = service.metadata.owner_references.unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!((owners[0].name.as_str(), owners[0].uid.as_str()), (pod.name(), pod.uid()));
    assert_eq!((owners[0].kind.as_str(), owners[0].block_owner_deletion), ("Pod", None));
    let spec = service.spec.unwrap();
    assert_eq!(spec.type_.as_deref(), Some("NodePort"));
    assert_eq!(spec.external_traffic_policy.as_deref(), Some("Local"));
    assert_eq!(spec.internal_traffic_policy.as_deref(), Some("Local"));
    assert_eq!(spec.publish_not_ready_addresses, Some(true));
    assert_eq!(spec.selector.unwrap()["ipfPodName"], pod.name());
}

#[tokio::test]
async fn the_documented_deployments_init_container_runs_as_it_is_written() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let documents = manifests::read("examples/documented/deployment.yaml");
    let deployment = documents.iter().find(|document| document["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["initContainers"][0];
    let pod = namespace.pod("ipf-example-6d9c-x2x4z").create().await;

    let first = run_init_container(&pod, container).await;
    assert_eq!(first.outcome.code(), Some(0), "{}", first.outcome.stderr);
    let made = service(&namespace, pod.name()).await;
    let file = first.file("/nodeport/nodeport.conf").unwrap();
    assert!(file.starts_with(&seven_lines(&made)), "{file}");
    assert_eq!(first.file("/dev/termination-log").as_deref(), Some(""));

    let again = run_init_container(&pod, container).await;
    assert_eq!(again.file("/nodeport/nodeport.conf"), Some(file));
}

#[tokio::test]
async fn inside_a_pod_the_file_is_tmp_nodeport_conf_unless_told_otherwise() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator_in_cluster(&pod).await.run().await.expect_code(0);
    let file = outcome.file("nodeport.conf").unwrap();
    assert!(file.starts_with(&seven_lines(&service(&namespace, "app-0").await)), "{file}");
}

#[tokio::test]
async fn a_second_run_writes_the_same_bytes_and_makes_no_second_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let first = Run::creator(&pod).await.run().await.expect_code(0);
    let made = service(&namespace, "app-0").await;

    let second = Run::creator(&pod).await.run().await.expect_code(0);

    assert_eq!(first.output(), second.output());
    let left = services(&namespace).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata, made.metadata, "the Service was written to");
    assert!(second.stderr.contains("kept the Service of an earlier run"), "{}", second.stderr);
}

#[tokio::test]
async fn with_a_bound_token_a_run_costs_three_requests() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    let mut requests = requests(&namespace).await;
    assert_eq!(requests[0], "get configmaps");
    requests.sort();
    assert_eq!(requests, ["create services", "get configmaps", "patch pods"]);
}

#[tokio::test]
async fn with_a_mounted_template_a_run_costs_two_requests() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.template(&documented_template());
    let outcome = run.run().await.expect_code(0);
    assert!(outcome.output().unwrap().starts_with(&seven_lines(&service(&namespace, "app-0").await)));
    let mut requests = requests(&namespace).await;
    requests.sort();
    assert_eq!(requests, ["create services", "patch pods"]);
}

#[tokio::test]
async fn a_template_with_windows_line_ends_and_a_byte_order_mark_is_the_same_template() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.run().await.expect_code(0);
    let made = service(&namespace, "app-0").await;
    let windows = format!("\u{feff}{}", documented_template().replace('\n', "\r\n"));
    Run::creator(&pod).await.template(&windows).run().await.expect_code(0);
    assert_eq!(uid(&service(&namespace, "app-0").await), uid(&made));
}
