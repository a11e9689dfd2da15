//! Reports what happens to the objects of one selection, for ever: it lists, watches, and lists anew where the watch cannot
//! go on. It judges nothing.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use serde::{Deserialize, de::DeserializeOwned};
use tokio::{sync::mpsc, time::sleep_until};

use super::{
    call::{Call, Selection},
    classify::Meaning,
    client::{Api, CallError, chain},
    lines::{Lines, LinesError},
    outage::Outage,
    pages::Pages,
    retry::{Backoff, Deadline},
};
use crate::logging::millis;

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

/// How often it is asked whether a resource that is not served is served now.
const ABSENT: Duration = Duration::from_secs(30);

/// What is read of an object; the rest is passed over.
pub trait Watchable: DeserializeOwned + Default + Send {
    /// `metadata.resourceVersion`
    fn resource_version(&self) -> &str;
}

/// What a watch has seen.
#[derive(Debug)]
pub enum Seen<T> {
    /// A list begins: what it does not name is gone.
    Listing,
    /// The object is there.
    There(T),
    /// It is gone, or no longer selected; this is how it was last.
    Gone(T),
    /// The list is complete.
    Listed,
}

impl<T> Seen<T> {
    /// The same of what is made of the object.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Self::Listing => Seen::Listing,
            Self::There(object) => Seen::There(make(object)),
            Self::Gone(object) => Seen::Gone(make(object)),
            Self::Listed => Seen::Listed,
        }
    }
}

/// Why a watch had to be started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The API server ended it, as it does after some minutes.
    Closed,
    /// The connection broke.
    Lost,
    /// The resource version was too old (410).
    Expired,
    /// The API refused it.
    Refused,
    /// The connection was there, and nothing came.
    Silent,
}

impl Cause {
    /// Each of them.
    pub const ALL: [Self; 5] = [Self::Closed, Self::Lost, Self::Expired, Self::Refused, Self::Silent];

    /// The word in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Lost => "lost",
            Self::Expired => "expired",
            Self::Refused => "refused",
            Self::Silent => "silent",
        }
    }
}

/// Who is told how a watch fares.
pub trait Audience: Send + Sync {
    /// What is read of each object.
    type Object: Watchable;
    /// What is passed on.
    type Change: Send;

    /// What is passed on of what was seen.
    fn change(&self, seen: Seen<Self::Object>) -> Self::Change;

    /// The watch hears what changes.
    fn up(&self);

    /// The watch hears nothing; may be said again and again while that lasts.
    fn down(&self);

    /// The watch has ended and is started again.
    fn restarted(&self, cause: Cause);
}

/// What it means that a resource is not served at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Something is wrong.
    Failure,
    /// There are no such objects: the resource's definition may not be installed.
    Empty,
}

/// One watch.
pub struct Watch<A: Audience> {
    /// The API.
    pub api: Api,
    /// Which objects are watched.
    pub selection: Selection,
    /// What it means that there is no such resource.
    pub absence: Absence,
    /// Where changes are reported.
    pub changes: mpsc::Sender<A::Change>,
    /// Who is told how it fares.
    pub audience: A,
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

/// What a line is about. Its object is read when that is known.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Line<T> {
    object: T,
}

/// The Status of an ERROR.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

