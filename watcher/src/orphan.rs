//! Decides whether a Service is an orphan, from its claim, its pod and the time; it never asks the API and never acts.

use std::{
    fmt,
    time::{Duration, Instant},
};

use common::ownership::{Claim, Doubt};
use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};

use crate::suspects::Memory;

/// How long the pod of one of the original tool's Services must be absent: one that is created anew under its name relies
/// on the old Service, since nothing on it says for which of the two it was made.
pub const SECOND_LOOK: Duration = Duration::from_secs(30);

/// The pause before the first further look at a Service whose pod has finished and is being deleted, see [`while_it_goes`].
const FIRST_LOOK: Duration = Duration::from_millis(200);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long the object of a finished pod that is being deleted is waited for: after that a finalizer holds it, and the scan
/// is soon enough. A kubelet takes a second or two.
const GOES_SOON: Duration = Duration::from_secs(60);

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
        /// What becomes of its object.
        fate: Fate,
    },
}

/// What becomes of the object of a finished pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays,
    /// It is being deleted.
    Goes,
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
            Some("Succeeded" | "Failed") => Life::Finished {
                ended_ago: last_end(pod).map(|end| ago(end, now)),
                fate: if pod.metadata.deletion_timestamp.is_some() { Fate::Goes } else { Fate::Stays },
            },
            _ => Life::Alive,
        };
        Self::Present { uid: pod.metadata.uid.clone().unwrap_or_default(), life }
    }
}

