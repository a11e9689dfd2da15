//! Has suspects examined, as many at a time as the pace allows; what follows from an examination is not its business.

use std::time::Instant;

use tokio::task::JoinSet;

use crate::{
    cleanup::{Cleanup, Outcome},
    object::Key,
    pace::Pace,
    suspects::{Case, Next, Suspect, Suspects},
};

/// The suspects, and who looks at them.
pub struct Examiner {
    cleanup: Cleanup,
    suspects: Suspects,
    jobs: JoinSet<(Case, Outcome)>,
    /// How many are examined at a time.
    pub pace: Pace,
}

impl Examiner {
    /// One without suspects.
    #[must_use]
    pub fn new(cleanup: Cleanup) -> Self {
        Self { cleanup, suspects: Suspects::default(), jobs: JoinSet::new(), pace: Pace::default() }
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
        for _ in 0..self.pace.room(self.jobs.len(), now) {
            let Some(case) = self.suspects.take(now) else { break };
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
        loop {
            match self.jobs.join_next().await? {
                Ok(ended) => return Some(ended),
                Err(error) => tracing::error!(%error, "an examination broke off"),
            }
        }
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
