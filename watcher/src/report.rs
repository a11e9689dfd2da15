//! Tells what became of suspects: in the log, in metrics and as Events; it decides nothing but what was told before.

use std::{
    collections::HashSet,
    io::Write as _,
    time::{Duration, Instant},
};

use common::{
    api::{
        client::{CallError, chain},
        outage::Outage,
    },
    key::Key,
    logging::millis,
    ownership::Doubt,
};

use crate::{
    cleanup::Outcome,
    events::{Deleted, Events},
    examine::{Finding, Sentence},
    metrics::{Metrics, ScanResult},
    orphan::Kept,
    scan::Scanned,
    suspects::{Case, Next},
    told::Told,
    uid::Uid,
};

/// Who tells.
pub struct Report {
    events: Events,
    metrics: Metrics,
    left_alone: Told,
    would_delete: Told,
    scans: Outage,
}

impl Report {
    /// One who has told nothing yet.
    #[must_use]
    pub fn new(events: Events, metrics: Metrics) -> Self {
        Self { events, metrics, left_alone: Told::default(), would_delete: Told::default(), scans: Outage::default() }
    }

    /// An examination came to its end. Tells what it has found; what has to be looked at again is.
    pub fn settled(&mut self, case: &Case, outcome: Outcome) -> Next {
        let key = &case.suspect.service;
        match outcome {
            Outcome::Found(Finding::Wait { at, memory, .. }) => return Next::Again { at, memory },
            Outcome::Found(Finding::Deleted(sentence)) => self.deleted(key, sentence, case.memory.noticed),
            Outcome::Found(Finding::Kept { uid, resource_version, why }) => {
                self.kept(key, &uid, &resource_version, &why);
            }
            Outcome::WouldDelete(sentence) => self.would_delete(key, &sentence),
            Outcome::Found(Finding::Gone) | Outcome::Abandoned | Outcome::Failed(_) => {}
        }
        Next::Settled
    }

    /// The API refuses what the clean-up of a Service needs.
    pub fn refused(&self, key: &Key, error: &CallError) {
        let error = chain(error);
        let Key { namespace, name } = key;
        tracing::warn!(error, %namespace, service = %name, "cannot delete a Service; trying again");
    }

    /// The API refuses what the clean-up of a Service needs, and this run tries no more.
    pub fn given_up(&self, key: &Key, error: &CallError) {
        let error = chain(error);
        let Key { namespace, name } = key;
        tracing::error!(error, %namespace, service = %name, "cannot delete a Service");
    }

    fn deleted(&self, key: &Key, sentence: Sentence, noticed: Instant) {
        let Sentence { uid, reason, pod, pod_uid, .. } = sentence;
        let took = noticed.elapsed();
        tracing::info!(
            namespace = %key.namespace,
            service = %key.name,
            uid,
            pod,
            pod_uid,
            reason = reason.as_str(),
            took_ms = millis(took),
            "Service deleted"
        );
        self.metrics.deleted(reason, took);
        let (namespace, service) = (key.namespace.to_string(), key.name.to_string());
        self.events.deleted(&Deleted { namespace, service, uid, pod, pod_uid, reason });
    }

    fn would_delete(&mut self, key: &Key, sentence: &Sentence) {
        if !self.would_delete.is_first(Uid::of(&sentence.uid), &sentence.resource_version) {
            return;
        }
        let Sentence { reason, pod, pod_uid, .. } = sentence;
        let uid = pod_uid.as_ref().map(|uid| format!(" (UID {uid})")).unwrap_or_default();
        // A reader that has gone away is no failure.
        let _ = writeln!(std::io::stdout(), "would delete Service {key}: {reason}, pod {pod}{uid}");
    }

    fn kept(&mut self, key: &Key, uid: &str, resource_version: &str, why: &Kept) {
        match why {
            Kept::Unclear(doubt) => self.left_alone(key, Uid::of(uid), resource_version, doubt),
            Kept::PodLives | Kept::BeingDeleted | Kept::Foreign => {
                tracing::debug!(namespace = %key.namespace, service = %key.name, ?why, "Service kept");
            }
        }
    }

    /// A scan has come to its end. What it saw is told, and what it did not see is forgotten.
    pub fn scanned(&mut self, scanned: &Scanned, took: Duration) {
        self.scans.ended(Instant::now());
        tracing::info!(
            services = scanned.services,
            suspects = scanned.suspects.len(),
            took_ms = millis(took),
            "scanned"
        );
        self.metrics.scanned(ScanResult::Success, took);
        let unclear = scanned.unclear.iter().map(|(_, uid, _)| *uid);
        let seen: HashSet<_> = scanned.suspects.iter().map(|found| found.uid).chain(unclear).collect();
        self.left_alone.keep(&seen);
        self.would_delete.keep(&seen);
        for (key, uid, doubt) in &scanned.unclear {
            self.left_alone(key, *uid, "", doubt);
        }
    }

    /// A scan has failed.
    pub fn scan_failed(&mut self, error: &CallError, took: Duration) {
        let is_news = self.scans.failed(error, Instant::now());
        let error = chain(error);
        match is_news {
            true => tracing::warn!(error, "scan failed; trying again"),
            false => tracing::debug!(error, "no scan yet; trying again"),
        }
        self.metrics.scanned(ScanResult::Failure, took);
    }

    /// Whether a look at the Service as it is would only find again that nobody can tell whose it is.
    #[must_use]
    pub fn knows(&self, service: Uid, resource_version: &str) -> bool {
        self.left_alone.knows(service, resource_version)
    }

    /// How many Services are left alone.
    #[must_use]
    pub fn count_left_alone(&self) -> usize {
        self.left_alone.len()
    }

    /// Gives what was told last a moment to arrive.
    pub async fn finish(self, within: Duration) {
        self.events.finish(within).await;
    }

    fn left_alone(&mut self, key: &Key, uid: Uid, resource_version: &str, doubt: &Doubt) {
        if self.left_alone.is_first(uid, resource_version) {
            tracing::warn!(namespace = %key.namespace, service = %key.name, why = %doubt, "Service left alone");
        }
    }
}
