//! No clause of a policy is there for nothing: without it, and only then, its thefts have another answer.

use cluster_tests::harness::{ControlPlane, Namespace, Options, eventually, manifests};
use serde_json::json;

use crate::{
    policies::{POLICIES, messages, name, read},
    scene::{Neighbour, Scene},
    support::{CREATOR, PATIENCE},
    theft::{Effect, Theft},
    thefts::thefts,
};

/// A policy that lacks one clause, in a namespace where no other is.
struct Mutant {
    policy: &'static str,
    lacking: String,
    scene: Scene,
}

/// Binds to one namespace a copy of the policy without the clause of this message.
async fn bind_without(namespace: &Namespace<'_>, policy: &str, lacking: &str) {
    let [mut mutant, mut binding] = read(policy);
    let name = format!("{policy}-in-{}", namespace.name());
    mutant["metadata"]["name"] = name.as_str().into();
    mutant["spec"]["validations"].as_array_mut().unwrap().retain(|clause| clause["message"] != lacking);
    binding["metadata"]["name"] = name.as_str().into();
    binding["spec"]["policyName"] = name.as_str().into();
    binding["spec"]["matchResources"] =
        json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name()}}});
    manifests::create(&namespace.admin(), namespace.name(), vec![mutant, binding]).await;
}

#[tokio::test]
async fn without_a_clause_its_thefts_have_another_answer_and_no_others() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let there = control_plane.namespace().await.with_account(CREATOR);
    let neighbour = Neighbour::set(&there).await;
    let mut mutants = Vec::new();
    for policy in POLICIES {
        let clauses = messages(policy);
        // A policy of one clause would be none without it, and Kubernetes takes none such.
        for lacking in clauses.iter().filter(|_| clauses.len() > 1) {
            let namespace = control_plane.namespace().await.with_account(CREATOR);
            bind_without(&namespace, policy, lacking).await;
            let scene = Scene::set(&namespace, &neighbour).await;
            mutants.push(Mutant { policy, lacking: lacking.clone(), scene });
        }
    }
    assert_eq!(mutants.len(), 23);

    for Mutant { policy, lacking, scene } in &mutants {
        let own = |theft: &Theft| theft.refusal == lacking;
        let thefts: Vec<_> = thefts(scene).into_iter().filter(|theft| theft.policy == *policy).collect();
        let another = thefts.iter().find(|theft| !own(theft)).unwrap();
        eventually(PATIENCE, &format!("{policy} without {lacking:?} has effect"), async || {
            if scene.answer(another, Effect::DryRun).await.is_err() { Ok(()) } else { Err("it has none") }
        })
        .await;
        for theft in &thefts {
            let answer = scene.answer(theft, Effect::DryRun).await;
            let refused = matches!(&answer, Err(status) if status.message.ends_with(theft.refusal));
            assert_eq!(refused, !own(theft), "{policy} without {lacking:?}: {}: {answer:?}", theft.what);
        }
    }
    control_plane.close().await;
}

/// Else it would not be the policies that refuse.
#[tokio::test]
async fn without_the_policies_every_theft_succeeds() {
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = control_plane.namespace().await.with_account(CREATOR);
    let there = control_plane.namespace().await.with_account(CREATOR);
    let scene = Scene::set(&namespace, &Neighbour::set(&there).await).await;
    for theft in thefts(&scene) {
        let answer = scene.answer(&theft, Effect::DryRun).await;
        assert!(answer.is_ok(), "{} ({}): {answer:?}", theft.what, name(theft.policy));
    }
    control_plane.close().await;
}
