//! Runs the clean-up for ever: takes in what the watches and the scan report, and has suspects examined. What is suspect,
//! when it is looked at and what is done about it is decided elsewhere.

use std::time::{Duration, Instant};

use common::{
    api::{
        client::{CallError, chain},
        outage::Outage,
        retry::Backoff,
    },
    logging::millis,
};
use tokio::{sync::mpsc, task::JoinSet, time::sleep_until};

use crate::{
    cleanup::{Cleanup, Outcome},
    examiner::{Examiner, Failure},
    index::{Change, Findings, Index},
    metrics::{Held, Metrics},
    report::Report,
    scan::{Scan, Scanned},
    suspects::{Case, Next},
};

/// Of suspects that were found together so many are looked at as soon as there is room, …
const SOON: u32 = 1000;

/// … and one each so often after that: where thousands of pods are in no list, they are looked up over minutes.
const SPREAD: Duration = Duration::from_millis(20);

/// The longest pause after a scan that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The shortest pause after a scan that failed.
const SCAN_PAUSE: Duration = Duration::from_secs(1);

/// How long examinations that are under way at the end may take.
const FAREWELL: Duration = Duration::from_millis(700);

/// Longer than any program runs.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The clean-up.
pub struct Controller {
    examiner: Examiner,
    scan: Scan,
    scan_interval: Duration,
    report: Report,
    metrics: Metrics,
    index: Index,
    outage: Outage,
    /// The scan that is under way, at most one.
    scanning: JoinSet<Result<Scanned, CallError>>,
    scan_begun: Instant,
    /// When the next scan is due; none before the index is complete, or while one is under way.
    scan_due: Option<Instant>,
    scan_backoff: Backoff,
}

impl Controller {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(cleanup: Cleanup, scan: Scan, scan_interval: Duration, report: Report, metrics: Metrics) -> Self {
        Self {
            examiner: Examiner::new(cleanup, scan_interval),
            scan,
            scan_interval,
            report,
            metrics,
            index: Index::default(),
            outage: Outage::default(),
            scanning: JoinSet::new(),
            scan_begun: Instant::now(),
            scan_due: None,
            scan_backoff: Backoff::up_to(LONGEST_PAUSE),
        }
    }

    /// Runs until `stop`; examinations that are under way then may still end, but no delete begins.
    pub async fn run(mut self, mut changes: mpsc::Receiver<Change>, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            self.begin_due();
            self.show();
            let next_due = self.next_due();
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some((case, outcome)) = self.examiner.ended() => self.examined(&case, outcome),
                Some(Ok(scanned)) = self.scanning.join_next() => self.scanned(scanned),
                Some(change) = changes.recv() => self.note(change),
                () = sleep_until(next_due.into()) => {}
            }
        }
        self.end().await;
    }

    async fn end(mut self) {
        self.examiner.end();
        self.scanning.abort_all();
        let begun = Instant::now();
        let all = async {
            while let Some((case, outcome)) = self.examiner.ended().await {
                self.examined(&case, outcome);
            }
        };
        // What has not ended by then has at most one request on its way, which the API carries out or does not.
        let _ = tokio::time::timeout(FAREWELL, all).await;
        self.report.finish(FAREWELL.saturating_sub(begun.elapsed())).await;
    }

    fn note(&mut self, change: Change) {
        let was_complete = self.index.is_complete();
        let Findings { suspects, cleared } = self.index.note(change);
        let now = Instant::now();
        for service in cleared {
            self.examiner.clear(&service);
        }
        for (number, suspect) in (0..).zip(suspects) {
            self.examiner.add(suspect, due(number, now), now);
        }
        if !was_complete && self.index.is_complete() {
            let namespace = self.scan.namespace.as_deref().unwrap_or("all");
            tracing::info!(
                %namespace,
                pods = self.index.pods(),
                services = self.index.tally().services,
                version = %env!("CARGO_PKG_VERSION"),
                "watching"
            );
            self.scan_due = Some(now);
        }
    }

    /// Begins what is due, as far as there is room.
    fn begin_due(&mut self) {
        self.examiner.begin_due();
        let now = Instant::now();
        if self.scan_due.is_some_and(|due| due <= now) {
            self.scan_due = None;
            self.scan_begun = now;
            let scan = self.scan.clone();
            self.scanning.spawn(async move { scan.run().await });
        }
    }

    /// When there is something to do, if nothing happens before.
    fn next_due(&self) -> Instant {
        let due = [self.examiner.next_due(), self.scan_due];
        due.into_iter().flatten().min().unwrap_or_else(|| Instant::now() + NEVER)
    }

    fn examined(&mut self, case: &Case, outcome: Outcome) {
        let now = Instant::now();
        let next = match outcome {
            Outcome::Failed(error) => self.failed(case, &error, now),
            other => {
                if self.examiner.succeeded(case, now)
                    && let Some(after) = self.outage.ended(now)
                {
                    tracing::info!(after_ms = millis(after), "the API answers again");
                }
                self.report.settled(case, other)
            }
        };
        self.examiner.settle(&case.suspect.service, next, now);
    }

    fn failed(&mut self, case: &Case, error: &CallError, now: Instant) -> Next {
        let (next, failure) = self.examiner.failed(case, error, now);
        match failure {
            Failure::Silence if self.outage.failed(error, now) => {
                tracing::warn!(error = chain(error), "the API does not answer; waiting");
            }
            Failure::Refusal { is_first: true } => self.report.refused(&case.suspect.service, error),
            Failure::Silence | Failure::Refusal { .. } => {
                tracing::debug!(error = chain(error), "a look at a Service failed; trying again");
            }
        }
        next
    }

    fn scanned(&mut self, result: Result<Scanned, CallError>) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.scan_begun);
        let pause = match result {
            Ok(scanned) => {
                self.scan_backoff.reset();
                self.report.scanned(&scanned, took);
                add_found(&mut self.examiner, &self.report, scanned, now);
                self.scan_interval
            }
            Err(error) => {
                self.report.scan_failed(&error, took);
                self.scan_backoff.pause(error.retry_after()).max(SCAN_PAUSE)
            }
        };
        self.scan_due = Some(now + pause);
    }

    fn show(&self) {
        let tally = self.index.tally();
        self.metrics.holds(&Held {
            services: tally.services,
            pods_without_service: tally.pods_without_service,
            suspects: self.examiner.len(),
            left_alone: self.report.count_left_alone(),
        });
    }
}

/// Has the suspects of a scan looked at: the first soon, the others spread out, and those never that would only be found to
/// be left alone again.
pub(crate) fn add_found(examiner: &mut Examiner, report: &Report, scanned: Scanned, now: Instant) {
    let new = scanned.suspects.into_iter().filter(|found| !report.knows(found.uid, &found.resource_version));
    for (number, found) in (0..).zip(new) {
        examiner.add(found.suspect, due(number, now), now);
    }
}

/// When one of many suspects that were found together is looked at.
fn due(number: u32, now: Instant) -> Instant {
    now + SPREAD * number.saturating_sub(SOON)
}