/// When the last of the pod's containers ended, if that is told of all that began. It is not where the kubelet lost sight of
/// one (its node was away, and the pod was given up); the init containers' ends then say nothing.
fn last_end(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref()?;
    let kinds = [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses];
    let mut last = None;
    for state in kinds.into_iter().flatten().flatten().filter_map(|container| container.state.as_ref()) {
        if let Some(terminated) = &state.terminated {
            last = last.max(Some(terminated.finished_at.as_ref()?.0));
        } else if state.running.is_some() {
            return None;
        }
    }
    last
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
        (Claim::Pod(_), Read::Present { life: Life::Finished { ended_ago, .. }, .. }) => {
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

/// Who removes a Service when its pod's object is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remover {
    /// Kubernetes' garbage collector: the pod owns it.
    Collector,
    /// The watcher.
    Watcher,
}

/// When to look again, whatever the verdict, at a Service that has been suspect for this long, because its pod is about to
/// go: `None` where that is not needed.
///
/// A pod that is deleted finishes first, and the watch, which has no finished pods, reports that as its end. Nobody reports
/// when its object is gone. A Service that it owns is collected then; for any other the pod is looked for again and again,
/// at pauses as long as the time passed.
#[must_use]
pub fn while_it_goes(read: &Read, remover: Remover, suspect_for: Duration) -> Option<Duration> {
    let goes = matches!(read, Read::Present { life: Life::Finished { fate: Fate::Goes, .. }, .. });
    let looks = goes && remover == Remover::Watcher && suspect_for < GOES_SOON;
    looks.then(|| suspect_for.clamp(FIRST_LOOK, LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use common::ownership::PodRef;
    use serde_json::{Value, json};

    use super::*;

    const RULES: Rules = Rules { grace: Duration::from_secs(60), release_delay: Duration::ZERO };
    const DELAYED: Rules = Rules { grace: Duration::from_secs(60), release_delay: Duration::from_secs(45) };

    fn ours() -> Claim {
        Claim::Pod(PodRef { name: "app-0".into(), uid: "u1".into() })
    }

    fn original() -> Claim {
        Claim::OriginalTool { pod_name: "app-0".into() }
    }

    fn present(uid: &str, life: Life) -> Read {
        Read::Present { uid: uid.into(), life }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The verdict at the second of two looks so many seconds apart that see the same, or at the only one.
    fn verdict(claim: &Claim, read: &Read, rules: Rules, apart: Option<u64>) -> Verdict {
        let first = Instant::now();
        let standing = standing(claim, read);
        let memory = standing.map_or(Memory::new(first), |standing| Memory::new(first).after(standing, first));
        let now = first + seconds(apart.unwrap_or(0));
        let memory = standing.map_or(memory, |standing| memory.after(standing, now));
        judge(claim, standing, memory, rules, now)
    }

    #[test]
    fn every_row() {
        let finished = |ended_ago: Option<u64>| Life::Finished { ended_ago: ended_ago.map(seconds), fate: Fate::Stays };
        let keep = Verdict::Keep(Kept::PodLives);
        let table = [
            ("ours, pod lives", ours(), present("u1", Life::Alive), RULES, None, keep.clone()),
            ("ours, pod gone", ours(), Read::Absent, RULES, None, Verdict::Delete(Reason::PodGone)),
            ("… with a delay", ours(), Read::Absent, DELAYED, None, Verdict::Wait(seconds(45), Until::Seen)),
            ("… in the middle of it", ours(), Read::Absent, DELAYED, Some(44), Verdict::Wait(seconds(1), Until::Seen)),
            ("… after it", ours(), Read::Absent, DELAYED, Some(45), Verdict::Delete(Reason::PodGone)),
            (
                "ours, pod replaced",
                ours(),
                present("u2", Life::Alive),
                DELAYED,
                None,
                Verdict::Delete(Reason::PodReplaced),
            ),
            (
                "… by one that has finished",
                ours(),
                present("u2", finished(None)),
                RULES,
                None,
                Verdict::Delete(Reason::PodReplaced),
            ),
            (
                "ours, pod finished just now",
                ours(),
                present("u1", finished(Some(0))),
                RULES,
                None,
                Verdict::Wait(seconds(60), Until::Told),
            ),
            (
                "… within the grace",
                ours(),
                present("u1", finished(Some(59))),
                RULES,
                None,
                Verdict::Wait(seconds(1), Until::Told),
            ),
            (
                "… after it",
                ours(),
                present("u1", finished(Some(60))),
                RULES,
                None,
                Verdict::Delete(Reason::PodFinished),
            ),
            (
                "… by a clock that is ahead of ours",
                ours(),
                present("u1", finished(Some(0))),
                RULES,
                Some(60),
                Verdict::Delete(Reason::PodFinished),
            ),
            (
                "ours, pod evicted before anything ran",
                ours(),
                present("u1", finished(None)),
                RULES,
                None,
                Verdict::Wait(seconds(60), Until::Seen),
            ),
            (
                "… seen so for longer than the grace",
                ours(),
                present("u1", finished(None)),
                RULES,
                Some(61),
                Verdict::Delete(Reason::PodFinished),
            ),
            ("original tool's, pod lives", original(), present("u7", Life::Alive), RULES, Some(90), keep.clone()),
            ("… finished", original(), present("u7", finished(Some(900))), RULES, Some(90), keep),
            ("… absent once", original(), Read::Absent, RULES, None, Verdict::Wait(SECOND_LOOK, Until::Seen)),
            (
                "… absent too short a time",
                original(),
                Read::Absent,
                RULES,
                Some(29),
                Verdict::Wait(seconds(1), Until::Seen),
            ),
            ("… absent twice", original(), Read::Absent, RULES, Some(30), Verdict::Delete(Reason::PodGone)),
            ("… with a delay", original(), Read::Absent, DELAYED, Some(30), Verdict::Wait(seconds(15), Until::Seen)),
            (
                "unclear",
                Claim::Unclear(Doubt::OnlyLabelled),
                Read::Absent,
                RULES,
                Some(90),
                Verdict::Keep(Kept::Unclear(Doubt::OnlyLabelled)),
            ),
            ("foreign", Claim::Foreign, Read::Absent, RULES, Some(90), Verdict::Keep(Kept::Foreign)),
        ];
        for (case, claim, read, rules, apart, expected) in table {
            assert_eq!(verdict(&claim, &read, rules, apart), expected, "{case}");
        }
    }

    #[test]
    fn a_pod_seen_in_between_makes_the_absence_begin_anew() {
        let start = Instant::now();
        let at = |seconds_later| start + seconds(seconds_later);
        let memory = Memory::new(start).after(Standing::Gone, at(0)).after(Standing::Gone, at(20));
        assert_eq!(memory.absent_since, Some(at(0)));
        let memory = memory.after(Standing::Alive, at(25)).after(Standing::Gone, at(31));
        assert_eq!(memory.absent_since, Some(at(31)));
        assert_eq!(
            judge(&original(), Some(Standing::Gone), memory, RULES, at(31)),
            Verdict::Wait(SECOND_LOOK, Until::Seen)
        );
    }

    fn read(status: &Value) -> Read {
        let pod: Pod =
            serde_json::from_value(json!({"metadata": {"name": "app-0", "uid": "u1"}, "status": status})).unwrap();
        Read::of(Some(&pod), "2026-01-01T00:10:00Z".parse().unwrap())
    }

    #[test]
    fn a_pod_has_finished_when_its_phase_says_so_and_its_last_container_tells_when() {
        let ended = |at: &str| {
            json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 0, "finishedAt": at}}})
        };
        let running = json!({"name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}});
        let finished = |ended_ago: Option<u64>| {
            present("u1", Life::Finished { ended_ago: ended_ago.map(seconds), fate: Fate::Stays })
        };
        for (case, status, expected) in [
            ("no status", json!({}), present("u1", Life::Alive)),
            ("pending", json!({"phase": "Pending"}), present("u1", Life::Alive)),
            ("running", json!({"phase": "Running", "containerStatuses": [running]}), present("u1", Life::Alive)),
            ("its node is lost", json!({"phase": "Unknown"}), present("u1", Life::Alive)),
            (
                "between two restarts",
                json!({"phase": "Running", "containerStatuses": [ended("2026-01-01T00:00:00Z")]}),
                present("u1", Life::Alive),
            ),
            ("evicted", json!({"phase": "Failed", "reason": "Evicted"}), finished(None)),
            (
                "failed",
                json!({"phase": "Failed", "initContainerStatuses": [ended("2026-01-01T00:00:00Z")],
                    "containerStatuses": [ended("2026-01-01T00:08:00Z"), ended("2026-01-01T00:09:00Z")]}),
                finished(Some(60)),
            ),
            (
                "failed in its init container",
                json!({"phase": "Failed", "initContainerStatuses": [ended("2026-01-01T00:05:00Z")],
                    "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false,
                        "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}}]}),
                finished(Some(300)),
            ),
            (
                "given up while its node was away",
                json!({"phase": "Failed", "initContainerStatuses": [ended("2026-01-01T00:00:00Z")],
                    "containerStatuses": [running]}),
                finished(None),
            ),
            (
                "lost when its node restarted",
                json!({"phase": "Failed", "initContainerStatuses": [ended("2026-01-01T00:00:00Z")],
                    "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                        "state": {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": null}}}]}),
                finished(None),
            ),
            (
                "succeeded on a node whose clock is ahead",
                json!({"phase": "Succeeded", "containerStatuses": [ended("2026-01-01T00:11:00Z")]}),
                finished(Some(0)),
            ),
        ] {
            assert_eq!(read(&status), expected, "{case}");
        }
        assert_eq!(Read::of(None, Timestamp::now()), Read::Absent);
    }

    #[test]
    fn a_pod_that_is_being_deleted_lives_until_it_is_gone() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "app-0", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"phase": "Running"},
        }))
        .unwrap();
        assert_eq!(Read::of(Some(&pod), Timestamp::now()), present("u1", Life::Alive));
    }

    #[test]
    fn the_pod_of_a_service_without_owner_is_looked_for_until_its_object_is_gone() {
        let going = |fate| present("u1", Life::Finished { ended_ago: Some(Duration::ZERO), fate });
        let millis = Duration::from_millis;
        for (suspect_for, expected) in [
            (millis(0), Some(millis(200))),
            (millis(900), Some(millis(900))),
            (seconds(40), Some(seconds(10))),
            (seconds(60), None),
        ] {
            assert_eq!(while_it_goes(&going(Fate::Goes), Remover::Watcher, suspect_for), expected, "{suspect_for:?}");
        }
        for (case, read, remover) in [
            ("it is collected", going(Fate::Goes), Remover::Collector),
            ("it stays", going(Fate::Stays), Remover::Watcher),
            ("it lives", present("u1", Life::Alive), Remover::Watcher),
            ("it is gone", Read::Absent, Remover::Watcher),
        ] {
            assert_eq!(while_it_goes(&read, remover, millis(0)), None, "{case}");
        }
        let pod = json!({"metadata": {"name": "app-0", "uid": "u1", "deletionTimestamp": "2026-01-01T00:09:00Z"},
            "status": {"phase": "Succeeded"}});
        let read = Read::of(Some(&serde_json::from_value(pod).unwrap()), "2026-01-01T00:10:00Z".parse().unwrap());
        assert_eq!(read, present("u1", Life::Finished { ended_ago: None, fate: Fate::Goes }));
    }
}
