//! A token that outlives the pod it is bound to.

use std::time::Duration;

use cluster_tests::{
    harness::{ControlPlane, Run, access::Credentials, eventually},
    proxy::Action,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use crate::{
    DEADLINE,
    check::{converged, failed, in_time, services},
    wire::{Ask, first, through},
};

#[tokio::test]
async fn the_token_of_a_deleted_pod_ends_the_run_at_its_timeout() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let token = pod.bound_token().await;
    pod.delete().await;
    let client = control_plane.client(&Credentials::Token(token.clone()));
    let config_maps: Api<ConfigMap> = Api::namespaced(client, namespace.name());
    eventually(DEADLINE, "the token is not accepted", async || match config_maps.get("any").await {
        Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;

    let next = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&next).await.token(&token).args(["--timeout", "3s"]).run().await;

    let text = "the API server does not accept the service account token (401); \
                it may be empty or have expired, or the pod it is bound to may be gone";
    failed(&outcome, 7, &["gave up at the timeout", "cannot get ConfigMap", text]);
    in_time(&outcome, Duration::from_secs(3));
    assert!(services(&next).await.is_empty());
}

/// A pod that was deleted by force while its node was cut off still runs there, with a token that may still be good; its
/// creator must not disturb the pod that has the name now.
#[tokio::test]
async fn a_creator_that_outlives_its_pod_leaves_the_next_pod_alone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    // It labels and creates at the same time: whichever is faster finds out.
    for slow in [Ask::CreateService, Ask::LabelPod] {
        let earlier = namespace.pod("app-0").create().await;
        let uid = earlier.uid().to_owned();
        let proxy = control_plane.proxy();
        proxy.set_rule(first(slow, Action::Delay(Duration::from_secs(3))));
        let stranded = through(&proxy, &earlier).await.token(&namespace.unbound_token().await);
        let stranded = stranded.env("POD", "app-0").env("POD_UID", &uid).env("NODE_NAME", "node-1");
        earlier.delete().await;
        let next = namespace.pod("app-0").create().await;
        let outcome = Run::creator(&next).await.run().await;
        let service = converged(&next, &outcome).await;

        let late = stranded.run().await;

        failed(&late, 5, &[&uid, "is no longer in namespace", namespace.name(), "another pod has its name now"]);
        assert!(late.elapsed() < Duration::from_secs(2), "{slow:?}: {:?}", late.elapsed());
        assert_eq!(converged(&next, &outcome).await.metadata, service.metadata);
        next.delete().await;
    }
}
