//! Whether requests take effect.

use common::api::call::Call;

/// Whether the API stores what it is asked to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Stored,
    /// It judges the request in full and stores nothing (`dryRun=All`).
    DryRun,
}

impl Effect {
    /// The call with this effect.
    #[must_use]
    pub fn on(self, call: Call) -> Call {
        match self {
            Self::Stored => call,
            Self::DryRun => call.dry_run(),
        }
    }
}
