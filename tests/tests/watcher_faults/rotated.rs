//! The service account token is replaced while the watcher runs, as the kubelet does it.

use std::time::{Duration, Instant};

use cluster_tests::harness::{ControlPlane, access::Credentials, eventually};
use k8s_openapi::api::core::v1::Service as ServiceObject;
use kube::{Api, api::ListParams};

use crate::{
    DEADLINE,
    fleet::Fleet,
    log::{few_lines, watching},
    wire::through,
};

/// The token file is read again each minute.
const READ_AGAIN: Duration = Duration::from_secs(90);

pub(crate) async fn a_token_that_was_replaced_is_used_and_the_old_one_no_more(control_plane: &ControlPlane) {
    let namespace = control_plane.namespace().await;
    let staying = Fleet::launch(&namespace, "stays", 5).await;
    let (earlier, later) = (namespace.pod("watcher-1").create().await, namespace.pod("watcher-2").create().await);
    let token = earlier.bound_token().await;
    let proxy = control_plane.proxy();
    let run = through(&proxy, &namespace).await.token(&token).args(["--scan-interval", "3s"]);
    let watcher = run.spawn();
    watching(&watcher).await;

    // A new token, and only then the old one ends: as with the kubelet, which replaces it long before it expires.
    watcher.replace_token(&later.bound_token().await);
    let replaced = Instant::now();
    earlier.delete().await;
    let with_old: Api<ServiceObject> =
        Api::namespaced(control_plane.client(&Credentials::Token(token)), namespace.name());
    eventually(DEADLINE, "the old token is not accepted", async || match with_old.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;
    // Watches that go on would hide which token it has.
    proxy.cut_connections();
    let fleet = Fleet::launch(&namespace, "app", 20).await;
    fleet.delete_pods().await;
    fleet.collected(READ_AGAIN).await;
    println!("a token replaced: at work again {:?} after", replaced.elapsed());

    few_lines(&watcher, 12);
    staying.assert_untouched().await;
    watcher.terminate().await.expect_code(0);
}
