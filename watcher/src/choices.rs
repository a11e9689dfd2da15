//! The values that options choose from: each a domain type, so that no later code looks at text again.

use std::{fmt, net::SocketAddr, str::FromStr};

use clap::ValueEnum;

/// Something that the watcher does all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Controller {
    /// Removes the Services whose pods are gone.
    Cleanup,
    /// Serves NetServices: Services on additional networks.
    NetService,
}

/// What the watcher does all the time; one of them at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controllers(Vec<Controller>);

impl Controllers {
    /// Of these.
    #[must_use]
    pub fn new(controllers: Vec<Controller>) -> Self {
        Self(controllers)
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn include(&self, controller: Controller) -> bool {
        self.0.contains(&controller)
    }
}

/// Where health and metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

/// The text is neither an address nor `off`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected ADDRESS:PORT such as 0.0.0.0:8080 or [::]:8080, or off")]
pub struct InvalidListen;

impl FromStr for Listen {
    type Err = InvalidListen;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            // `false` is what Helm makes of an unquoted `off` in its values.
            "off" | "false" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|_| InvalidListen),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::At(address) => address.fmt(f),
        }
    }
}

/// Which namespaces are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The service account's own inside a pod, else that of the kubeconfig's context, else `default`.
    Own,
    /// This one.
    Namespace(String),
    /// All of them; this needs a ClusterRole.
    AllNamespaces,
}

/// When the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Never by itself.
    Endless,
    /// When one scan, and all that it found, is done.
    Once,
}

/// Whether anything is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Services whose pods are gone are deleted.
    Delete,
    /// What would be deleted is told.
    DryRun,
}
