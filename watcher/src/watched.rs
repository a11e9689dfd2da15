//! The two things that are watched.

use std::fmt;

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
