//! The documented manifests, unchanged, do what they are documented to do.

use cluster_tests::harness::{ControlPlane, Run};
use k8s_openapi::api::core::v1::{Pod, Service};

#[tokio::test]
async fn the_documented_config_map_and_role_give_the_pod_its_service_and_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("ipf-example-6d9c-x2x4z").create().await;

    let outcome = Run::creator(&pod).await.run().await.expect_code(0);

    let service: Service = namespace.api().get(pod.name()).await.unwrap();
    let spec = service.spec.unwrap();
    assert_eq!(spec.type_.as_deref(), Some("NodePort"));
    assert_eq!(spec.external_traffic_policy.as_deref(), Some("Local"));
    let port = |name: &str| {
        let ports = spec.ports.as_ref().unwrap();
        ports.iter().find(|port| port.name.as_deref() == Some(name)).and_then(|port| port.node_port).unwrap()
    };
    let (artery, management) = (port("akka-artery"), port("akka-management"));
    let seven = format!(
        "IPF_NODEPORT = {artery}\nIPF_MANAGEMENTPORT = {management}\nIPF_NODENAME = node-1\n\
         akka.remote.artery.canonical.port = ${{IPF_NODEPORT}}\n\
         akka.remote.artery.canonical.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.hostname = ${{IPF_NODENAME}}\n\
         akka.management.http.port = ${{IPF_MANAGEMENTPORT}}\n"
    );
    let file = outcome.output().unwrap();
    assert!(file.starts_with(&seven), "{file}");

    let labelled: Pod = namespace.api().get(pod.name()).await.unwrap();
    assert_eq!(labelled.metadata.labels.unwrap()["ipfPodName"], pod.name());
}
