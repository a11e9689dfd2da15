//! Has suspects examined, as many at a time as the pace allows, and puts off those whose look failed; what follows from an
//! examination that came to its end is not its business.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use common::api::{classify::Meaning, client::CallError};
use common::key::Key;
use tokio::task::JoinSet;

use crate::{
    cleanup::{Cleanup, Outcome},
    pace::Pace,
    suspects::{Case, Memory, Next, Suspect, Suspects},
};

/// The pause before the next look at a Service that was refused for a reason of its own; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest such pause where a permission is missing.
const LONGEST_FORBIDDEN: Duration = Duration::from_secs(30);

/// The suspects, and who looks at them.
pub struct Examiner {
    cleanup: Cleanup,
    suspects: Suspects,
    jobs: JoinSet<(Case, Outcome)>,
    pace: Pace,
    /// Namespaces where a permission is missing: no reason to wait elsewhere.
    forbidden: HashMap<Arc<str>, Pace>,
    longest_pause: Duration,
}

/// Whom a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Everybody: the API does not answer.
    Silence,
    /// A namespace, or one Service.
    Refusal {
        /// Whether it is news.
        is_first: bool,
    },
}

impl Examiner {
    /// One without suspects. One Service that is refused again and again is looked at again at least after
    /// `longest_pause`.
    #[must_use]
    pub fn new(cleanup: Cleanup, longest_pause: Duration) -> Self {
        Self {
            cleanup,
            suspects: Suspects::default(),
            jobs: JoinSet::new(),
            pace: Pace::default(),
            forbidden: HashMap::new(),
            longest_pause,
        }
    }

    /// Adds a suspect, to be looked at when it is due.
    pub fn add(&mut self, suspect: Suspect, due: Instant, now: Instant) {
        self.suspects.add(suspect, due, now);
    }

    /// The Service's pod was seen alive.
    pub fn clear(&mut self, service: &Key) {
        self.suspects.clear(service);
    }

    /// How many suspects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.suspects.len()
    }

    /// Whether there is no suspect left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.suspects.is_empty()
    }

    /// Begins what is due, as far as there is room.
    pub fn begin_due(&mut self) {
        let now = Instant::now();
        while self.pace.room(self.jobs.len(), now) > 0 {
            let Some(case) = self.suspects.take(now) else { break };
            let key = &case.suspect.service;
            if let Some(at) = self.forbidden.get(&key.namespace).and_then(Pace::resumes).filter(|at| *at > now) {
                self.suspects.settle(key, Next::Again { at, memory: case.memory }, now);
                continue;
            }
            let cleanup = self.cleanup.clone();
            self.jobs.spawn(async move {
                let outcome = cleanup.examine(case.clone()).await;
                (case, outcome)
            });
        }
    }

    /// When something can begin, if no examination ends before.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let resumes = self.pace.resumes().unwrap_or(now);
        let has_room = self.pace.room(self.jobs.len(), now.max(resumes)) > 0;
        self.suspects.next_due().filter(|_| has_room).map(|due| due.max(resumes))
    }

    /// The next examination that ends; `None` where none is under way.
    pub async fn ended(&mut self) -> Option<(Case, Outcome)> {
        // Only a panic or an abort makes a task end otherwise, and neither leaves the program as it was.
        self.jobs.join_next().await?.ok()
    }

    /// An examination came to its end. Whether the API answers as it should.
    pub fn succeeded(&mut self, case: &Case, now: Instant) -> bool {
        let namespace = &case.suspect.service.namespace;
        if self.forbidden.get_mut(namespace).is_some_and(|pace| pace.succeeded(now)) {
            self.forbidden.remove(namespace);
        }
        self.pace.succeeded(now)
    }

    /// An examination failed: what concerns all slows all down, what concerns one only that one. When it is looked at
    /// again, and whom it concerns.
    pub fn failed(&mut self, case: &Case, error: &CallError, now: Instant) -> (Next, Failure) {
        let memory = case.memory;
        if error.concerns_every_call() {
            self.pace.failed(error.retry_after(), now);
            return (Next::Again { at: now, memory }, Failure::Silence);
        }
        let is_first = memory.refusals == 0;
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(memory.refusals));
        let memory = Memory { refusals: memory.refusals.saturating_add(1), ..memory };
        if error.meaning() != Some(Meaning::Rbac) {
            let at = now + pause.min(self.longest_pause);
            return (Next::Again { at, memory }, Failure::Refusal { is_first });
        }
        let namespace = &case.suspect.service.namespace;
        let is_first = is_first && !self.forbidden.contains_key(namespace);
        let pace = self.forbidden.entry(Arc::clone(namespace)).or_default();
        pace.failed(None, now);
        // A permission that is given back should count soon.
        let at = (now + pause.min(LONGEST_FORBIDDEN)).max(pace.resumes().unwrap_or(now));
        (Next::Again { at, memory }, Failure::Refusal { is_first })
    }

    /// What follows from an examination that has ended.
    pub fn settle(&mut self, service: &Key, next: Next, now: Instant) {
        self.suspects.settle(service, next, now);
    }

    /// From now on no delete begins.
    pub fn end(&self) {
        self.cleanup.end();
    }
}
