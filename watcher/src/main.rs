//! Starts the watcher.

use std::{io::Write, process::ExitCode};

use common::exit::Exit;
use watcher::settings::{Action, Settings};

fn main() -> ExitCode {
    match Settings::load_from_process() {
        Ok(Action::Run(settings)) => watcher::run::run(&settings).into(),
        Ok(Action::Print(text)) => {
            // A reader that has seen enough and closes the pipe is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Exit::Done.into()
        }
        Err(error) => watcher::run::refuse(&error).into(),
    }
}
