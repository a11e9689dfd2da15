//! Bad templates: one clear error each, with object, key, line and remedy, and nothing left behind.

use cluster_tests::harness::{ControlPlane, Outcome, Pod, Run};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::support::{
    CREATOR, assert_nothing_left, assert_says, documented_but, documented_template, files, services, set_template,
};

/// The error is the last log line, and the container's termination message word for word.
#[track_caller]
fn assert_error(outcome: &Outcome, parts: &[&str]) {
    let message = outcome.termination_message();
    assert_says(&message, parts);
    assert!(!message.contains('\n'), "more than one line: {message}");
    let last = outcome.stderr.lines().last().unwrap();
    let logged: serde_json::Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{}", outcome.stderr));
    assert_eq!((logged["level"].as_str(), logged["error"].as_str()), (Some("ERROR"), Some(message.as_str())));
    assert_eq!(logged["exit"].as_i64(), outcome.code().map(i64::from));
}

async fn creator(pod: &Pod<'_>) -> Run {
    Run::creator(pod).await.args(["--log-format", "json"])
}

/// A row: what is wrong, the template, and what the error says about it.
type Row = (&'static str, String, &'static [&'static str]);

/// Runs the creator with each template in the ConfigMap, and fails unless each ends with 3 and its error.
async fn are_refused(pod: &Pod<'_>, rows: &[Row], left: impl AsyncFn(&Outcome)) {
    let namespace = pod.namespace();
    let place = format!("ConfigMap {}/{CREATOR}, key default.yaml", namespace.name());
    for (what, template, parts) in rows {
        println!("{what}");
        set_template(namespace, template).await;
        let outcome = creator(pod).await.run().await.expect_code(3);
        assert_error(&outcome, &[&[place.as_str()], *parts].concat());
        left(&outcome).await;
    }
}

#[tokio::test]
async fn what_the_creator_finds_is_told_with_its_line_and_leaves_nothing() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-x").create().await;
    let rows: &[Row] = &[
        (
            "a typo in a field",
            documented_but("name: {{.PodName}}", "name: {{.PodNam}}"),
            &["line 4, column 9: there is no value PodNam (did you mean PodName?)"],
        ),
        (
            "Go's if",
            documented_but("spec:", "{{if .PodName}}\nspec:"),
            &["line 8, column 1: {{if}} is not supported: write {{#if NAME}}"],
        ),
        (
            "Go's pipeline",
            documented_but("name: {{.PodName}}", "name: {{.PodName | lower}}"),
            &["line 4, column 9: Go's pipelines are not supported: write {{NAME}} alone"],
        ),
        ("bad YAML", documented_but("  ports:", "ports: ]\n  ports:"), &["line 15, column 8: not YAML"]),
        (
            "a duplicate key",
            documented_but("type: NodePort", "type: NodePort\n  type: NodePort"),
            &["line 13, column 3: the key type is already at line 12, column 3"],
        ),
        (
            "a Deployment",
            documented_but("kind: Service", "kind: Deployment"),
            &["line 2, column 7: kind is Deployment: the template must be one Service"],
        ),
        (
            "two documents",
            format!("{0}---\n{0}", documented_template()),
            &["line 26, column 1: a second document begins here: a template is one Service"],
        ),
        ("no document", "# nothing\n".to_owned(), &["line 1, column 1: the template is empty: write one Service"]),
        (
            "a ClusterIP",
            documented_but("type: NodePort", "type: ClusterIP"),
            &["line 12, column 9: spec.type is ClusterIP: write NodePort"],
        ),
        (
            "a shared selector",
            documented_but("ipfPodName: {{.PodName}}", "app: shop"),
            &["line 13, column 3: spec.selector selects more pods than this one", "as in ipfPodName: {{PodName}}"],
        ),
        (
            "a StatefulSet's label for a pod of none",
            documented_but("ipfPodName: {{.PodName}}", "statefulset.kubernetes.io/pod-name: {{.PodName}}"),
            &["line 14, column 41: ", "\"app-x\" is none: select by ipfPodName: {{PodName}}"],
        ),
        (
            "another namespace",
            documented_but("name: {{.PodName}}", "name: {{.PodName}}\n  namespace: elsewhere"),
            &["line 5, column 14: metadata.namespace is \"elsewhere\", and the pod is in \"test-", "leave it out"],
        ),
        (
            "owners",
            documented_but("name: {{.PodName}}", "name: {{.PodName}}\n  ownerReferences: []"),
            &["line 5, column 3: metadata.ownerReferences is refused", "set owner-reference to none"],
        ),
        (
            "no Akka port",
            documented_but("name: akka-artery", "name: artery"),
            &[
                "line 15, column 3: spec.ports has no port named akka-artery, which the .conf file needs",
                "there are akka-management, artery: rename one, or set akka-artery-management-port-name",
            ],
        ),
        (
            "a port that is text",
            documented_but("port: 8558", "port: '8558'"),
            &["line 17, column 13: spec.ports[0].port is text and must be a number, without quotes"],
        ),
        (
            "a label that the pod does not have",
            documented_but("app: {{.PodName}}", "app: {{labels.app}}"),
            &["line 7, column 10: labels.app is not there; there are product"],
        ),
        (
            "the ordinal of a pod that has none",
            documented_but("nodePort: 0", "nodePort: {{add 31000 Ordinal}}"),
            &["line 20, column 17: Ordinal is not known: the pod's name \"app-x\" does not end in"],
        ),
    ];
    are_refused(&pod, rows, async |outcome| assert_nothing_left(&pod, outcome, &[]).await).await;
}

#[tokio::test]
async fn what_only_kubernetes_can_find_is_told_with_its_line_too_and_leaves_no_service_and_no_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-x").create().await;
    let rows: &[Row] = &[
        (
            "an unknown field",
            documented_but("type: NodePort", "type: NodePort\n  externalTraficPolicy: Local"),
            &[
                "Kubernetes refuses the Service: line 13, column 25: spec.externalTraficPolicy: ",
                "Kubernetes does not know this field",
            ],
        ),
        (
            "an unknown field of a port",
            documented_but("protocol: TCP", "protocl: TCP"),
            &["line 19, column 16: spec.ports[0].protocl: Kubernetes does not know this field"],
        ),
        (
            "a node port out of range",
            documented_but("nodePort: 0", "nodePort: 8080"),
            &["line 20, column 17: spec.ports[0].nodePort: ", "8080", "The range of valid ports is 30000-32767"],
        ),
        (
            "an unknown value",
            documented_but("externalTrafficPolicy: Local", "externalTrafficPolicy: Lokal"),
            &["line 9, column 26: spec.externalTrafficPolicy: ", "\"Lokal\": supported values: \"Cluster\", \"Local\""],
        ),
    ];
    let left = async |outcome: &Outcome| {
        assert!(services(&namespace).await.is_empty());
        assert_eq!(files(outcome), ["termination-log"]);
    };
    are_refused(&pod, rows, left).await;
}

