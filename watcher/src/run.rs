//! The process: how a run starts, and how it ends on success, failure and SIGTERM.

use std::io::Write as _;

use common::{api::client::chain, exit::Exit, logging};

use crate::settings::{Settings, SettingsError};

/// Runs the watcher until it is told to end.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    logging::init(settings.log);
    Exit::Done
}

/// Ends a run that never began, because its settings are wrong.
#[must_use]
pub fn refuse(error: &SettingsError) -> Exit {
    // Where nobody can read it, the exit code still tells.
    let _ = writeln!(std::io::stderr(), "error: {}", chain(error));
    Exit::Usage
}
