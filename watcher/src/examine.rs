//! Decides, step by step, how a suspect is examined: what to read next, what to delete; it never reads and never deletes.
//!
//! What a step decides rests on what was read before it, and never on two reads in the wrong order. A pod that was read as
//! absent *before* its Service says nothing if both came into being in between; so unless the pod was known before either
//! was read, the pod is read again, after the Service.

use std::{sync::Arc, time::Instant};

use common::ownership::{Claim, PodRef, claim_once_proven};
use k8s_openapi::api::core::v1::Service;

use crate::{
    orphan::{Kept, Read, Reason, Remover, Rules, Standing, Until, Verdict, judge, standing, while_it_goes},
    suspects::{Case, Memory, Subject},
    uid::Uid,
};

/// How often a Service may change under a delete before the look is put off.
const CONFLICTS: u32 = 5;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Read the Service, and the pod of this name, at the same time.
    ReadBoth(Arc<str>),
    /// Read the pod of this name.
    ReadPod(Arc<str>),
    /// Delete the Service, if it still is this one.
    Delete(Sentence),
    /// That was all.
    Done(Finding),
}

/// A Service that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Its UID.
    pub uid: String,
    /// The resource version that was judged.
    pub resource_version: String,
    /// Why.
    pub reason: Reason,
    /// Its pod's name.
    pub pod: String,
    /// Its pod's UID; nothing on one of the original tool's tells it.
    pub pod_uid: Option<String>,
}

/// What an examination has found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// There is no such Service.
    Gone,
    /// It stays.
    Kept {
        /// Its UID.
        uid: String,
        /// Its resource version.
        resource_version: String,
        /// Why.
        why: Kept,
    },
    /// It has to be looked at again.
    Wait {
        /// When.
        at: Instant,
        /// What is remembered until then.
        memory: Memory,
        /// What for.
        until: Until,
    },
    /// It was deleted.
    Deleted(Sentence),
}

/// What became of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, or goes as soon as its finalizers allow.
    Done,
    /// It was gone already.
    NotFound,
    /// It was no longer the one that was judged.
    Conflict,
}

/// One examination of one suspect.
#[derive(Debug)]
pub struct Examination {
    case: Case,
    rules: Rules,
    service: Option<Service>,
    sentence: Option<Sentence>,
    conflicts: u32,
}

/// Whether the pod was certainly read after its Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Unknown,
    PodAfterService,
}

impl Examination {
    /// Begins one.
    #[must_use]
    pub fn new(case: Case, rules: Rules) -> (Self, Step) {
        let first = Step::ReadBoth(Arc::clone(&case.suspect.pod));
        (Self { case, rules, service: None, sentence: None, conflicts: 0 }, first)
    }

    /// Both were read.
    pub fn read_both(&mut self, service: Option<Service>, pod: &Read, now: Instant) -> Step {
        self.service = service;
        let name = Arc::clone(&self.case.suspect.pod);
        self.weigh(&name, pod, Order::Unknown, now)
    }

    /// The pod of this name was read.
    pub fn read_pod(&mut self, name: &str, pod: &Read, now: Instant) -> Step {
        self.weigh(name, pod, Order::PodAfterService, now)
    }

    /// The delete was answered.
    pub fn deleted(&mut self, deletion: Deletion, now: Instant) -> Step {
        match (deletion, self.sentence.take()) {
            (Deletion::Done, Some(sentence)) => Step::Done(Finding::Deleted(sentence)),
            (Deletion::Conflict, _) if self.conflicts < CONFLICTS => {
                self.conflicts += 1;
                Step::ReadBoth(Arc::clone(&self.case.suspect.pod))
            }
            // Somebody writes to it all the time; what has been seen of its pod stands.
            (Deletion::Conflict, _) => {
                let at = now + std::time::Duration::from_secs(1);
                Step::Done(Finding::Wait { at, memory: self.case.memory, until: Until::Seen })
            }
            (Deletion::Done | Deletion::NotFound, _) => Step::Done(Finding::Gone),
        }
    }

