//! Decides which NetService is looked at when: at once after a change, but not more often than is of use, and later after a
//! failure, or where nothing that is done lasts. It does nothing itself.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use common::api::retry::Backoff;

use crate::{
    index::Name,
    net_service::Edition,
    refusal::{Refusal, Refusals, What},
};

/// The shortest time between two looks at the same NetService because of changes: while a hundred pods start, its slices are
/// written twice a second and not a hundred times.
const PACE: Duration = Duration::from_millis(500);

/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The shortest time until a Service that was refused is asked for again.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// So many steps are taken one right after the other: a Service is deleted, another is created.
const STEPS: u32 = 3;

/// So often in a row what does not last is done again before pauses grow: somebody may be editing by hand.
const ROUNDS: u32 = 10;

/// After so long in which nothing was done, what is done is not in a row with what was done before. What undoes it may take its
/// time.
const QUIET: Duration = Duration::from_secs(60);

/// The NetServices that are to be looked at.
#[derive(Debug, Default)]
pub struct Work {
    items: HashMap<Name, Item>,
    due: BTreeSet<(Instant, Name)>,
}

#[derive(Debug)]
struct Item {
    due: Option<Instant>,
    /// When it was last looked at.
    begun: Option<Instant>,
    is_running: bool,
    /// What has changed since the look that runs began.
    stale: Option<Cause>,
    /// How often in a row something was done, and something was to be done again.
    rounds: u32,
    /// When something was last done.
    done: Option<Instant>,
    /// Until then nothing but another input is worth a look.
    rests_until: Option<Instant>,
    backoff: Backoff,
    refusals: Refusals,
}

/// What can change for a NetService.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// What it owns, or what it was told: by the controller itself, or by somebody who is to be put right. Who reverts each
    /// time what is put right must not make the controller do it without pause.
    Output,
    /// What it asks for, or the pods.
    Input,
}

impl Default for Item {
    fn default() -> Self {
        Self {
            due: None,
            begun: None,
            is_running: false,
            stale: None,
            rounds: 0,
            done: None,
            rests_until: None,
            backoff: Backoff::up_to(LONGEST_PAUSE),
            refusals: Refusals::default(),
        }
    }
}

impl Work {
    /// Something has changed for it.
    pub fn changed(&mut self, name: Name, cause: Cause, now: Instant) {
        let item = self.items.entry(name.clone()).or_default();
        if item.is_running {
            item.stale = item.stale.max(Some(cause));
            return;
        }
        let at = item.after_change(cause, now);
        self.schedule(name, at);
    }

    /// The next that is due; it runs until [`ended`](Self::ended) is called.
    pub fn begin(&mut self, now: Instant) -> Option<Name> {
        let (due, _) = self.due.first()?;
        if *due > now {
            return None;
        }
        let (_, name) = self.due.pop_first()?;
        let item = self.items.entry(name.clone()).or_default();
        (item.due, item.begun, item.is_running, item.stale) = (None, Some(now), true, None);
        item.refusals.expire(now);
        Some(name)
    }

    /// When the next is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// What the API last refused for this spec, and what it said, while it is not to be asked again.
    #[must_use]
    pub fn refused(&self, name: &Name, edition: &Edition) -> Vec<(What, &str)> {
        self.items.get(name).map(|item| item.refusals.of(edition)).unwrap_or_default()
    }

    /// A look is over. Whether it failed in a way that was not told yet.
    pub fn ended(&mut self, name: &Name, end: End, now: Instant) -> Failing {
        let item = self.items.entry(name.clone()).or_default();
        item.is_running = false;
        if matches!(end, End::Halfway | End::Done) && item.done.replace(now).is_some_and(|last| last + QUIET < now) {
            item.rounds = 0;
        }
        let mut failing = Failing::NoNews;
        let at = match end {
            End::NothingToDo => {
                item.rests_until = None;
                item.calm_down();
                None
            }
            End::Halfway if item.rounds < STEPS => {
                item.rounds += 1;
                item.calm_down();
                Some(now)
            }
            End::Done | End::Halfway => {
                let growth = 2_u32.saturating_pow(item.rounds.saturating_sub(ROUNDS));
                let rest = PACE.saturating_mul(growth).min(LONGEST_PAUSE);
                item.rounds = item.rounds.saturating_add(1);
                item.rests_until = Some(now + rest);
                item.calm_down();
                // To see whether that was all.
                Some(now + rest)
            }
            // It is told at once, and tried again later.
            End::Refused(refusal) => {
                let again = now + item.backoff.pause(None).max(REFUSED_PAUSE);
                if item.refusals.add(refusal, again) {
                    failing = Failing::News;
                }
                Some(now)
            }
            End::Failed(asked) => {
                if item.backoff.tries() == 0 {
                    failing = Failing::News;
                }
                Some(now + item.backoff.pause(asked))
            }
        };
        let after_change = item.stale.map(|cause| item.after_change(cause, now));
        let again = item.refusals.next();
        for at in [at, after_change, again].into_iter().flatten() {
            self.schedule(name.clone(), at);
        }
        failing
    }

    /// A Service is gone, and what it had is free: those that were refused may ask again soon.
    pub fn freed(&mut self, now: Instant) {
        let soon = now + REFUSED_PAUSE;
        let hastened = self.items.iter_mut().filter_map(|(name, item)| {
            let is_hastened = item.refusals.hasten(soon);
            (is_hastened && !item.is_running).then(|| name.clone())
        });
        for name in hastened.collect::<Vec<_>>() {
            self.schedule(name, soon);
        }
    }

    /// It is gone.
    pub fn forget(&mut self, name: &Name) {
        if let Some(Item { due: Some(due), .. }) = self.items.remove(name) {
            self.due.remove(&(due, name.clone()));
        }
    }

    fn schedule(&mut self, name: Name, at: Instant) {
        let item = self.items.entry(name.clone()).or_default();
        let at = item.due.map_or(at, |before| before.min(at));
        if let Some(before) = item.due.replace(at) {
            self.due.remove(&(before, name.clone()));
        }
        self.due.insert((at, name));
    }
}

impl Item {
    /// When it is looked at because of a change.
    fn after_change(&mut self, cause: Cause, now: Instant) -> Instant {
        if cause == Cause::Input {
            (self.rounds, self.rests_until) = (0, None);
        }
        let paced = self.begun.map(|begun| begun + PACE);
        [Some(now), paced, self.rests_until].into_iter().flatten().max().unwrap_or(now)
    }

    /// It did not fail: pauses are short again. A refusal is a failure that lasts.
    fn calm_down(&mut self) {
        if self.refusals.are_over() {
            self.backoff.reset();
        }
    }
}

/// Whether a failure is worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// It is the first in a row, or the first that says this.
    News,
    /// It is none, or was told.
    NoNews,
}

/// How a look at a NetService ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Everything is as it should be.
    NothingToDo,
    /// Something was done, and more is to be done after it.
    Halfway,
    /// All that was to be done is.
    Done,
    /// The API refuses something.
    Refused(Refusal),
    /// It failed; the server asked to wait for so long.
    Failed(Option<Duration>),
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