#[tokio::test]
async fn a_missing_config_map_and_a_missing_key_are_named_with_what_there_is() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let maps = namespace.api::<ConfigMap>();
    let patch = Patch::Merge(json!({"data": {"other.yaml": ""}}));
    maps.patch(CREATOR, &PatchParams::default(), &patch).await.unwrap();
    let outcome = creator(&pod).await.args(["--configmapkey", "defualt.yaml"]).run().await.expect_code(3);
    let missing = format!("ConfigMap {}/{CREATOR} has no key \"defualt.yaml\"", namespace.name());
    assert_error(&outcome, &[&missing, "it has default.yaml, other.yaml", "--configmapkey"]);
    assert_nothing_left(&pod, &outcome, &[]).await;

    maps.delete(CREATOR, &DeleteParams::default()).await.unwrap();
    let outcome = creator(&pod).await.run().await.expect_code(3);
    let missing = format!("ConfigMap {}/{CREATOR} does not exist", namespace.name());
    assert_error(&outcome, &[&missing, "create it", "--configmap"]);
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn a_missing_template_file_is_named() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = creator(&pod).await.args(["--template", "/none/service.yaml"]).run().await.expect_code(3);
    assert_error(&outcome, &["cannot read the template file /none/service.yaml", "No such file"]);
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn members_that_cannot_be_reached_before_they_are_ready_are_warned_of() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    set_template(&namespace, &documented_but("publishNotReadyAddresses: true", "publishNotReadyAddresses: false"))
        .await;
    let outcome = creator(&pod).await.run().await.expect_code(0);
    assert_says(&outcome.stderr, &["line 11, column", "publishNotReadyAddresses is not true"]);
}
