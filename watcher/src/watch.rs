//! Reports what happens to the pods or to the Services, for ever: it lists, watches, and lists anew where the watch cannot
//! go on. It judges nothing.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use common::api::{
    call::{Call, Selection},
    classify::Meaning,
    client::{Api, CallError, chain},
    lines::{Lines, LinesError},
    retry::{Backoff, Deadline},
};
use serde::Deserialize;
use tokio::{sync::mpsc, time::sleep_until};

use crate::{
    health::Health,
    index::Change,
    metrics::{Cause, Metrics},
    object::Metadata,
    outage::Outage,
    pages::Pages,
    report::millis,
    watched::Watched,
};

/// The longest pause between two tries. An API server that restarts is back within seconds, and a permission that is given
/// back should count within half a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long an answer may take to begin.
const BEGIN: Duration = Duration::from_secs(20);

/// A watch sends a bookmark each minute. One that has said nothing for three is no use, even though its connection answers
/// pings: the server may wait for a resource version that never comes, as after a restored backup.
const SILENCE: Duration = Duration::from_secs(180);

/// A watch that lasted this long was a success, whatever ended it.
const LASTED: Duration = Duration::from_secs(5);

/// The longest pause after a watch that did not last and yet brought something: a network that flaps still tells much.
const FLAPPING: Duration = Duration::from_secs(1);

/// So many watches in a row that brought nothing, and it lists anew: perhaps it is the resource version's fault.
const FRUITLESS: u32 = 6;

/// One watch.
pub struct Watch {
    /// The API.
    pub api: Api,
    /// What is watched: which of the two, …
    pub watched: Watched,
    /// … and which objects of it.
    pub selection: Selection,
    /// Where changes are reported.
    pub changes: mpsc::Sender<Change>,
    /// Where it shows whether it is up.
    pub health: Health,
    /// Where restarts are counted.
    pub metrics: Metrics,
}

/// Why a watch has ended.
#[derive(Debug)]
enum Ended {
    /// The server ended it, as it does after some time.
    Closed,
    /// The connection broke, or what came could not be read.
    Lost(Box<dyn Error + Send + Sync>),
    /// Its resource version is too old.
    Expired,
    /// The server refuses it.
    Refused(Box<dyn Error + Send + Sync>),
    /// It said nothing for too long.
    Silent,
    /// Nobody listens any more.
    Unheard,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Content,
}

/// An object, or, of an ERROR, a Status.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    metadata: Metadata,
    code: u16,
    message: String,
}

/// An ERROR event.
#[derive(Debug, thiserror::Error)]
#[error("{message} ({code})")]
struct ErrorEvent {
    code: u16,
    message: String,
}

