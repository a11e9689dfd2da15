//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

/// A place in the settings file. Line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {} column {}", self.file.display(), self.line, self.column)
    }
}

/// A kind of source; a later one overrides an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The program itself.
    Default,
    /// The settings file.
    File,
    /// The environment.
    Environment,
    /// The command line.
    Flag,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program itself.
    Default,
    /// This place in the settings file.
    File(Place),
    /// This environment variable.
    Environment(String),
    /// The command line.
    Flag,
}

impl Origin {
    /// The kind of source.
    #[must_use]
    pub fn source(&self) -> Source {
        match self {
            Self::Default => Source::Default,
            Self::File(_) => Source::File,
            Self::Environment(_) => Source::Environment,
            Self::Flag => Source::Flag,
        }
    }

    /// How a message names the option `key` that was set here.
    #[must_use]
    pub fn of_option(&self, key: &str) -> String {
        match self {
            Self::Default => format!("default of --{key}"),
            Self::File(place) => format!("{place}, key `{key}`"),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Flag => format!("flag --{key}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => place.fmt(f),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}
