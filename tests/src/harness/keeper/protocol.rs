//! What a test process and its keeper say to each other: one JSON value a line.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// From the test process to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Start a program; answered by [`Message::Spawned`] or [`Message::Refused`].
    Spawn(Command),
    /// Send a signal to a process that the keeper started; one that has ended is left alone. Not answered.
    Signal {
        /// The number that [`Message::Spawned`] gave.
        process: u64,
        /// Which signal.
        signal: Signal,
    },
}

/// A program to start. Its standard input is empty, its environment is exactly what is named here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in.
    pub current_dir: PathBuf,
    /// The file its standard output is appended to.
    pub stdout: PathBuf,
    /// The file its standard error is appended to; may be the same one.
    pub stderr: PathBuf,
    /// When the keeper ends it.
    pub ends: Ends,
}

/// In which order the keeper ends what still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ends {
    /// With most others, at the same time.
    First,
    /// After all others: a store that they need in order to stop soon.
    Last,
}

/// The signals that tests send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// SIGTERM: please end.
    Terminate,
    /// SIGINT: the same, from a terminal.
    Interrupt,
    /// SIGKILL: end, without a chance to tidy up.
    Kill,
    /// SIGSTOP: stand still, connections open.
    Stop,
    /// SIGCONT: go on.
    Continue,
}

/// From the keeper to the test process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// The first message: the folder that is the test process's own, removed at the end.
    Ready {
        /// An absolute path.
        folder: PathBuf,
    },
    /// A program was started.
    Spawned {
        /// Its number, never reused.
        process: u64,
        /// Its process id.
        pid: u32,
    },
    /// A program could not be started.
    Refused {
        /// Why.
        reason: String,
    },
    /// A process has ended.
    Exited {
        /// Its number.
        process: u64,
        /// Its exit code, unless a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// From before its start until its end, in microseconds.
        elapsed_micros: u64,
    },
}