/// A line that is no watch event.
#[derive(Debug, thiserror::Error)]
#[error("a line of the watch cannot be read")]
struct Unreadable(#[source] serde_json::Error);

impl Watch {
    /// Runs until nobody listens any more.
    pub async fn run(self) {
        let mut backoff = Backoff::up_to(LONGEST_PAUSE);
        let mut outage = Outage::default();
        loop {
            match self.list().await {
                Ok(version) => {
                    if let Ended::Unheard = self.follow(version, &mut backoff, &mut outage).await {
                        return;
                    }
                }
                Err(Listing::Unheard) => return,
                Err(Listing::Failed(error)) => {
                    self.health.watch_down(self.watched);
                    self.failed(&mut outage, &error);
                    tokio::time::sleep(backoff.pause(error.retry_after())).await;
                }
            }
        }
    }

    async fn list(&self) -> Result<String, Listing> {
        self.tell(Change::Listing(self.watched)).await?;
        let mut pages = Pages::new(&self.api, &self.selection);
        while let Some(page) = pages.next().await? {
            for metadata in page {
                self.tell(self.there(metadata)).await?;
            }
        }
        self.tell(Change::Listed(self.watched)).await?;
        Ok(pages.version())
    }

    /// Watches from a resource version on, again and again, until only a new list helps.
    async fn follow(&self, mut version: String, backoff: &mut Backoff, outage: &mut Outage) -> Ended {
        let mut fruitless = 0;
        loop {
            let before = version.clone();
            let mut opened = None;
            let ended = self.once(&mut version, &mut opened, outage).await;
            let lasted = opened.is_some_and(|opened: Instant| opened.elapsed() >= LASTED);
            if lasted {
                backoff.reset();
            }
            let brought_something = version != before;
            fruitless = if lasted || brought_something { 0 } else { fruitless + 1 };
            let cause = match &ended {
                Ended::Closed => Cause::Closed,
                Ended::Lost(_) => Cause::Lost,
                Ended::Expired => Cause::Expired,
                Ended::Refused(_) => Cause::Refused,
                Ended::Silent => Cause::Silent,
                Ended::Unheard => return ended,
            };
            self.metrics.watch_restarted(self.watched, cause);
            let mut asked = None;
            match &ended {
                Ended::Closed | Ended::Expired | Ended::Silent | Ended::Unheard => {
                    tracing::debug!(resource = self.watched.as_str(), ?cause, "the watch ended");
                }
                Ended::Lost(error) | Ended::Refused(error) => {
                    self.health.watch_down(self.watched);
                    self.failed(outage, error.as_ref());
                    asked = error.downcast_ref().and_then(CallError::retry_after);
                }
            }
            // Even a stream that brought something must not be asked for without pause, if it ends again and again.
            if !(lasted && matches!(ended, Ended::Closed)) {
                let pause = backoff.pause(asked);
                let is_worth_it = brought_something && asked.is_none();
                tokio::time::sleep(if is_worth_it { pause.min(FLAPPING) } else { pause }).await;
            }
            if matches!(ended, Ended::Expired | Ended::Silent) || fruitless >= FRUITLESS {
                return ended;
            }
        }
    }

    /// One watch. `version` moves on with what it reports; `opened` is when it began.
    async fn once(&self, version: &mut String, opened: &mut Option<Instant>, outage: &mut Outage) -> Ended {
        let mut lines = match self.api.open(&Call::watch(&self.selection, version), Deadline::after(BEGIN)).await {
            Ok(lines) => lines,
            Err(error) => {
                return match error.meaning() {
                    Some(Meaning::Expired) => Ended::Expired,
                    Some(_) => Ended::Refused(error.into()),
                    None => Ended::Lost(error.into()),
                };
            }
        };
        let begun = *opened.insert(Instant::now());
        self.health.watch_up(self.watched);
        loop {
            let line = tokio::select! {
                line = next(&mut lines) => line,
                // One that breaks again at once is not back.
                () = sleep_until((begun + LASTED).into()), if outage.is_on() => {
                    self.back(outage);
                    continue;
                }
            };
            let change = match line.and_then(|line| self.read(&line, version)) {
                Ok(Some(change)) => change,
                Ok(None) => continue,
                Err(ended) => return ended,
            };
            if self.changes.send(change).await.is_err() {
                return Ended::Unheard;
            }
        }
    }

    /// Reads one line, and moves `version` on to it.
    fn read(&self, line: &[u8], version: &mut String) -> Result<Option<Change>, Ended> {
        let line: Line = serde_json::from_slice(line).map_err(|error| Ended::Lost(Unreadable(error).into()))?;
        let Content { metadata, code, message } = line.object;
        let moved_to = metadata.resource_version.clone();
        let change = match line.kind.as_str() {
            "ADDED" | "MODIFIED" => Some(self.there(metadata)),
            "DELETED" => Some(self.gone(metadata)),
            "ERROR" if code == 410 => return Err(Ended::Expired),
            "ERROR" => return Err(Ended::Refused(ErrorEvent { code, message }.into())),
            // A bookmark only moves on.
            _ => None,
        };
        if !moved_to.is_empty() {
            *version = moved_to;
        }
        Ok(change)
    }

    fn back(&self, outage: &mut Outage) {
        if let Some(after) = outage.ended(Instant::now()) {
            tracing::info!(resource = self.watched.as_str(), after_ms = millis(after), "watch is back");
        }
    }

    fn failed(&self, outage: &mut Outage, error: &(dyn Error + 'static)) {
        let resource = self.watched.as_str();
        let is_news = outage.failed(error, Instant::now());
        let error = chain(error);
        match is_news {
            true => tracing::warn!(resource, error, "watch lost; trying again"),
            false => tracing::debug!(resource, error, "still no watch; trying again"),
        }
    }

    fn there(&self, metadata: Metadata) -> Change {
        match self.watched {
            Watched::Pods => Change::Pod(metadata.into()),
            Watched::Services => Change::Service(metadata.into()),
        }
    }

    fn gone(&self, metadata: Metadata) -> Change {
        match self.watched {
            Watched::Pods => Change::PodGone(metadata.into()),
            Watched::Services => Change::ServiceGone(metadata.into()),
        }
    }

    async fn tell(&self, change: Change) -> Result<(), Listing> {
        self.changes.send(change).await.map_err(|_| Listing::Unheard)
    }
}

/// A list that did not come to its end.
enum Listing {
    Failed(CallError),
    Unheard,
}

impl From<CallError> for Listing {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

async fn next(lines: &mut Lines) -> Result<Vec<u8>, Ended> {
    match tokio::time::timeout(SILENCE, lines.next()).await {
        Err(_) => Err(Ended::Silent),
        Ok(Ok(Some(line))) => Ok(line),
        Ok(Ok(None)) => Err(Ended::Closed),
        Ok(Err(error)) => Err(Ended::Lost(LinesError::into(error))),
    }
}
