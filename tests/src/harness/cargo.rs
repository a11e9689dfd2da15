//! Programs of this workspace, as Cargo builds them.

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use common::labels::{CREATOR, WATCHER};

/// What the variables CREATOR_BIN and WATCHER_BIN name is taken in place of a build.
const CREATOR_BIN: &str = "CREATOR_BIN";
const WATCHER_BIN: &str = "WATCHER_BIN";

/// The checkout's root folder.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in a folder of the workspace")
}

/// How Cargo optimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Cargo's `dev`.
    Dev,
    /// Cargo's `release`.
    Release,
}

/// The creator as it ships: the file that CREATOR_BIN names, else a release build, made once per test process.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn creator() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| named(CREATOR_BIN).unwrap_or_else(|| shipped(CREATOR)))
}

/// The watcher as it ships: the file that WATCHER_BIN names, else a release build, made once per test process.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn watcher() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| named(WATCHER_BIN).unwrap_or_else(|| shipped(WATCHER)))
}

/// The creator where speed does not matter: the file that CREATOR_BIN names, else a dev build, which shares what this
/// package is built of.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn dev_creator() -> PathBuf {
    named(CREATOR_BIN).unwrap_or_else(|| unoptimized(CREATOR))
}

/// The watcher where speed does not matter: the file that WATCHER_BIN names, else a dev build.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn dev_watcher() -> PathBuf {
    named(WATCHER_BIN).unwrap_or_else(|| unoptimized(WATCHER))
}

/// The application that test pods run.
#[must_use]
pub fn application() -> PathBuf {
    own_program("application")
}

/// The program that brings up nodes.
#[must_use]
pub fn nodes() -> PathBuf {
    own_program("nodes")
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(|path| workspace().join(path))
}

/// One command builds both programs, the one of `make build`: with a choice of packages Cargo would choose other features
/// of the dependencies they share, and build all of those anew.
fn shipped(program: &str) -> PathBuf {
    static BUILT: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    of(BUILT.get_or_init(|| executables(&["--release"])), program)
}

/// The same for `make demo`, whose own package is built with them.
fn unoptimized(program: &str) -> PathBuf {
    static BUILT: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    let args = ["--quiet", "--bins", "--package", env!("CARGO_PKG_NAME"), "--package", CREATOR, "--package", WATCHER];
    of(BUILT.get_or_init(|| executables(&args)), program)
}

/// A program of this package. Cargo builds it beside a test; where it lies is known only to the test's own crate.
pub(super) fn own_program(name: &str) -> PathBuf {
    let current = env::current_exe().expect("the running program has a path");
    let folder = current.parent().expect("a program lies in a folder");
    if let Some(parent) = folder.parent().filter(|_| folder.ends_with("deps")) {
        return parent.join(name);
    }
    let profile = if folder.ends_with("release") { Profile::Release } else { Profile::Dev };
    // Nearly all of it is built already, so there is no progress to show.
    build(env!("CARGO_PKG_NAME"), name, profile, &["--quiet"])
}

/// Builds one program, with further arguments for Cargo, and returns its path as Cargo reports it.
///
/// # Panics
/// When Cargo is not there or fails; its own message is on standard error by then.
#[must_use]
pub fn build(package: &str, bin: &str, profile: Profile, more: &[&str]) -> PathBuf {
    let mut args = vec!["--package", package, "--bin", bin];
    args.extend(more);
    if profile == Profile::Release {
        args.push("--release");
    }
    of(&executables(&args), bin)
}

fn of(built: &HashMap<String, PathBuf>, program: &str) -> PathBuf {
    built.get(program).cloned().unwrap_or_else(|| panic!("cargo built {program}, but did not say where"))
}

/// Runs `cargo build`, and returns the programs that it reports, by name.
fn executables(args: &[&str]) -> HashMap<String, PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--message-format=json-render-diagnostics"]).args(args);
    // Under `cargo test` and `cargo run`, Cargo describes this package in the environment. Build scripts that look there
    // (ring's does) would run again, and with them half of the dependencies.
    let described = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    for (name, _) in env::vars_os() {
        if described.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(workspace())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("cannot run cargo build {args:?}: {error}"));
    assert!(output.status.success(), "cargo build {args:?} failed; its message is above");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter_map(|message| {
            Some((message["target"]["name"].as_str()?.to_owned(), message["executable"].as_str()?.into()))
        })
        .collect()
}
