//! The creator itself under the policies: what works, and what they exclude.

use cluster_tests::harness::{Outcome, Pod, Run, eventually, namespace::SERVICE_ACCOUNT};
use k8s_openapi::api::{admissionregistration::v1::ValidatingAdmissionPolicy, core::v1::Service};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::json;

use crate::{
    policies::{POLICIES, hardened, name},
    support::{CREATOR, PATIENCE, WithTemplate, assert_says, namespace_of, recommended_template, service},
};

/// The recommended template with one part of it replaced.
#[track_caller]
fn recommended_but(old: &str, new: &str) -> String {
    let recommended = recommended_template("default.yaml");
    assert!(recommended.contains(old), "{old:?} is not in the recommended template");
    recommended.replacen(old, new, 1)
}

/// The first run and the next one bring about the same.
async fn works_twice(pod: &Pod<'_>, run: impl AsyncFn() -> Run) -> Outcome {
    let first = run().await.run().await.expect_code(0);
    let made = service(pod.namespace(), pod.name()).await.unwrap();
    let second = run().await.run().await.expect_code(0);
    assert!(first.output().is_some());
    assert_eq!(second.output(), first.output());
    assert_eq!(service(pod.namespace(), pod.name()).await, Some(made));
    first
}

#[tokio::test]
async fn templates_of_all_kinds_work() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator", "creator-pod"]).await;
    let ports: String = (3..=16).map(|port| format!("    - {{name: p{port}, port: {port}}}\n")).collect();
    for (pod, template) in [
        ("default-0", recommended_template("default.yaml")),
        ("stateful-0", recommended_template("statefulset.yaml")),
        // Of the part of the range that Kubernetes allocates last (KEP-3668).
        ("fixed-7", recommended_but("nodePort: 0", "nodePort: {{add 30070 Ordinal}}")),
        ("narrow-0", recommended_but("ipfPodName: {{.PodName}}", "ipfPodName: {{.PodName}}\n    app: shop")),
        ("labelled-0", recommended_but("app: {{.PodName}}", "app: {{labels.app}}\n    team: {{Namespace}}")),
        ("affine-0", recommended_but("type: NodePort", "type: NodePort\n  sessionAffinity: ClientIP")),
        ("open-0", recommended_but("externalTrafficPolicy: Local", "externalTrafficPolicy: Cluster")),
        ("ports-0", recommended_but("  ports:\n", &format!("  ports:\n{ports}"))),
    ] {
        let pod = namespace.pod(pod).label("app", "shop").label("statefulset.kubernetes.io/pod-name", pod);
        let pod = pod.create().await;
        works_twice(&pod, async || Run::creator(&pod).await.template(&template)).await;
    }
}

#[tokio::test]
async fn the_documented_account_works_as_before() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = control_plane.namespace().await;
    assert_eq!(namespace.account(), SERVICE_ACCOUNT);
    let pod = namespace.pod("app-0").create().await;
    let existing = namespace.original_tools_service("app-0").create().await;
    works_twice(&pod, async || Run::creator(&pod).await).await;
    existing.gone().await;
}

#[tokio::test]
async fn a_pod_that_is_labelled_already_is_no_obstacle() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").label("ipfPodName", "app-0").create().await;
    works_twice(&pod, async || Run::creator(&pod).await.recommended()).await;
}

/// To compare the spec of a pod takes time, and the API server limits how much a policy may take.
#[tokio::test]
async fn a_pod_may_be_very_large() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let mut pod = namespace.pod("app-0").annotation("note", &"x".repeat(200_000));
    for port in 1..=5000 {
        pod = pod.port(&format!("port-{port}"), port);
    }
    let pod = pod.create().await;
    let size = serde_json::to_vec(pod.object()).unwrap().len();
    assert!(size > 500_000, "{size}");
    works_twice(&pod, async || Run::creator(&pod).await.recommended()).await;
}

#[tokio::test]
async fn a_dry_run_is_judged_alike() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let pod = namespace.pod("app-0").create().await;
    Run::creator(&pod).await.recommended().args(["--dry-run"]).run().await.expect_code(0);
    let excluded = Run::creator(&pod).await.recommended().args(["--dry-run", "--owner-reference", "none"]);
    assert_refused(&excluded.run().await, "services", &["the Service must be owned by the pod alone"]);
}

/// Fails unless a policy refused it in one of these words.
#[track_caller]
fn assert_refused(outcome: &Outcome, policy: &str, refusals: &[&str]) {
    assert_eq!(outcome.code(), Some(4), "{}", outcome.stderr);
    let told = outcome.termination_message();
    let policy = name(policy);
    let begin = format!("ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: ");
    assert!(refusals.iter().any(|refusal| told.contains(&format!("{begin}{refusal}"))), "{told}");
    assert_eq!(outcome.output(), None);
}

