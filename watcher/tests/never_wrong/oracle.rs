//! Says what is right, from the words of the documentation and from what really is on the server; it knows nothing of how
//! the watcher decides.

use std::time::Duration;

use common::key::Key;
use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION};
use k8s_openapi::{
    api::core::v1::{Pod, Service},
    jiff::Timestamp,
};
use watcher::{
    index::Tally,
    orphan::{Reason, Rules},
};

use crate::{
    facts::{Found, Known, PodRead},
    process::{is_labelled, is_watched},
    server::{Server, born, is_unfinished, key, label, uid},
    world::{Warrant, World},
};

/// How far apart the two checks are that find the pod of one of the original tool's Services absent.
const APART: Duration = Duration::from_secs(30);

/// For whom a Service was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// By our creator, for this pod.
    Pod { name: String, uid: String },
    /// By the original tool, for the pod of the Service's own name.
    OriginalTool,
    /// By others, or nobody can tell.
    Nobody,
}

/// All that names a Service's pod must agree, and it must be enough: both annotations with the label or the owner, or the
/// label with the owner. The original tool's have the label, nothing that names a pod's UID, and its spec.
pub(crate) fn whose(service: &Service) -> Whose {
    let note = |key| {
        let annotations = service.metadata.annotations.as_ref()?;
        annotations.get(key).filter(|value| !value.is_empty()).cloned()
    };
    let notes = (note(POD_NAME_ANNOTATION), note(POD_UID_ANNOTATION));
    let references = service.metadata.owner_references.iter().flatten();
    let owners: Vec<_> = references.clone().filter(|owner| owner.kind == "Pod").collect();
    let is_marked = label(service, CREATOR_LABEL) == Some(CREATOR);

    let mut names: Vec<_> = notes.0.iter().chain(owners.iter().map(|owner| &owner.name)).cloned().collect();
    let mut uids: Vec<_> = notes.1.iter().chain(owners.iter().map(|owner| &owner.uid)).cloned().collect();
    names.dedup();
    uids.dedup();
    let is_enough = match (&notes, owners.len()) {
        ((Some(_), Some(_)), 1) => true,
        (_, 1) | ((Some(_), Some(_)), 0) => is_marked,
        _ => false,
    };
    match (names.as_slice(), uids.as_slice()) {
        ([name], [uid]) if is_enough => Whose::Pod { name: name.clone(), uid: uid.clone() },
        ([], []) if is_marked && references.count() == 0 && is_as_original(service) => Whose::OriginalTool,
        _ => Whose::Nobody,
    }
}

fn is_as_original(service: &Service) -> bool {
    let Some(spec) = &service.spec else { return false };
    let selected = spec.selector.as_ref().and_then(|selector| selector.get(POD_NAME_LABEL));
    spec.type_.as_deref() == Some("NodePort") && selected.is_some() && selected == service.metadata.name.as_ref()
}

/// Both annotations of a Service that has lost all other evidence.
fn only_annotated(service: &Service) -> Option<(String, String)> {
    let annotations = service.metadata.annotations.as_ref()?;
    let has_owner = service.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Pod");
    let (name, uid) = (annotations.get(POD_NAME_ANNOTATION)?, annotations.get(POD_UID_ANNOTATION)?);
    (!has_owner).then(|| (name.clone(), uid.clone()))
}

/// Whether a Service that has just been deleted was to be.
pub(crate) fn may_delete(world: &World, service: &Service, warrant: &Warrant) -> Result<(), String> {
    let known = warrant.facts.get();
    let mut reads = known.reads.iter().rev().filter(|read| read.service == warrant.service);
    let Some(last) = reads.find(|read| read.tick < warrant.asked).filter(|read| read.tick > warrant.begun) else {
        return Err("its pod was not read".to_owned());
    };
    if service.metadata.deletion_timestamp.is_some() {
        return Err("it is being deleted already".to_owned());
    }
    let whose = match (whose(service), only_annotated(service)) {
        (Whose::Nobody, Some((name, pod))) if known.was_shown(uid(service), &name, &pod) => {
            Whose::Pod { name, uid: pod }
        }
        (whose, _) => whose,
    };
    match whose {
        Whose::Nobody => Err("it is someone else's, or nobody can tell whose it is".to_owned()),
        Whose::OriginalTool => may_delete_original(service, warrant, last, &known),
        Whose::Pod { name, uid: pod_uid } => {
            let pod = warrant.service.sibling(&name.as_str().into());
            if last.pod != pod {
                return Err(format!("pod {} was read, and its pod is {pod}", last.pod));
            }
            let is_there = world.server.pods.get(&pod).is_some_and(|pod| uid(pod) == pod_uid);
            let mut states = world.server.pods.history().iter().rev().flat_map(|event| [&event.after, &event.before]);
            match states.find_map(|pod| pod.as_ref().filter(|pod| uid(*pod) == pod_uid)) {
                Some(pod) if is_there && is_unfinished(pod) => return Err("its pod is alive".to_owned()),
                Some(pod) if is_there || warrant.sentence.reason == Reason::PodFinished => {
                    may_release_finished(world, pod, &known)?;
                }
                _ => may_release_gone(world, &pod, &pod_uid, warrant, &known)?,
            }
            is_reason_right(warrant.sentence.reason, &last.found, &pod_uid)
        }
    }
}

