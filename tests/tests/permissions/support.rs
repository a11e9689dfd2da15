//! What the scenarios share: accounts with exactly the permissions of some files, and what they asked for.

use std::{collections::BTreeSet, time::Duration};

use cluster_tests::harness::{ControlPlane, Event, Namespace, Outcome, Run, manifests};
use k8s_openapi::api::core::v1::Service;

/// The accounts of permissions/least-privilege.
pub(crate) const CREATOR: &str = "ipf-dynamic-nodeport-service-creator";
pub(crate) const WATCHER: &str = "ipf-dynamic-nodeport-service-watcher";

/// How long what the test waits for may take, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A file of permissions/least-privilege.
pub(crate) fn file(name: &str) -> String {
    format!("permissions/least-privilege/{name}.yaml")
}

/// A namespace of its own as an account sees it that has the permissions of these files, and no other.
pub(crate) async fn namespace_of<'a>(control_plane: &'a ControlPlane, account: &str, files: &[&str]) -> Namespace<'a> {
    let namespace = control_plane.namespace().await.with_account(account);
    for name in files {
        namespace.grant(&file(name)).await;
    }
    namespace
}

/// What these files permit, as `verb resource`.
pub(crate) fn permitted(files: &[&str]) -> BTreeSet<String> {
    let mut permitted = BTreeSet::new();
    for rule in files.iter().flat_map(|name| manifests::rules(file(name))) {
        for resource in rule.resources.iter().flatten() {
            permitted.extend(rule.verbs.iter().map(|verb| format!("{verb} {resource}")));
        }
    }
    permitted
}

/// What the account has asked for, as `verb resource`, in the order of arrival.
pub(crate) async fn requests(namespace: &Namespace<'_>) -> Vec<String> {
    namespace.requests().await.iter().map(request).collect()
}

/// What of it was not refused.
pub(crate) async fn used(namespace: &Namespace<'_>) -> BTreeSet<String> {
    namespace.requests().await.iter().filter(|event| event.code != 403).map(request).collect()
}

fn request(event: &Event) -> String {
    format!("{} {}", event.verb, event.resource)
}

/// The template of the examples: `default.yaml` for any pod, `statefulset.yaml` for pods of a StatefulSet.
pub(crate) fn recommended_template(name: &str) -> String {
    let (folder, key) = if name == "statefulset.yaml" { ("statefulset", "service.yaml") } else { ("deployment", name) };
    let documents = manifests::read(format!("examples/{folder}/configmap.yaml"));
    documents[0]["data"][key].as_str().unwrap().to_owned()
}

/// Runs of the creator with a mounted template.
pub(crate) trait WithTemplate {
    /// With this text.
    fn template(self, text: &str) -> Self;
    /// With the recommended one, for any pod.
    fn recommended(self) -> Self;
}

impl WithTemplate for Run {
    fn template(self, text: &str) -> Self {
        let path = self.file("service.yaml", text);
        self.args(["--template", &path])
    }

    fn recommended(self) -> Self {
        self.template(&recommended_template("default.yaml"))
    }
}

/// The Service of this name; None where there is none.
pub(crate) async fn service(namespace: &Namespace<'_>, name: &str) -> Option<Service> {
    namespace.api().get_opt(name).await.unwrap()
}

/// Fails unless the text holds each of the parts.
#[track_caller]
pub(crate) fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// Fails unless the run ended with code 4 and a message that names the account, the verb and the rule to add.
#[track_caller]
pub(crate) fn assert_lacks(outcome: Outcome, namespace: &Namespace<'_>, verb: &str, resource: &str) {
    let outcome = outcome.expect_code(4);
    let (name, account) = (namespace.name(), namespace.account());
    let denied = format!("service account {name}/{account} may not {verb} {resource}");
    let rule = format!("add {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}} to its ");
    assert_says(&outcome.termination_message(), &[&denied, &rule]);
    assert_eq!(outcome.output(), None);
}
