//! A run that was started, and how it ended.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::keeper::{Exit, Process, protocol::Signal};

/// The file that the program is told to write, by its name in the run's folder.
pub(super) const OUTPUT: &str = "nodeport.conf";
/// The file that stands for the container's termination message.
pub(super) const TERMINATION_MESSAGE: &str = "termination-log";

/// A run that was started.
pub struct Running {
    pub(super) process: Process,
    pub(super) deadline: Duration,
    pub(super) files: Files,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// How the process ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    files: Files,
}

/// The folder where a run's files are, as the test sees it.
#[derive(Clone, Debug)]
pub(super) struct Files(pub(super) PathBuf);

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.files.text("../stderr").unwrap_or_default()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end before the deadline: it is killed, and the message holds what it has said.
    pub async fn wait(self) -> Outcome {
        let exit = match tokio::time::timeout(self.deadline, self.process.wait()).await {
            Ok(Ok(exit)) => exit,
            Ok(Err(error)) => panic!("{error}"),
            Err(_) => {
                self.signal(Signal::Kill);
                panic!("the program still ran after {:?}; its standard error:\n{}", self.deadline, self.stderr());
            }
        };
        Outcome {
            exit,
            stdout: self.files.text("../stdout").unwrap_or_default(),
            stderr: self.stderr(),
            files: self.files,
        }
    }
}

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
    fn text(&self, name: &str) -> Option<String> {
        fs::read(self.0.join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}