    fn weigh(&mut self, read_name: &str, read: &Read, order: Order, now: Instant) -> Step {
        let Some(service) = &self.service else { return Step::Done(Finding::Gone) };
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let uid = text(&service.metadata.uid);
        let resource_version = text(&service.metadata.resource_version);
        let kept = |why| {
            let (uid, resource_version) = (uid.clone(), resource_version.clone());
            Step::Done(Finding::Kept { uid, resource_version, why })
        };
        if service.metadata.deletion_timestamp.is_some() {
            return kept(Kept::BeingDeleted);
        }
        let known = self.case.suspect.known.filter(|known| known.service == Uid::of(&uid));
        let is_known = |pod: &PodRef| {
            *pod.name == *self.case.suspect.pod && known.is_some_and(|known| known.pod == Uid::of(&pod.uid))
        };
        let claim = claim_once_proven(service, is_known);
        let (pod, pod_uid) = match &claim {
            Claim::Pod(pod) => (pod.name.clone(), Some(pod.uid.clone())),
            Claim::OriginalTool { pod_name } => (pod_name.clone(), None),
            Claim::Unclear(doubt) => return kept(Kept::Unclear(doubt.clone())),
            Claim::Foreign => return kept(Kept::Foreign),
        };
        if pod != read_name {
            return Step::ReadPod(pod.into());
        }
        let standing = standing(&claim, read);
        let is_absence = matches!(standing, Some(Standing::Gone | Standing::Replaced));
        let was_known = known.is_some_and(|known| pod_uid.as_deref().map(Uid::of) == Some(known.pod));
        if is_absence && order == Order::Unknown && !was_known {
            return Step::ReadPod(pod.into());
        }
        let subject = Subject { service: Uid::of(&uid), pod: pod_uid.as_deref().map(Uid::of) };
        let memory = self.case.memory.of(subject, now);
        let memory = standing.map_or(memory, |standing| memory.after(standing, now));
        self.case.memory = memory;
        let mut owners = service.metadata.owner_references.iter().flatten();
        let is_owned = owners.any(|owner| Some(&owner.uid) == pod_uid.as_ref());
        let remover = if is_owned { Remover::Collector } else { Remover::Watcher };
        let soon = while_it_goes(read, remover, self.case.begun.saturating_duration_since(memory.noticed));
        // An answer may be late. How long the pod has been so is counted from the end of the first look that found it so to
        // the beginning of this one, never more than lies between the two reads.
        match judge(&claim, standing, memory, self.rules, self.case.begun) {
            Verdict::Keep(why) => match soon {
                Some(time) => Step::Done(Finding::Wait { at: now + time, memory, until: Until::Told }),
                None => kept(why),
            },
            Verdict::Wait(time, until) => {
                let time = soon.map_or(time, |soon| soon.min(time));
                Step::Done(Finding::Wait { at: now + time, memory, until })
            }
            Verdict::Delete(reason) => {
                let sentence = Sentence { uid, resource_version, reason, pod, pod_uid };
                self.sentence = Some(sentence.clone());
                Step::Delete(sentence)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use common::key::Key;
    use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        orphan::{Fate, Life},
        suspects::{Known, Suspect},
    };

    const RULES: Rules = Rules { grace: Duration::from_secs(60), release_delay: Duration::ZERO };

    fn service(labels: &Value, annotations: &Value) -> Service {
        serde_json::from_value(json!({
            "metadata": {"name": "app-0", "namespace": "ns", "uid": "s1", "resourceVersion": "7",
                "labels": labels, "annotations": annotations},
            "spec": {"type": "NodePort", "selector": {POD_NAME_LABEL: "app-0"}},
        }))
        .unwrap()
    }

    fn ours(pod: &str, uid: &str) -> Service {
        service(&json!({CREATOR_LABEL: CREATOR}), &json!({POD_NAME_ANNOTATION: pod, POD_UID_ANNOTATION: uid}))
    }

    fn original() -> Service {
        service(&json!({CREATOR_LABEL: CREATOR}), &json!({}))
    }

    /// An examination of Service app-0, which was known to be made for the pod with this UID.
    fn examination(known: Option<&str>, now: Instant) -> Examination {
        let known = known.map(|uid| Known { service: Uid::of("s1"), pod: Uid::of(uid) });
        let service = Key { namespace: "ns".into(), name: "app-0".into() };
        let case =
            Case { suspect: Suspect { service, pod: "app-0".into(), known }, memory: Memory::new(now), begun: now };
        let (examination, first) = Examination::new(case, RULES);
        assert_eq!(first, Step::ReadBoth("app-0".into()));
        examination
    }

    fn alive(uid: &str) -> Read {
        Read::Present { uid: uid.into(), life: Life::Alive }
    }

    #[track_caller]
    fn sentence(step: Step) -> Sentence {
        match step {
            Step::Delete(sentence) => sentence,
            other => panic!("no sentence: {other:?}"),
        }
    }

    fn kept(why: Kept) -> Step {
        Step::Done(Finding::Kept { uid: "s1".into(), resource_version: "7".into(), why })
    }

    #[test]
    fn the_service_of_a_pod_known_before_is_judged_by_one_look() {
        let now = Instant::now();
        let mut examination = examination(Some("u1"), now);
        let sentence = sentence(examination.read_both(Some(ours("app-0", "u1")), &Read::Absent, now));
        assert_eq!((sentence.uid.as_str(), sentence.resource_version.as_str()), ("s1", "7"));
        assert_eq!((sentence.reason, sentence.pod_uid.as_deref()), (Reason::PodGone, Some("u1")));
        assert_eq!(examination.deleted(Deletion::Done, now), Step::Done(Finding::Deleted(sentence)));
    }

    #[test]
    fn a_pod_that_was_not_known_is_read_again_after_its_service() {
        let now = Instant::now();
        for (first, known) in [(Read::Absent, None), (Read::Absent, Some("u1")), (alive("u1"), Some("u1"))] {
            let mut examination = examination(known, now);
            // Both came into being after the pod's name was read, and before the Service was.
            let step = examination.read_both(Some(ours("app-0", "u2")), &first, now);
            assert_eq!(step, Step::ReadPod("app-0".into()), "{first:?}, {known:?}");
            assert_eq!(examination.read_pod("app-0", &alive("u2"), now), kept(Kept::PodLives));
        }
        let mut unknown = examination(None, now);
        unknown.read_both(Some(ours("app-0", "u2")), &Read::Absent, now);
        assert_eq!(sentence(unknown.read_pod("app-0", &Read::Absent, now)).reason, Reason::PodGone);
    }

    #[test]
    fn the_service_itself_says_which_pod_to_read() {
        let now = Instant::now();
        let mut examination = examination(Some("u1"), now);
        let step = examination.read_both(Some(ours("app-9", "u9")), &Read::Absent, now);
        assert_eq!(step, Step::ReadPod("app-9".into()));
        assert_eq!(examination.read_pod("app-9", &alive("u9"), now), kept(Kept::PodLives));
    }

    #[test]
    fn a_service_that_changes_under_the_delete_is_read_and_judged_again() {
        let now = Instant::now();
        let mut examination = examination(Some("u1"), now);
        sentence(examination.read_both(Some(ours("app-0", "u1")), &Read::Absent, now));
        assert_eq!(examination.deleted(Deletion::Conflict, now), Step::ReadBoth("app-0".into()));
        let step = examination.read_both(Some(service(&json!({}), &json!({}))), &Read::Absent, now);
        assert_eq!(step, kept(Kept::Foreign));
    }

    #[test]
    fn a_service_that_changes_all_the_time_is_put_off() {
        let now = Instant::now();
        let mut examination = examination(Some("u1"), now);
        for _ in 0..CONFLICTS {
            sentence(examination.read_both(Some(ours("app-0", "u1")), &Read::Absent, now));
            assert_eq!(examination.deleted(Deletion::Conflict, now), Step::ReadBoth("app-0".into()));
        }
        sentence(examination.read_both(Some(ours("app-0", "u1")), &Read::Absent, now));
        let Step::Done(Finding::Wait { at, .. }) = examination.deleted(Deletion::Conflict, now) else {
            panic!("it goes on and on");
        };
        assert!(at > now);
    }

    #[test]
    fn what_is_gone_or_going_needs_no_delete() {
        let now = Instant::now();
        assert_eq!(examination(Some("u1"), now).read_both(None, &Read::Absent, now), Step::Done(Finding::Gone));
        let mut going = ours("app-0", "u1");
        going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        let step = examination(Some("u1"), now).read_both(Some(going), &Read::Absent, now);
        assert_eq!(step, kept(Kept::BeingDeleted));
        let mut examination = examination(Some("u1"), now);
        sentence(examination.read_both(Some(ours("app-0", "u1")), &Read::Absent, now));
        assert_eq!(examination.deleted(Deletion::NotFound, now), Step::Done(Finding::Gone));
    }

    #[test]
    fn the_original_tools_takes_two_looks_each_with_the_pod_read_last() {
        let now = Instant::now();
        let mut first = examination(None, now);
        assert_eq!(first.read_both(Some(original()), &Read::Absent, now), Step::ReadPod("app-0".into()));
        let Step::Done(Finding::Wait { at, memory, until: Until::Seen }) = first.read_pod("app-0", &Read::Absent, now)
        else {
            panic!("one look is not enough");
        };
        assert_eq!(at, now + Duration::from_secs(30));
        let mut second = examination(None, now);
        (second.case.memory, second.case.begun) = (memory, at);
        assert_eq!(second.read_both(Some(original()), &Read::Absent, at), Step::ReadPod("app-0".into()));
        let sentence = sentence(second.read_pod("app-0", &Read::Absent, at));
        assert_eq!((sentence.reason, sentence.pod_uid), (Reason::PodGone, None));
    }

    #[test]
    fn a_pod_that_finished_because_it_is_deleted_is_looked_for_until_it_is_gone() {
        let now = Instant::now();
        let going = Read::Present { uid: "u1".into(), life: Life::Finished { ended_ago: None, fate: Fate::Goes } };
        for (case, made) in [("ours", ours("app-0", "u1")), ("the original tool's", original())] {
            let mut examination = examination(Some("u1"), now);
            let Step::Done(Finding::Wait { at, .. }) = examination.read_both(Some(made), &going, now) else {
                panic!("{case} is not looked at again");
            };
            assert_eq!(at, now + Duration::from_millis(200), "{case}");
        }
        let mut owned = ours("app-0", "u1");
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "app-0", "uid": "u1"});
        owned.metadata.owner_references = Some(vec![serde_json::from_value(owner).unwrap()]);
        let step = examination(Some("u1"), now).read_both(Some(owned), &going, now);
        assert!(matches!(step, Step::Done(Finding::Wait { at, .. }) if at == now + RULES.grace), "{step:?}");
    }

