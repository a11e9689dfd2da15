//! How a run ended.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use super::{keeper::Exit, running};

/// The file that the program is told to write, by its name in the run's folder.
pub(super) const OUTPUT: &str = "nodeport.conf";
/// The file that stands for the container's termination message.
pub(super) const TERMINATION_MESSAGE: &str = "termination-log";

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// How the process ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    pub(super) files: Files,
}

/// The folder where a run's files are, as the test sees it.
#[derive(Clone, Debug)]
pub(super) struct Files(pub(super) PathBuf);

impl Outcome {
    /// Its exit code; None when a signal ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.exit.code
    }

    /// From before its start until its end.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.exit.elapsed
    }

    /// Fails unless it ended with this code, and shows what it said instead. Returns itself, to look further.
    ///
    /// # Panics
    /// When the code is another one.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        let Exit { code: seen, signal, .. } = self.exit;
        assert_eq!(
            seen,
            Some(code),
            "exit code (signal {signal:?})\nstandard output:\n{}\nstandard error:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Its log: each line of standard error that is a JSON object.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        running::log(&self.stderr)
    }

    /// The lines of its log that have this message.
    #[must_use]
    pub fn log_of(&self, message: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["message"] == message).collect()
    }

    /// The file it wrote; None when there is none.
    #[must_use]
    pub fn output(&self) -> Option<String> {
        self.file(OUTPUT)
    }

    /// What it left as the container's termination message; empty for nothing.
    #[must_use]
    pub fn termination_message(&self) -> String {
        self.file(TERMINATION_MESSAGE).unwrap_or_default()
    }

    /// A file of the run's folder, by name; None when there is none.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        self.files.text(name)
    }

    /// The folder with its files, as the test sees it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.files.0
    }
}

impl Files {
    pub(super) fn text(&self, name: &str) -> Option<String> {
        fs::read(self.0.join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}
