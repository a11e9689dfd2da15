//! Runs the clean-up for ever: takes in what the watches and the scan report, and has suspects examined. What is suspect,
//! when it is looked at and what is done about it is decided elsewhere.

use std::time::{Duration, Instant};

use common::api::{
    classify::Meaning,
    client::{CallError, chain},
    retry::Backoff,
};
use tokio::{sync::mpsc, task::JoinSet, time::sleep_until};

use crate::{
    cleanup::{Cleanup, Outcome},
    examine::Finding,
    examiner::Examiner,
    index::{Change, Findings, Index},
    metrics::{Held, Metrics},
    object::Key,
    outage::Outage,
    report::{Report, millis},
    scan::{Scan, Scanned},
    suspects::{Case, Memory, Next},
};

/// So many suspects of a scan are looked at as soon as there is room, …
const SOON: u32 = 200;

/// … and one each so often after that: where thousands of pods are in no list, they are looked up over minutes.
const SPREAD: Duration = Duration::from_millis(20);

/// The longest pause after a scan that failed, and between looks at one Service that the API refuses to delete.
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
            examiner: Examiner::new(cleanup),
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
        for suspect in suspects {
            self.examiner.add(suspect, now, now);
        }
        if !was_complete && self.index.is_complete() {
            let namespace = self.scan.namespace.as_deref().unwrap_or("all");
            tracing::info!(namespace, pods = self.index.pods(), services = self.index.tally().services, "watching");
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
        let key = &case.suspect.service;
        let now = Instant::now();
        let next = match outcome {
            Outcome::Failed(error) => self.failed(case, &error, now),
            other => {
                self.examiner.pace.succeeded();
                if let Some(after) = self.outage.ended(now) {
                    tracing::info!(after_ms = millis(after), "the API answers again");
                }
                settle(&mut self.report, case, other)
            }
        };
        self.examiner.settle(key, next, now);
    }

    /// What concerns all suspects slows all down, what concerns one only that one.
    fn failed(&mut self, case: &Case, error: &CallError, now: Instant) -> Next {
        let is_silence = error.may_pass();
        let concerns_all = is_silence || error.meaning() == Some(Meaning::Rbac);
        if concerns_all {
            self.examiner.pace.failed(error.retry_after(), now);
        }
        let is_news = if concerns_all { self.outage.failed(error, now) } else { case.memory.refusals == 0 };
        if is_news {
            let error = chain(error);
            let Key { namespace, name } = &case.suspect.service;
            match is_silence {
                true => tracing::warn!(error, "the API does not answer; waiting"),
                false => tracing::warn!(error, %namespace, service = %name, "cannot delete a Service; trying again"),
            }
        }
        if is_silence {
            return Next::Again { at: now, memory: case.memory };
        }
        let refusals = case.memory.refusals + 1;
        Next::Again { at: now + pause(refusals), memory: Memory { refusals, ..case.memory } }
    }

    fn scanned(&mut self, result: Result<Scanned, CallError>) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.scan_begun);
        let pause = match result {
            Ok(scanned) => {
                self.scan_backoff.reset();
                self.report.scanned(&scanned, took);
                suspect(&mut self.examiner, &self.report, scanned, now);
                self.scan_interval
            }
            Err(error) => {
                self.report.scan_failed(&error, took);
                self.scan_backoff.pause(error.retry_after()).max(SCAN_PAUSE).min(self.scan_interval)
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
pub(crate) fn suspect(examiner: &mut Examiner, report: &Report, scanned: Scanned, now: Instant) {
    let new = scanned.suspects.into_iter().filter(|found| !report.knows(found.uid, &found.resource_version));
    for (number, found) in (0_u32..).zip(new) {
        let due = now + SPREAD * number.saturating_sub(SOON);
        examiner.add(found.suspect, due, now);
    }
}

/// Tells what an examination has found; what has to be looked at again is.
pub(crate) fn settle(report: &mut Report, case: &Case, outcome: Outcome) -> Next {
    let key = &case.suspect.service;
    match outcome {
        Outcome::Found(Finding::Wait { at, memory, .. }) => return Next::Again { at, memory },
        Outcome::Found(Finding::Deleted(sentence)) => report.deleted(key, sentence, case.memory.noticed),
        Outcome::Found(Finding::Kept { uid, resource_version, why }) => {
            report.kept(key, &uid, &resource_version, &why);
        }
        Outcome::WouldDelete(sentence) => report.would_delete(key, &sentence),
        Outcome::Found(Finding::Gone) | Outcome::Abandoned | Outcome::Failed(_) => {}
    }
    Next::Settled
}

/// The pause before the next look at a Service that was refused so often in a row.
fn pause(refusals: u32) -> Duration {
    SCAN_PAUSE.saturating_mul(2_u32.saturating_pow(refusals.saturating_sub(1))).min(LONGEST_PAUSE)
}
