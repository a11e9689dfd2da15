//! Runs the clean-up once: one scan, and what it found is settled. What a later run finds as well is left to it.

use std::time::{Duration, Instant};

use common::api::{
    client::{CallError, chain},
    retry::{Deadline, Patience, TimeIsUp},
};
use tokio::time::sleep_until;

use crate::{
    cleanup::{Cleanup, Outcome},
    controller::add_found,
    examine::Finding,
    examiner::{Examiner, Failure},
    orphan::Until,
    report::Report,
    scan::{Scan, Scanned},
    suspects::Next,
};

/// How long an API that does not answer is asked.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often one Service is tried whose clean-up fails for a reason of its own that may pass.
const TRIES: u32 = 5;

/// How long the last Events may take, and the longest pause between two of these tries.
const FAREWELL: Duration = Duration::from_secs(1);

/// A run that did not do everything.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    /// The API refuses something.
    #[error(transparent)]
    Refused(CallError),
    /// The API does not answer.
    #[error("gave up after {} s", PATIENCE.as_secs())]
    Silent(#[source] CallError),
}

/// Scans and cleans up.
///
/// # Errors
/// Where the API refuses something, which does not keep the rest from being done, or does not answer for a minute.
pub async fn once(cleanup: Cleanup, scan: &Scan, mut report: Report) -> Result<(), OnceError> {
    let begun = Instant::now();
    let scanned = patiently(scan).await?;
    report.scanned(&scanned, begun.elapsed());
    let mut examiner = Examiner::new(cleanup, FAREWELL);
    add_found(&mut examiner, &report, scanned, Instant::now());

    let mut silent_since = None;
    let mut failure = None;
    while !examiner.is_empty() {
        examiner.begin_due();
        let due = examiner.next_due().unwrap_or_else(|| Instant::now() + PATIENCE);
        tokio::select! {
            Some((case, outcome)) = examiner.ended() => {
                let now = Instant::now();
                let next = match outcome {
                    Outcome::Failed(error) => match examiner.failed(&case, &error, now) {
                        (next, Failure::Silence) => {
                            let since = *silent_since.get_or_insert(now);
                            if now.saturating_duration_since(since) >= PATIENCE {
                                failure = Some(OnceError::Silent(error));
                                break;
                            }
                            next
                        }
                        (next, Failure::Refusal { .. }) if error.may_pass() && case.memory.refusals < TRIES => next,
                        (_, Failure::Refusal { .. }) => {
                            silent_since = None;
                            report.given_up(&case.suspect.service, &error);
                            failure.get_or_insert(OnceError::Refused(error));
                            Next::Settled
                        }
                    },
                    // The pod itself tells when its time is over: the next run sees it too.
                    Outcome::Found(Finding::Wait { until: Until::Told, .. }) => Next::Settled,
                    other => {
                        silent_since = None;
                        examiner.succeeded(&case, now);
                        report.settled(&case, other)
                    }
                };
                examiner.settle(&case.suspect.service, next, now);
            }
            () = sleep_until(due.into()) => {}
        }
    }
    report.finish(FAREWELL).await;
    failure.map_or(Ok(()), Err)
}

async fn patiently(scan: &Scan) -> Result<Scanned, OnceError> {
    let mut patience = Patience::until(Deadline::after(PATIENCE));
    loop {
        match scan.run().await {
            Ok(scanned) => return Ok(scanned),
            Err(error) if !error.may_pass() => return Err(OnceError::Refused(error)),
            Err(error) => {
                tracing::warn!(error = chain(&error), "scan failed; trying again");
                if let Err(TimeIsUp) = patience.pause(error.retry_after()).await {
                    return Err(OnceError::Silent(error));
                }
            }
        }
    }
}
