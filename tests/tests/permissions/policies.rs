//! The policies of permissions/hardened, and the control plane where they are in effect.

use cluster_tests::harness::{ControlPlane, eventually, manifests};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{
    scene::{Neighbour, Scene},
    support::{CREATOR, PATIENCE},
    theft::Effect,
    thefts::thefts,
};

/// The files of permissions/hardened, one policy and its binding in each.
pub(crate) const POLICIES: [&str; 4] = ["services", "pods", "deletions", "watcher"];

/// A policy and its binding.
pub(crate) fn read(policy: &str) -> [Value; 2] {
    let documents = manifests::read(format!("permissions/hardened/{policy}.yaml"));
    documents
        .try_into()
        .unwrap_or_else(|documents| panic!("{policy}.yaml is not one policy and its binding: {documents:?}"))
}

/// The policy's name, which its binding has too.
pub(crate) fn name(policy: &str) -> String {
    format!("ipf-dynamic-nodeport-service-{policy}")
}

/// The messages of the policy's clauses, in their order.
pub(crate) fn messages(policy: &str) -> Vec<String> {
    let [policy, _] = read(policy);
    let clauses = policy["spec"]["validations"].as_array().unwrap();
    clauses.iter().map(|clause| clause["message"].as_str().unwrap().to_owned()).collect()
}

/// The control plane that the tests here share, with all policies in effect.
pub(crate) async fn hardened() -> Option<&'static ControlPlane> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let control_plane = ControlPlane::shared().await?;
    INSTALLED.get_or_init(|| install(control_plane)).await;
    Some(control_plane)
}

async fn install(control_plane: &ControlPlane) {
    for policy in POLICIES {
        manifests::create(&control_plane.admin(), "default", read(policy).to_vec()).await;
    }
    let namespace = control_plane.namespace().await.with_account(CREATOR);
    let neighbour = control_plane.namespace().await.with_account(CREATOR);
    let scene = Scene::set(&namespace, &Neighbour::set(&neighbour).await).await;
    for policy in POLICIES {
        let theft = thefts(&scene).into_iter().find(|theft| theft.policy == policy).unwrap();
        eventually(PATIENCE, &format!("the policy of {policy}.yaml has effect"), async || {
            if scene.answer(&theft, Effect::DryRun).await.is_err() { Ok(()) } else { Err("it has none") }
        })
        .await;
    }
}
