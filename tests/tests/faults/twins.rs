//! Two creators of one pod at the same time: a kubelet that starts an init container again does not always see the end of
//! the first.

use cluster_tests::harness::{ControlPlane, Run};

use crate::check::converged;

#[tokio::test]
async fn two_creators_at_once_agree_on_one_service() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for round in 0..20 {
        let mut pod = namespace.pod("app-0").create().await;
        if round % 2 == 1 {
            // They find an earlier pod's Service, and both want to replace it.
            Run::creator(&pod).await.args(["--owner-reference", "none"]).run().await.expect_code(0);
            pod.delete().await;
            pod = namespace.pod("app-0").create().await;
        }
        let (first, second) = (Run::creator(&pod).await, Run::creator(&pod).await);
        let (first, second) = (first.spawn(), second.spawn());
        let (first, second) = (first.wait().await, second.wait().await);

        converged(&pod, &first).await;
        converged(&pod, &second).await;
        assert_eq!(first.output(), second.output());
        pod.delete().await;
    }
}