/// hardened/README.md lists these.
#[tokio::test]
async fn what_the_policies_exclude_ends_the_run_with_their_words() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let long = format!("{}-0", "a".repeat(70));
    let recommended = recommended_template("default.yaml");
    let annotated = recommended_but("metadata:\n", "metadata:\n  annotations:\n    prometheus.io/scrape: \"true\"\n");
    let addressed = recommended_but("type: NodePort", "type: NodePort\n  externalIPs: [192.0.2.80]");
    let selecting = recommended_but("ipfPodName: {{.PodName}}", "member: {{.PodName}}");
    let named = "the Service must have the pod's name, unshortened";
    for (pod, template, owner_reference, refusal) in [
        ("ownerless-0", &recommended, "none", "the Service must be owned by the pod alone"),
        ("named-0", &recommended_but("name: {{.PodName}}", "name: of-{{.PodName}}"), "pod", named),
        ("dotted.name-0", &recommended, "pod", named),
        (&long, &recommended, "pod", named),
        (
            "addressed-0",
            &addressed,
            "pod",
            "the Service must have no external IPs, no external name, and nothing about load balancers",
        ),
        ("annotated-0", &annotated, "pod", "the Service must have no annotations but those that the policy permits"),
        (
            "selecting-0",
            &selecting,
            "pod",
            "the Service must select the pod, by ipfPodName or statefulset.kubernetes.io/pod-name",
        ),
    ] {
        let pod = namespace.pod(pod).create().await;
        let run = Run::creator(&pod).await.template(template).args(["--owner-reference", owner_reference]);
        let outcome = run.run().await;
        // Label and Service are asked for at the same time: where both are refused, either ends the run.
        if outcome.termination_message().contains(&name("pods")) {
            assert_refused(&outcome, "pods", &["the label ipfPodName must be the pod's name"]);
            assert!(pod.name() == long || pod.name() == "selecting-0", "{}", pod.name());
        } else {
            assert_refused(&outcome, "services", &[refusal]);
        }
    }
    assert!(namespace.api::<Service>().list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// The creator knows its pod by its settings then; the API server does not.
#[tokio::test]
async fn a_token_that_is_bound_to_no_pod_ends_the_run() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator-statefulset"]).await;
    let pod = namespace.pod("app-0").label("statefulset.kubernetes.io/pod-name", "app-0").create().await;
    let run = Run::creator(&pod).await.template(&recommended_template("statefulset.yaml"));
    let known = ["--pod", "app-0", "--pod-uid", pod.uid(), "--node-name", "node-1"];
    let outcome = run.token(&namespace.unbound_token().await).args(known).run().await;
    assert_refused(&outcome, "services", &["the token is bound to no pod"]);
}

/// Kubernetes checks the expressions against what it knows of Services and pods.
#[tokio::test]
async fn the_policies_name_no_field_that_there_is_not() {
    let Some(control_plane) = hardened().await else { return };
    for policy in POLICIES {
        let policies: Api<ValidatingAdmissionPolicy> = Api::all(control_plane.admin());
        let checked = eventually(PATIENCE, &format!("{policy}.yaml is checked"), async || {
            policies.get(&name(policy)).await.unwrap().status.and_then(|status| status.type_checking).ok_or("it is not")
        })
        .await;
        assert_eq!(checked.expression_warnings.unwrap_or_default(), [], "{policy}.yaml");
    }
}

/// What hardened/README.md proposes to see whether the policies apply to an account.
#[tokio::test]
async fn an_account_to_which_the_policies_apply_is_known_by_their_answer() {
    let Some(control_plane) = hardened().await else { return };
    let namespace = namespace_of(control_plane, CREATOR, &["creator"]).await;
    let create = async |account: &str| {
        let user = format!("system:serviceaccount:{}:{account}", namespace.name());
        let client = control_plane.client_as(&user, &["system:masters"]);
        let service = json!({
            "metadata": {"name": "check"},
            "spec": {"type": "NodePort", "selector": {"app": "check"}, "ports": [{"port": 80}]},
        });
        let services: Api<Service> = Api::namespaced(client, namespace.name());
        let service = serde_json::from_value(service).unwrap();
        services.create(&PostParams { dry_run: true, ..PostParams::default() }, &service).await
    };
    for account in [CREATOR, SERVICE_ACCOUNT] {
        let answer = create(account).await.unwrap_err().to_string();
        assert_says(&answer, &[&name("services"), "the token is bound to no pod"]);
    }
    for account in ["default", "my-ipf-dynamic-nodeport-service-creator", &format!("{CREATOR}-2")] {
        create(account).await.unwrap();
    }
}
