//! What the scenarios share: pods with Services, a watcher that has had its first look, and what it says it did.

use std::time::Duration;

use cluster_tests::harness::{Namespace, NewService, Outcome, Pod, Run, Running, Service};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// The watcher's messages.
pub(crate) const SCANNED: &str = "scanned";
pub(crate) const DELETED: &str = "Service deleted";
pub(crate) const LEFT_ALONE: &str = "Service left alone";
pub(crate) const CANNOT_DELETE: &str = "cannot delete a Service; trying again";

/// Settings with which the watcher scans all the time, so that a test sees soon what a scan does or leaves.
pub(crate) const SCANS: [&str; 2] = ["--scan-interval", "1s"];

/// A pod, and the Service that the creator would have made for it with `owner-reference: none`: Kubernetes' own garbage
/// collector leaves it to the watcher.
pub(crate) async fn pod_with_service<'a>(namespace: &'a Namespace<'a>, name: &str) -> (Pod<'a>, Service<'a>) {
    let pod = namespace.pod(name).create().await;
    let service = pod.service().without_owner().create().await;
    (pod, service)
}

/// What is left of such a pod, and of whom it was, once it is deleted.
pub(crate) async fn orphan<'a>(namespace: &'a Namespace<'a>, name: &str) -> (Gone, Service<'a>) {
    orphaned(namespace, name, |pod| pod.service().without_owner()).await
}

/// The same with a Service as the test wants it.
pub(crate) async fn orphaned<'a>(
    namespace: &'a Namespace<'a>,
    name: &str,
    service: impl FnOnce(&Pod<'a>) -> NewService<'a>,
) -> (Gone, Service<'a>) {
    let pod = namespace.pod(name).create().await;
    let service = service(&pod).create().await;
    (delete(pod).await, service)
}

/// A pod that is gone.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Deletes a pod at once.
pub(crate) async fn delete(pod: Pod<'_>) -> Gone {
    let gone = Gone { name: pod.name().to_owned(), uid: pod.uid().to_owned() };
    pod.delete().await;
    gone
}

/// Starts a watcher and waits until its first scan is done; what that finds may not be settled yet.
pub(crate) async fn watching(run: Run) -> Running {
    let running = run.spawn();
    running.logged(SCANNED, |_| true).await;
    running
}

/// The line that tells of this Service's deletion; waits for it.
pub(crate) async fn deletion(running: &Running, service: &Service<'_>) -> Value {
    running.logged(DELETED, |line| line["uid"] == service.uid()).await
}

/// Fails unless the line says all that it must of the deletion of a Service that was made for this pod.
#[track_caller]
pub(crate) fn assert_deletion(line: &Value, service: &Service<'_>, pod: &Gone, reason: &str) {
    assert_eq!(line["level"], "INFO", "{line}");
    assert_eq!(line["namespace"], service.object().metadata.namespace.as_deref().unwrap(), "{line}");
    assert_eq!((&line["service"], &line["uid"]), (&service.name().into(), &service.uid().into()), "{line}");
    assert_eq!((&line["pod"], &line["pod_uid"]), (&Value::from(&*pod.name), &Value::from(&*pod.uid)), "{line}");
    assert_eq!(line["reason"], reason, "{line}");
    assert!(line["took_ms"].is_u64(), "{line}");
}

/// When a line was logged.
#[track_caller]
pub(crate) fn time(line: &Value) -> Timestamp {
    line["timestamp"].as_str().unwrap().parse().unwrap()
}

/// How long before a line was logged something else was.
#[track_caller]
pub(crate) fn since(earlier: Timestamp, line: &Value) -> Duration {
    time(line).duration_since(earlier).try_into().unwrap()
}

/// Waits for a scan that began after the call: the next may have read the lists before.
pub(crate) async fn two_more_scans(running: &Running) {
    running.logged_times(running.log_of(SCANNED).len() + 2, SCANNED).await;
}

/// Waits until a watcher that scans all the time must have noticed and settled what there was at the time of the call.
pub(crate) async fn settled(namespace: &Namespace<'_>, running: &Running) {
    two_more_scans(running).await;
    noticed(namespace, running).await;
}

/// Waits until the watcher must have noticed by its watches what had happened at the time of the call: it removes the
/// Service of a pod that is deleted after that.
pub(crate) async fn noticed(namespace: &Namespace<'_>, running: &Running) {
    let number = running.log_of(DELETED).len();
    let (pod, service) = pod_with_service(namespace, &format!("marker-{number}")).await;
    delete(pod).await;
    deletion(running, &service).await;
}

/// The watcher ends well at SIGTERM, has warned of nothing, and has deleted these Services and no other.
pub(crate) async fn ends_having_deleted(running: Running, expected: &[&Service<'_>]) -> Outcome {
    let outcome = running.terminate().await.expect_code(0);
    assert_deleted(&outcome, expected);
    assert_no_warning(&outcome);
    outcome
}

/// Fails unless the log holds nothing but JSON lines that tell of no trouble.
#[track_caller]
pub(crate) fn assert_no_warning(outcome: &Outcome) {
    let log = outcome.log();
    assert_eq!(log.len(), outcome.stderr.lines().count(), "{}", outcome.stderr);
    let warnings: Vec<_> = log.iter().filter(|line| line["level"] != "INFO").collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

/// Fails unless these Services were deleted, and no other; those that show that time has passed do not count.
#[track_caller]
pub(crate) fn assert_deleted(outcome: &Outcome, expected: &[&Service<'_>]) {
    let mut deleted: Vec<_> = outcome
        .log_of(DELETED)
        .iter()
        .filter(|line| !line["service"].as_str().unwrap().starts_with("marker-"))
        .map(|line| line["uid"].as_str().unwrap().to_owned())
        .collect();
    deleted.sort();
    let mut expected: Vec<_> = expected.iter().map(|service| service.uid().to_owned()).collect();
    expected.sort();
    assert_eq!(deleted, expected, "the watcher said:\n{}", outcome.stderr);
}

/// Changes the documented Role so that only Services of these names may be deleted.
pub(crate) async fn allow_delete_of(namespace: &Namespace<'_>, names: &[&str]) {
    let rule = json!({"apiGroups": [""], "resources": ["services"], "verbs": ["delete"], "resourceNames": names});
    namespace.add_rule(serde_json::from_value(rule).unwrap()).await;
    // A Role has effect as a whole: the new rule too, then.
    namespace.deny("delete", "services").await;
}

/// Fails unless the text holds each of the parts.
#[track_caller]
pub(crate) fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}