/// The object of a BOOKMARK.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bookmark {
    metadata: Position,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Position {
    resource_version: String,
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

impl<A: Audience> Watch<A> {
    /// Runs until nobody listens any more.
    pub async fn run(self) {
        let mut backoff = Backoff::up_to(LONGEST_PAUSE);
        let mut outage = Outage::default();
        let mut was_absent = false;
        loop {
            let listed = self.list().await;
            let is_absent = matches!(&listed, Err(Listing::Failed(error)) if self.is_absent(error));
            if is_absent && !was_absent {
                let (resource, group) = (self.resource(), self.selection.resource.group());
                tracing::info!(resource, group, "not served by the API, so there are none; looking again later");
            }
            was_absent = is_absent;
            match listed {
                Ok(version) => {
                    if let Ended::Unheard = self.follow(version, &mut backoff, &mut outage).await {
                        return;
                    }
                }
                Err(Listing::Unheard) => return,
                Err(Listing::Failed(_)) if is_absent => {
                    if self.tell_of_nothing(&mut outage).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(ABSENT).await;
                }
                Err(Listing::Failed(error)) => {
                    self.audience.down();
                    self.failed(&mut outage, &error);
                    tokio::time::sleep(backoff.pause(error.retry_after())).await;
                }
            }
        }
    }

    async fn list(&self) -> Result<String, Listing> {
        self.tell(Seen::Listing).await?;
        let mut pages = Pages::new(&self.api, &self.selection);
        while let Some(page) = pages.next().await? {
            for object in page {
                self.tell(Seen::There(object)).await?;
            }
        }
        self.tell(Seen::Listed).await?;
        Ok(pages.version())
    }

    /// Whether the resource is not served, and that is no failure.
    fn is_absent(&self, error: &CallError) -> bool {
        self.absence == Absence::Empty && error.meaning() == Some(Meaning::NotFound)
    }

    async fn tell_of_nothing(&self, outage: &mut Outage) -> Result<(), Listing> {
        self.tell(Seen::Listing).await?;
        self.tell(Seen::Listed).await?;
        self.audience.up();
        self.back(outage);
        Ok(())
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
            self.audience.restarted(cause);
            let mut asked = None;
            match &ended {
                Ended::Closed | Ended::Expired | Ended::Silent | Ended::Unheard => {
                    tracing::debug!(resource = self.resource(), ?cause, "the watch ended");
                }
                Ended::Lost(error) | Ended::Refused(error) => {
                    self.audience.down();
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
        self.audience.up();
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
    fn read(&self, line: &[u8], version: &mut String) -> Result<Option<A::Change>, Ended> {
        let Kind { kind } = read(line)?;
        if kind == "ERROR" {
            let Line { object: Status { code, message } } = read(line)?;
            return Err(if code == 410 { Ended::Expired } else { Ended::Refused(ErrorEvent { code, message }.into()) });
        }
        if kind == "BOOKMARK" {
            // It only moves on. Its object is none: lists that every object has are null in it.
            let Line { object: Bookmark { metadata } } = read(line)?;
            move_on(version, &metadata.resource_version);
            return Ok(None);
        }
        let Line::<A::Object> { object } = read(line)?;
        move_on(version, object.resource_version());
        Ok(match kind.as_str() {
            "ADDED" | "MODIFIED" => Some(self.audience.change(Seen::There(object))),
            "DELETED" => Some(self.audience.change(Seen::Gone(object))),
            _ => None,
        })
    }

    fn back(&self, outage: &mut Outage) {
        if let Some(after) = outage.ended(Instant::now()) {
            tracing::info!(resource = self.resource(), after_ms = millis(after), "watch is back");
        }
    }

    fn failed(&self, outage: &mut Outage, error: &(dyn Error + 'static)) {
        let resource = self.resource();
        let is_news = outage.failed(error, Instant::now());
        let error = chain(error);
        match is_news {
            true => tracing::warn!(resource, error, "watch lost; trying again"),
            false => tracing::debug!(resource, error, "still no watch; trying again"),
        }
    }

    fn resource(&self) -> &'static str {
        self.selection.resource.plural()
    }

    async fn tell(&self, seen: Seen<A::Object>) -> Result<(), Listing> {
        self.changes.send(self.audience.change(seen)).await.map_err(|_| Listing::Unheard)
    }
}

fn move_on(version: &mut String, to: &str) {
    if !to.is_empty() {
        to.clone_into(version);
    }
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, Ended> {
    serde_json::from_slice(line).map_err(|error| Ended::Lost(Unreadable(error).into()))
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
