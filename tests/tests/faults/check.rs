//! What must be so after a run, however it went.

use std::{collections::BTreeMap, fs, time::Duration};

use cluster_tests::harness::{Outcome, Pod};
use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION};
use k8s_openapi::api::core::v1::{Pod as PodObject, Service};
use kube::api::ListParams;

/// How much later than its timeout a run may end.
const LATE: Duration = Duration::from_secs(1);

/// Lines that a run may log, however long it lasts: each pause is longer than the one before.
const LINES: usize = 40;

/// The file and the Service that a successful run leaves: one Service for the pod, its own, selecting it; a file with
/// its ports; nothing else. Returns the Service.
pub(crate) async fn converged(pod: &Pod<'_>, outcome: &Outcome) -> Service {
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let service = only_service(pod).await;
    let owners = service.metadata.owner_references.as_deref().unwrap_or_default();
    assert_eq!(owners.iter().map(|owner| owner.uid.as_str()).collect::<Vec<_>>(), [pod.uid()]);
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    assert_eq!(selector, Some(&BTreeMap::from([(POD_NAME_LABEL.to_owned(), pod.name().to_owned())])));

    let labelled: PodObject = pod.namespace().api().get(pod.name()).await.unwrap();
    assert_eq!(labelled.metadata.uid.as_deref(), Some(pod.uid()));
    assert_eq!(labelled.metadata.labels.unwrap()[POD_NAME_LABEL], pod.name());

    assert_eq!(written(outcome), ports(&service), "the file's ports and the Service's");
    assert_eq!(files(outcome), ["nodeport.conf"]);
    assert_eq!(outcome.termination_message(), "");
    service
}

/// The one Service there is for a pod of this name; it is this very pod's.
pub(crate) async fn only_service(pod: &Pod<'_>) -> Service {
    let mut services = services(pod).await;
    assert_eq!(services.len(), 1, "Services of pod {}: {services:#?}", pod.name());
    let service = services.remove(0);
    assert_eq!(annotation(&service, POD_UID_ANNOTATION), Some(pod.uid()));
    assert_eq!(service.metadata.deletion_timestamp, None);
    assert_eq!(service.metadata.labels.as_ref().unwrap()[CREATOR_LABEL], CREATOR);
    service
}

/// All Services for pods of this name, this one or earlier ones.
pub(crate) async fn services(pod: &Pod<'_>) -> Vec<Service> {
    let all = pod.namespace().api::<Service>().list(&ListParams::default()).await.unwrap();
    let is_of_pod = |service: &Service| {
        service.metadata.name.as_deref() == Some(pod.name())
            || annotation(service, POD_NAME_ANNOTATION) == Some(pod.name())
    };
    all.items.into_iter().filter(is_of_pod).collect()
}

/// An annotation of a Service.
pub(crate) fn annotation<'a>(service: &'a Service, key: &str) -> Option<&'a str> {
    service.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Artery's and management's node port, as the Service has them.
pub(crate) fn ports(service: &Service) -> (i32, i32) {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let port = |name: &str| {
        ports.iter().find(|port| port.name.as_deref() == Some(name)).and_then(|port| port.node_port).unwrap()
    };
    (port("akka-artery"), port("akka-management"))
}

/// The same, as the file has them.
pub(crate) fn written(outcome: &Outcome) -> (i32, i32) {
    let file = outcome.output().unwrap();
    let mut lines = file.lines();
    let mut port = |key: &str| {
        let value =
            lines.next().and_then(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key} in {file}"));
        value.parse().unwrap()
    };
    let written = (port("IPF_NODEPORT = "), port("IPF_MANAGEMENTPORT = "));
    assert_eq!(lines.next(), Some("IPF_NODENAME = node-1"));
    written
}

/// The run ended with this code, left no file, not even a temporary one, and said why, each phrase, in its log and in the
/// termination message.
#[track_caller]
pub(crate) fn failed(outcome: &Outcome, code: i32, phrases: &[&str]) {
    assert_eq!(outcome.code(), Some(code), "{}", outcome.stderr);
    nothing_written(outcome);
    let message = outcome.termination_message();
    assert!(!message.is_empty() && outcome.stderr.contains(&message), "{message:?} in\n{}", outcome.stderr);
    for phrase in phrases {
        assert!(message.contains(phrase), "{phrase:?} in {message:?}; log:\n{}", outcome.stderr);
    }
    few_lines(outcome);
}

/// No output, and no beginning of one.
#[track_caller]
pub(crate) fn nothing_written(outcome: &Outcome) {
    assert_eq!(files(outcome), Vec::<String>::new(), "{}", outcome.stderr);
}

/// It ended for want of time, not much later than it was told to.
#[track_caller]
pub(crate) fn in_time(outcome: &Outcome, timeout: Duration) {
    assert!(outcome.elapsed() <= timeout + LATE, "after {:?}:\n{}", outcome.elapsed(), outcome.stderr);
    few_lines(outcome);
}

#[track_caller]
fn few_lines(outcome: &Outcome) {
    assert!(outcome.stderr.lines().count() <= LINES, "a flood:\n{}", outcome.stderr);
}

/// What the run left in its folder, beside what the test put there.
fn files(outcome: &Outcome) -> Vec<String> {
    let entries = fs::read_dir(outcome.folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "termination-log" && name != "template.yaml").collect()
}
