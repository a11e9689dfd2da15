//! The process: how a run starts, and how it ends on success, failure and SIGTERM.

use std::{io::Write as _, path::PathBuf};

use common::{api::client::chain, exit::Exit, logging};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    create::create,
    error::Error,
    settings::{Settings, SettingsError},
    termination,
};

/// Runs the creator; ends at once on SIGTERM. What went wrong is logged, and left as the termination message.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    logging::init(settings.log);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(settings, Exit::Other, &format!("cannot start: {error}")),
    };
    let exit = match runtime.block_on(until_terminated(settings)) {
        Ok(exit) => exit,
        Err(error) => fail(settings, error.exit(), &chain(&error)),
    };
    // A look-up that nobody waits for must not hold the program.
    runtime.shutdown_background();
    exit
}

/// Ends a run that never began, because its settings are wrong.
#[must_use]
pub fn refuse(error: &SettingsError) -> Exit {
    let message = chain(error);
    // Where nobody can read it, the exit code and the termination message still tell.
    let _ = writeln!(std::io::stderr(), "error: {message}");
    termination::report(&termination_message_path(), &message);
    Exit::Usage
}

/// Where the termination message goes while the settings are not known: as the environment says, as far as it can.
fn termination_message_path() -> PathBuf {
    let set = std::env::var_os("TERMINATION_MESSAGE_PATH").filter(|path| !path.is_empty());
    set.map_or_else(|| PathBuf::from(termination::DEFAULT_PATH), PathBuf::from)
}

fn fail(settings: &Settings, exit: Exit, message: &str) -> Exit {
    tracing::error!(exit = exit as u8, error = %message, "failed");
    termination::report(&settings.termination_message_path, message);
    exit
}

async fn until_terminated(settings: &Settings) -> Result<Exit, Error> {
    let terminated = async {
        // As PID 1 a program without a handler would ignore the signal.
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => terminate.recv().await.map(drop),
            Err(error) => {
                tracing::warn!(%error, "SIGTERM will not be noticed");
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        biased;
        _ = terminated => {
            tracing::warn!("ended by SIGTERM");
            Ok(Exit::Terminated)
        }
        done = create(settings) => done.map(|()| Exit::Done),
    }
}
