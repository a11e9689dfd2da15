//! The two things that are watched, and who hears of them.

use std::fmt;

use common::api::watch::{Audience, Cause, Seen, Watchable};

use crate::{health::Health, index::Change, metrics::Metrics, object::Object};

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The pods that still run.
    Pods,
    /// The Services that creators made.
    Services,
}

impl Watched {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Pods, Self::Services];

    /// The word in logs, metrics and checks; the resource's name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Services => "services",
        }
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Makes changes of what a watch sees, and shows how the watch fares.
pub struct Hearing {
    /// Which of the two watches.
    pub watched: Watched,
    /// Where it shows whether it is up.
    pub health: Health,
    /// Where restarts are counted.
    pub metrics: Metrics,
}

impl Watchable for Object {
    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

impl Audience for Hearing {
    type Object = Object;
    type Change = Change;

    fn change(&self, seen: Seen<Object>) -> Change {
        match (seen, self.watched) {
            (Seen::Listing, watched) => Change::Listing(watched),
            (Seen::Listed, watched) => Change::Listed(watched),
            (Seen::There(object), Watched::Pods) => Change::Pod(object.metadata.into()),
            (Seen::There(object), Watched::Services) => Change::Service(object.metadata.into()),
            (Seen::Gone(object), Watched::Pods) => Change::PodGone(object.metadata.into()),
            (Seen::Gone(object), Watched::Services) => Change::ServiceGone(object.metadata.into()),
        }
    }

    fn up(&self) {
        self.health.watch_up(self.watched);
    }

    fn down(&self) {
        self.health.watch_down(self.watched);
    }

    fn restarted(&self, cause: Cause) {
        self.metrics.watch_restarted(self.watched, cause);
    }
}