/// The last two words of a log line, an Event and a metric are the reason.
fn is_reason_right(reason: Reason, found: &Found, pod_uid: &str) -> Result<(), String> {
    let right = match found {
        Found::Absent => Reason::PodGone,
        Found::Unfinished(uid) | Found::Finished(uid) if uid != pod_uid => Reason::PodReplaced,
        Found::Unfinished(_) => return Err("its pod was alive when it was read".to_owned()),
        Found::Finished(_) => Reason::PodFinished,
    };
    if reason == right { Ok(()) } else { Err(format!("the reason is {right}")) }
}

/// A finished pod: longer than grace after its last container ended, or after it was first seen finished.
fn may_release_finished(world: &World, pod: &Pod, known: &Known) -> Result<(), String> {
    let told = last_end(pod).map(|end| world.time_of_day().duration_since(end));
    let told = told.and_then(|ago| Duration::try_from(ago).ok());
    let finished = Found::Finished(uid(pod).to_owned());
    let first = known.reads.iter().filter(|read| read.found == finished).map(|read| read.at).min();
    let seen = first.map(|first| world.elapsed() - first);
    match told.max(seen) {
        Some(passed) if passed >= world.rules.grace => Ok(()),
        passed => Err(format!("its pod has finished {passed:?} ago, within grace")),
    }
}

fn last_end(pod: &Pod) -> Option<Timestamp> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    containers
        .iter()
        .filter_map(|container| Some(container.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?.0))
        .max()
}

/// A pod that is gone: longer than the release delay after it was first seen absent, or replaced.
fn may_release_gone(world: &World, pod: &Key, pod_uid: &str, warrant: &Warrant, known: &Known) -> Result<(), String> {
    let Rules { release_delay, .. } = world.rules;
    if warrant.sentence.reason == Reason::PodReplaced {
        return Ok(());
    }
    let mut pods = world.server.pods.history().iter().filter_map(|event| event.after.as_ref());
    // A hand may have altered the annotation, so that it says another name than the pod had.
    let name = pods.find(|pod| uid(*pod) == pod_uid).and_then(|pod| pod.metadata.name.as_deref());
    let is_its =
        |read: &PodRead| read.pod == *pod || (read.service == warrant.service && name == Some(&*read.pod.name));
    let is_about = |read: &&PodRead| is_its(read) && read.found == Found::Absent && read.version >= born(pod_uid);
    let first = known.reads.iter().filter(is_about).map(|read| read.at).min();
    match first.map(|first| world.elapsed() - first) {
        Some(passed) if passed >= release_delay => Ok(()),
        passed => Err(format!("its pod was first seen absent {passed:?} ago, within the release delay")),
    }
}

/// The original tool's: no pod of its name on two checks of this Service 30 s apart, and none seen in between, by a check
/// or, before the last look began, by the watch. What comes after the last check cannot be known.
fn may_delete_original(service: &Service, warrant: &Warrant, last: &PodRead, known: &Known) -> Result<(), String> {
    if *last.pod.name != *warrant.service.name || last.found != Found::Absent {
        return Err(format!("the last check found {:?} of pod {}", last.found, last.pod));
    }
    let is_check = |read: &&PodRead| read.service == warrant.service && read.pod == last.pod && read.tick <= last.tick;
    let mut checks = known.reads.iter().rev().filter(is_check);
    let is_seen_since = |check: &PodRead| {
        known.told.iter().any(|told| {
            told.pod == check.pod && told.version > check.version && told.tick > check.tick && told.tick < warrant.begun
        })
    };
    let is_first_check =
        |check: &PodRead| check.version >= born(uid(service)) && last.at - check.at >= APART && !is_seen_since(check);
    let is_confirmed = checks.by_ref().take_while(|check| check.found == Found::Absent).any(is_first_check);
    if is_confirmed { Ok(()) } else { Err("its pod was not absent on two checks 30 s apart".to_owned()) }
}

/// Why a Service should not be there any more, if so. What is not labelled, no watcher need know.
pub(crate) fn is_orphan(server: &Server, key: &Key, service: &Service) -> Option<String> {
    if service.metadata.deletion_timestamp.is_some() || !is_labelled(service) {
        return None;
    }
    is_over(server, key, &whose(service))
}

