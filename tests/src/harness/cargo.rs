//! Programs of this workspace, as Cargo builds them.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The creator's package, and the program in it.
const CREATOR: &str = "ipf-dynamic-nodeport-service-creator";

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
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| named_creator().unwrap_or_else(|| build(CREATOR, CREATOR, Profile::Release, &[])))
}

/// The creator where speed does not matter: the file that CREATOR_BIN names, else a dev build, which shares what this
/// package is built of.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn dev_creator() -> PathBuf {
    // Named with this package, so that Cargo chooses the same features of shared dependencies, and finds them built.
    let more = ["--quiet", "--package", env!("CARGO_PKG_NAME")];
    named_creator().unwrap_or_else(|| build(CREATOR, CREATOR, Profile::Dev, &more))
}

fn named_creator() -> Option<PathBuf> {
    env::var_os("CREATOR_BIN").filter(|path| !path.is_empty()).map(|path| workspace().join(path))
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
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--package", package, "--bin", bin, "--message-format=json-render-diagnostics"]).args(more);
    if profile == Profile::Release {
        command.arg("--release");
    }
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
        .unwrap_or_else(|error| panic!("cannot run cargo to build {bin}: {error}"));
    assert!(output.status.success(), "cargo could not build {bin}; its message is above");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == bin)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .unwrap_or_else(|| panic!("cargo built {bin}, but did not say where"))
}
