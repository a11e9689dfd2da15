//! Everything that can end a run but a signal, and the exit code of each.

use std::io;

use common::{
    api::{classify::Meaning, connect::ConnectError},
    exit::Exit,
};

use crate::{choices::Listen, once::OnceError};

/// Why a run ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API or the credentials cannot be found.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The address for health and metrics cannot be had.
    #[error("cannot listen at {listen}: set --listen to a free address, or to off")]
    Listen {
        /// The address.
        listen: Listen,
        /// Why.
        source: io::Error,
    },
    /// A single run did not do everything.
    #[error(transparent)]
    Once(#[from] OnceError),
}

impl Error {
    /// The exit code, as docs/troubleshooting.md lists them.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Connect(_) => Exit::Usage,
            Self::Listen { .. } => Exit::Other,
            Self::Once(OnceError::Silent(_)) => Exit::Timeout,
            Self::Once(OnceError::Refused(error)) => match error.meaning() {
                Some(Meaning::Rbac | Meaning::Policy) => Exit::Forbidden,
                _ => Exit::Other,
            },
        }
    }
}
