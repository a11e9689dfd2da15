//! Decides whether a Service is an orphan, from its claim, its pod and the time; it never asks the API and never acts.

use std::{
    fmt,
    time::{Duration, Instant},
};

use common::ownership::{Claim, Doubt};
use k8s_openapi::{
    api::core::v1::{ContainerStatus, Pod},
    jiff::Timestamp,
};

use crate::suspects::Memory;

/// How long the pod of one of the original tool's Services must be absent: one that is created anew under its name relies
/// on the old Service, since nothing on it says for which of the two it was made.
pub const SECOND_LOOK: Duration = Duration::from_secs(30);

/// Why a Service is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Its pod is gone.
    PodGone,
    /// Another pod has its pod's name now.
    PodReplaced,
    /// Its pod failed, succeeded or was evicted, longer ago than the grace period.
    PodFinished,
}

impl Reason {
    /// The word in logs, Events and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PodGone => "PodGone",
            Self::PodReplaced => "PodReplaced",
            Self::PodFinished => "PodFinished",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a Service is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Its pod lives.
    PodLives,
    /// It is being deleted; whoever holds its finalizer ends that.
    BeingDeleted,
    /// It is marked as ours, and nobody can tell whose it is.
    Unclear(Doubt),
    /// It is someone else's.
    Foreign,
}

/// What to do about a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Leave it.
    Keep(Kept),
    /// Look again after this time.
    Wait(Duration, Until),
    /// Delete it.
    Delete(Reason),
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// For what only this process can know: how long it has seen the pod absent, or finished.
    Seen,
    /// For a time that the pod itself tells, so that any later run knows it too.
    Told,
}

/// The times that the settings give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a finished pod keeps its Service.
    pub grace: Duration,
    /// How long a pod that is gone keeps its Service.
    pub release_delay: Duration,
}

/// The pod that has the name, as read from the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// None has.
    Absent,
    /// This one.
    Present {
        /// Its UID.
        uid: String,
        /// Whether it still runs.
        life: Life,
    },
}

/// Whether a pod still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It does, or may. One that is being deleted still needs its port: a leaving member says goodbye through it.
    Alive,
    /// It never will again.
    Finished {
        /// How long ago its last container ended; `None` where none ever ran, as with an evicted pod.
        ended_ago: Option<Duration>,
    },
}

/// How the pod stands that a Service was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has not finished.
    Alive,
    /// It has finished.
    Finished {
        /// As in [`Life::Finished`].
        ended_ago: Option<Duration>,
    },
    /// No pod has its name.
    Gone,
    /// Another pod has its name.
    Replaced,
}

impl Read {
    /// Reads from a Pod object what matters here. `now` is the time of day: nodes' clocks wrote the pod's times.
    #[must_use]
    pub fn of(pod: Option<&Pod>, now: Timestamp) -> Self {
        let Some(pod) = pod else { return Self::Absent };
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let life = match phase {
            Some("Succeeded" | "Failed") => Life::Finished { ended_ago: last_end(pod).map(|end| ago(end, now)) },
            _ => Life::Alive,
        };
        Self::Present { uid: pod.metadata.uid.clone().unwrap_or_default(), life }
    }
}

/// When the last of the pod's containers ended.
fn last_end(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    let ended = |container: &ContainerStatus| {
        let state = container.state.as_ref()?;
        Some(state.terminated.as_ref()?.finished_at.as_ref()?.0)
    };
    let kinds = [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses];
    kinds.into_iter().flatten().flatten().filter_map(ended).max()
}

/// Nothing where a node's clock is ahead of ours.
fn ago(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

/// How the pod of a claim stands, if the claim names one: `read` is what the API says of that name.
#[must_use]
pub fn standing(claim: &Claim, read: &Read) -> Option<Standing> {
    Some(match (claim, read) {
        (Claim::Pod(_) | Claim::OriginalTool { .. }, Read::Absent) => Standing::Gone,
        (Claim::Pod(pod), Read::Present { uid, .. }) if pod.uid != *uid => Standing::Replaced,
        // Which of the pods of that name it was made for, nothing says; so any of them keeps it, finished or not.
        (Claim::OriginalTool { .. }, Read::Present { .. }) => Standing::Alive,
        (Claim::Pod(_), Read::Present { life: Life::Alive, .. }) => Standing::Alive,
        (Claim::Pod(_), Read::Present { life: Life::Finished { ended_ago }, .. }) => {
            Standing::Finished { ended_ago: *ended_ago }
        }
        (Claim::Unclear(_) | Claim::Foreign, _) => return None,
    })
}

impl Memory {
    /// What is remembered after a look that found the pod so.
    #[must_use]
    pub fn after(self, standing: Standing, now: Instant) -> Self {
        let since = |holds: bool, before: Option<Instant>| holds.then_some(before.unwrap_or(now));
        Self {
            absent_since: since(standing == Standing::Gone, self.absent_since),
            finished_since: since(matches!(standing, Standing::Finished { .. }), self.finished_since),
            ..self
        }
    }
}

/// What to do about a Service with this claim, whose pod stands so. `memory` includes this look.
#[must_use]
pub fn judge(claim: &Claim, standing: Option<Standing>, memory: Memory, rules: Rules, now: Instant) -> Verdict {
    let seen = |since: Option<Instant>| since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
    let once = |needed: Duration, passed: Duration, until, reason| match needed.saturating_sub(passed) {
        Duration::ZERO => Verdict::Delete(reason),
        left => Verdict::Wait(left, until),
    };
    match (claim, standing) {
        (Claim::Foreign, _) => Verdict::Keep(Kept::Foreign),
        (Claim::Unclear(doubt), _) => Verdict::Keep(Kept::Unclear(doubt.clone())),
        (_, None | Some(Standing::Alive)) => Verdict::Keep(Kept::PodLives),
        (_, Some(Standing::Replaced)) => Verdict::Delete(Reason::PodReplaced),
        (Claim::Pod(_), Some(Standing::Gone)) => {
            once(rules.release_delay, seen(memory.absent_since), Until::Seen, Reason::PodGone)
        }
        (Claim::OriginalTool { .. }, Some(Standing::Gone)) => {
            once(rules.release_delay.max(SECOND_LOOK), seen(memory.absent_since), Until::Seen, Reason::PodGone)
        }
        (_, Some(Standing::Finished { ended_ago })) => {
            let until = if ended_ago.is_some() { Until::Told } else { Until::Seen };
            let passed = seen(memory.finished_since).max(ended_ago.unwrap_or_default());
            once(rules.grace, passed, until, Reason::PodFinished)
        }
    }
}