    #[test]
    fn the_time_that_an_answer_takes_does_not_count_as_absence() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let look = |memory, begun, answered| {
            let mut examination = examination(None, begun);
            examination.case.memory = memory;
            examination.read_both(Some(original()), &Read::Absent, begun);
            examination.read_pod("app-0", &Read::Absent, answered)
        };
        let Step::Done(Finding::Wait { at: again, memory, .. }) = look(Memory::new(now), now, at(10)) else {
            panic!("one look is not enough");
        };
        assert_eq!(again, at(40), "it may have been read at the end");
        let Step::Done(Finding::Wait { at: again, memory, .. }) = look(memory, at(20), at(41)) else {
            panic!("it may have been read at the beginning");
        };
        assert_eq!(again, at(61));
        sentence(look(memory, at(40), at(41)));
    }

    #[test]
    fn what_was_seen_for_an_earlier_pod_says_nothing_about_this_one() {
        let now = Instant::now();
        let evicted =
            |uid: &str| Read::Present { uid: uid.into(), life: Life::Finished { ended_ago: None, fate: Fate::Stays } };
        let mut first = examination(None, now);
        let Step::Done(Finding::Wait { memory, .. }) = first.read_both(Some(ours("app-0", "u1")), &evicted("u1"), now)
        else {
            panic!("the grace is not over");
        };
        let later = now + RULES.grace;
        let mut second = examination(None, later);
        second.case.memory = memory;
        let step = second.read_both(Some(ours("app-0", "u2")), &evicted("u2"), later);
        assert!(matches!(step, Step::Done(Finding::Wait { at, .. }) if at == later + RULES.grace), "{step:?}");
    }

    #[test]
    fn a_label_lost_by_hand_saves_only_what_was_not_known() {
        let now = Instant::now();
        let unlabelled = || {
            let annotations = json!({POD_NAME_ANNOTATION: "app-0", POD_UID_ANNOTATION: "u1"});
            Some(service(&json!({}), &annotations))
        };
        let step = examination(Some("u1"), now).read_both(unlabelled(), &Read::Absent, now);
        assert_eq!(sentence(step).reason, Reason::PodGone);
        for known in [None, Some("u9")] {
            let step = examination(known, now).read_both(unlabelled(), &Read::Absent, now);
            assert_eq!(step, kept(Kept::Unclear(common::ownership::Doubt::OnlyAnnotated)), "{known:?}");
        }
        let annotations = json!({POD_NAME_ANNOTATION: "app-9", POD_UID_ANNOTATION: "u1"});
        let step = examination(Some("u1"), now).read_both(Some(service(&json!({}), &annotations)), &alive("u1"), now);
        assert_eq!(step, kept(Kept::Unclear(common::ownership::Doubt::OnlyAnnotated)), "another name for the same pod");
        let mut copy = examination(Some("u1"), now);
        copy.case.suspect.known = Some(Known { service: Uid::of("another"), pod: Uid::of("u1") });
        let step = copy.read_both(unlabelled(), &Read::Absent, now);
        assert_eq!(step, kept(Kept::Unclear(common::ownership::Doubt::OnlyAnnotated)), "a copy by hand");
    }
}
