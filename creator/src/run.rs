//! One run from start to end: the order of the steps, and what is done at once.

use std::{error::Error as _, num::NonZeroU16};

use common::{
    api::{
        client::{Api, chain},
        connect::{Connection, connect},
        retry::Deadline,
    },
    exit::Exit,
    logging,
    ownership::PodRef,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    address::{self, Advertised, Need},
    effect::Effect,
    ensure::{Task, ensure},
    ensure_error::EnsureError,
    error::Error,
    facts::Facts,
    host::Host,
    identity::{Told, identify},
    judge::Wanted,
    label::label,
    output::{self, AllocatedPort, Allocation, render::Renderers, write},
    place::Source,
    ports::{GivenPort, WantedPort},
    preview::preview,
    rejection::Rejection,
    resolve::Lookup,
    selector,
    service::{self, ServicePlan},
    settings::{Settings, SettingsError, TemplateSource},
    source, termination,
    template::Template,
    values::{Field, Needs, Values},
    yaml::Node,
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
    let message = error.to_string();
    eprintln!("error: {message}");
    termination::report(termination::DEFAULT_PATH.as_ref(), &message);
    Exit::Usage
}

fn fail(settings: &Settings, exit: Exit, message: &str) -> Exit {
    tracing::error!(exit = exit as u8, "{message}");
    termination::report(&settings.termination_message_path, message);
    exit
}
