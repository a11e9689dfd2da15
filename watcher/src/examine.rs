//! Decides, step by step, how a suspect is examined: what to read next, what to delete; it never reads and never deletes.
//!
//! What a step decides rests on what was read before it, and never on two reads in the wrong order. A pod that was read as
//! absent *before* its Service says nothing if both came into being in between; so unless the pod was known before either
//! was read, the pod is read again, after the Service.

use std::{sync::Arc, time::Instant};

use common::ownership::{Claim, claim_once_proven};
use k8s_openapi::api::core::v1::Service;

use crate::{
    orphan::{Kept, Read, Reason, Rules, Standing, Until, Verdict, judge, standing},
    suspects::{Case, Memory},
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
        let claim = claim_once_proven(service, |pod| known.is_some_and(|known| known.pod == Uid::of(&pod.uid)));
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
        let memory = standing.map_or(self.case.memory, |standing| self.case.memory.after(standing, now));
        self.case.memory = memory;
        match judge(&claim, standing, memory, self.rules, now) {
            Verdict::Keep(why) => kept(why),
            Verdict::Wait(time, until) => Step::Done(Finding::Wait { at: now + time, memory, until }),
            Verdict::Delete(reason) => {
                let sentence = Sentence { uid, resource_version, reason, pod, pod_uid };
                self.sentence = Some(sentence.clone());
                Step::Delete(sentence)
            }
        }
    }
}
