//! `measure REPORT PROGRAM [ARGUMENT]…`: runs a program, writes what it cost to the file REPORT, and ends as it ended.

use std::{
    env,
    error::Error,
    fs,
    process::{Command, ExitCode},
};

use cluster_tests::measurement::measure;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(report), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("usage: measure REPORT PROGRAM [ARGUMENT]…".into());
    };
    let (status, measurement) = measure(Command::new(program).args(arguments))?;
    fs::write(report, serde_json::to_string(&measurement)?)?;
    // A signal has no exit code; any failure will do.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