/// The same for one that has lost its label while this run of a watcher knew it and its live pod.
pub(crate) fn is_lost_orphan(server: &Server, key: &Key, service: &Service, known: &Known) -> Option<String> {
    if service.metadata.deletion_timestamp.is_some() || is_labelled(service) || !known.has_lost(service) {
        return None;
    }
    let (name, pod_uid) = only_annotated(service)?;
    // One that left the pods' selector before its end is no longer known.
    let departures = departures(server, &pod_uid);
    let [pod] = departures.as_slice() else { return None };
    if has_ended(*pod) { is_over(server, key, &Whose::Pod { name, uid: pod_uid }) } else { None }
}

/// Why nobody needs a Service any more that was made for this pod, if so.
fn is_over(server: &Server, key: &Key, whose: &Whose) -> Option<String> {
    match whose {
        Whose::Nobody => None,
        Whose::OriginalTool => server.pods.get(key).is_none().then(|| "no pod has its name".to_owned()),
        Whose::Pod { name, uid: pod_uid } => {
            let pod = server.pods.get(&key.sibling(&name.as_str().into()));
            match pod.filter(|pod| uid(*pod) == pod_uid) {
                None => Some(format!("pod {name} {pod_uid} is gone")),
                Some(pod) if !is_unfinished(pod) => Some(format!("pod {name} {pod_uid} has finished")),
                Some(_) => None,
            }
        }
    }
}

/// All changes by which the pod of this UID left the pods' selector: what it was afterwards.
fn departures<'a>(server: &'a Server, pod_uid: &str) -> Vec<Option<&'a Pod>> {
    let events = server.pods.history().iter().filter(|event| {
        let before = event.before.as_ref().filter(|pod| uid(*pod) == pod_uid);
        before.is_some_and(is_watched) && !event.after.as_ref().is_some_and(is_watched)
    });
    events.map(|event| event.after.as_ref()).collect()
}

/// Whether a change has left a pod finished, or nothing of it.
fn has_ended(after: Option<&Pod>) -> bool {
    after.is_none_or(|pod| !is_unfinished(pod))
}

/// Whether only a scan can find an orphan: the pods' watch did not see its pod end, or the Services' watch shows nothing of
/// what makes it one.
pub(crate) fn takes_a_scan(server: &Server, service_key: &Key, service: &Service) -> bool {
    let mut pods = server.pods.history().iter().rev().filter_map(|event| event.before.as_ref());
    match whose(service) {
        // One that never was makes the Service suspect as it comes.
        Whose::Pod { uid: pod_uid, .. } => {
            let was_there = pods.any(|pod| uid(pod) == pod_uid);
            was_there && !departures(server, &pod_uid).into_iter().any(has_ended)
        }
        Whose::OriginalTool => {
            let is_last_seen = pods.find(|pod| key(*pod) == *service_key).is_none_or(is_watched);
            let states = server.services.history().iter().filter_map(|event| event.after.as_ref());
            let is_as_made =
                states.filter(|state| uid(*state) == uid(service)).all(|state| whose(state) == Whose::OriginalTool);
            !is_last_seen || !is_as_made
        }
        Whose::Nobody => false,
    }
}

/// What an index that knows everything counts.
pub(crate) fn tally(server: &Server) -> Tally {
    let labelled: Vec<_> = server.services.all().filter(|(_, service)| is_labelled(service)).collect();
    let serves = |service: &Service, key: &Key, pod: &Pod, pod_key: &Key| {
        let metadata_alone = Service { metadata: service.metadata.clone(), ..Service::default() };
        let is_unnamed = |service: &Service| {
            let annotations = service.metadata.annotations.iter().flatten();
            let is_ours = |key: &str| key == POD_NAME_ANNOTATION || key == POD_UID_ANNOTATION;
            !annotations.map(|(key, _)| key.as_str()).any(is_ours)
                && !service.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Pod")
        };
        match whose(&metadata_alone) {
            Whose::Pod { name, uid: pod_uid } => key.sibling(&name.as_str().into()) == *pod_key && pod_uid == uid(pod),
            // Its spec, which would tell more, is not watched.
            Whose::OriginalTool | Whose::Nobody => key == pod_key && is_unnamed(service),
        }
    };
    let unserved = server.pods.all().filter(|(pod_key, pod)| {
        is_watched(pod)
            && label(*pod, POD_NAME_LABEL).is_some()
            && !labelled.iter().any(|(key, service)| serves(service, key, pod, pod_key))
    });
    Tally { services: labelled.len(), pods_without_service: unserved.count() }
}
