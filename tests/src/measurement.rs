//! What one run of a program costs.

use std::{
    io,
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use wait4::Wait4;

/// The cost of one run, of the program and all the processes it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// From before the start until the end.
    pub wall: Duration,
    /// The peak resident set of the largest process, in bytes.
    pub peak_resident: u64,
}

/// Runs a program to its end.
///
/// The kernel counts the starting process's own memory as the child's until the child has become another program
/// (`exec_mmap` keeps the maximum), so this must be called by a small process: the program `measure`.
///
/// # Errors
/// When the program cannot be started.
pub fn measure(command: &mut Command) -> io::Result<(ExitStatus, Measurement)> {
    let started = Instant::now();
    let ended = command.spawn()?.wait4()?;
    let wall = started.elapsed();
    Ok((ended.status, Measurement { wall, peak_resident: ended.rusage.maxrss }))
}
