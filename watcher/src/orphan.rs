//! Decides whether a Service is an orphan, from the Service, its pod and the time; it never asks the API and never acts.

use std::fmt;

/// Why a Service is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Its pod is gone.
    PodGone,
    /// Another pod has its pod's name now.
    PodReplaced,
    /// Its pod failed, succeeded or was evicted, longer ago than the grace period.
    PodFinished,
}

impl Reason {
    /// The word in logs, Events and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PodGone => "PodGone",
            Self::PodReplaced => "PodReplaced",
            Self::PodFinished => "PodFinished",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
