//! A pod that is deleted and created again under the same name, as a StatefulSet does it.

use cluster_tests::harness::{ControlPlane, Run};

use crate::check::converged;

/// The garbage collector removes the earlier pod's Service while the next pod's creator already works: whoever is
/// faster, the next pod ends with a Service of its own.
#[tokio::test]
async fn each_of_fifty_pods_of_one_name_gets_a_service_of_its_own() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut last = None;
    for _ in 0..50 {
        let pod = namespace.pod("app-0").create().await;

        let outcome = Run::creator(&pod).await.run().await;

        let service = converged(&pod, &outcome).await;
        assert_ne!(service.metadata.uid, last, "the earlier pod's");
        last = service.metadata.uid;
        pod.delete().await;
    }
}
