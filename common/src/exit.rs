//! The exit codes of both programs: documented in docs/troubleshooting.md and stable.

use std::process::ExitCode;

/// How a program ends. The numbers are part of the interface: scripts and alerts match on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Done = 0,
    /// Anything that has no code of its own.
    Other = 1,
    /// The command line, the environment or config.yaml is wrong, or the program cannot know who it is.
    Usage = 2,
    /// The Service template is wrong.
    Template = 3,
    /// RBAC, a policy, a webhook or a terminating namespace forbids it.
    Forbidden = 4,
    /// The Service, or a label its selector needs, is someone else's.
    Taken = 5,
    /// No node port is to be had: the range is full, the port is in use, or a quota is used up.
    NoPort = 6,
    /// Not done in time.
    Timeout = 7,
    /// An output file cannot be written.
    Unwritable = 8,
    /// Ended by SIGTERM (128 + 15, as shells report it).
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
