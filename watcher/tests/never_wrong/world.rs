//! The API server, the clock, and the requests to it: each delete is checked at the moment when it is carried out.

use std::{
    fmt,
    rc::Rc,
    time::{Duration, Instant},
};

use common::key::Key;
use k8s_openapi::jiff::Timestamp;
use watcher::{
    examine::{Deletion, Sentence},
    orphan::Rules,
};

use crate::{facts::Facts, objects::describe, oracle, server::Server};

/// Something that must never happen, and did.
#[derive(Debug)]
pub(crate) struct Violation(pub(crate) String);

/// All but the watchers and the creators.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) rules: Rules,
    start: Instant,
    elapsed: Duration,
    /// Of all that happens, the number of the last; time alone tells no order.
    tick: u64,
    /// How many requests watchers have made.
    requests: usize,
    /// How many of them have deleted something.
    deletions: usize,
    trace: Option<Vec<String>>,
}

/// A request to delete a Service.
#[derive(Debug)]
pub(crate) struct Warrant {
    pub(crate) service: Key,
    pub(crate) sentence: Sentence,
    /// What the watcher knows that asks for it.
    pub(crate) facts: Rc<Facts>,
    /// When it began to look at the Service.
    pub(crate) begun: u64,
    /// When it asked for the delete; it is carried out later.
    pub(crate) asked: u64,
}

impl World {
    pub(crate) fn new(rules: Rules, trace: Trace) -> Self {
        let trace = (trace == Trace::Kept).then(Vec::new);
        Self {
            server: Server::default(),
            rules,
            start: Instant::now(),
            elapsed: Duration::ZERO,
            tick: 0,
            requests: 0,
            deletions: 0,
            trace,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub(crate) fn now(&self) -> Instant {
        self.start + self.elapsed
    }

    pub(crate) fn time_of_day(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.elapsed
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.elapsed += time;
    }

    pub(crate) fn pass_until(&mut self, then: Instant) {
        self.elapsed = self.elapsed.max(then.saturating_duration_since(self.start));
    }

    /// A number for what happens next.
    pub(crate) fn tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    pub(crate) fn count_request(&mut self) {
        self.requests += 1;
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    pub(crate) fn deletions(&self) -> usize {
        self.deletions
    }

    /// Carries out a delete.
    pub(crate) fn execute(&mut self, warrant: &Warrant) -> Result<Deletion, Violation> {
        self.count_request();
        let Warrant { service: key, sentence, .. } = warrant;
        let Sentence { uid, resource_version, .. } = sentence;
        let before = self.server.services.get(key).cloned();
        let deletion = self.server.services.delete_if(key, uid, resource_version);
        self.note(|| format!("DELETE {key} {uid} at {resource_version} ({}): {deletion:?}", sentence.reason));
        if deletion == Deletion::Done
            && let Some(service) = before
        {
            self.deletions += 1;
            oracle::may_delete(self, &service, warrant)
                .map_err(|why| Violation(format!("DELETE {key}: {why}\n{}\n{sentence:?}", describe(&service))))?;
        }
        Ok(deletion)
    }

    /// Writes down what happens, where anybody wants to read it.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        let (elapsed, version) = (self.elapsed.as_secs(), self.server.version());
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{elapsed:>5} s, version {version:>3}: {}", what()));
        }
    }

    pub(crate) fn into_trace(self) -> String {
        self.trace.unwrap_or_default().join("\n")
    }
}

/// Whether what happens is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    Kept,
    Dropped,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
