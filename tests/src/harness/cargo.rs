//! Programs of this workspace, as Cargo builds them.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

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
    BUILT.get_or_init(|| match env::var_os("CREATOR_BIN") {
        Some(path) if !path.is_empty() => workspace().join(path),
        _ => build("ipf-dynamic-nodeport-service-creator", "ipf-dynamic-nodeport-service-creator", Profile::Release),
    })
}

/// A program of this package. Cargo builds it beside a test; where it lies is known only to the test's own crate.
pub(super) fn own_program(name: &str) -> PathBuf {
    let current = env::current_exe().expect("the running program has a path");
    let folder = current.parent().expect("a program lies in a folder");
    if let Some(parent) = folder.parent().filter(|_| folder.ends_with("deps")) {
        return parent.join(name);
    }
    let profile = if folder.ends_with("release") { Profile::Release } else { Profile::Dev };
    build(env!("CARGO_PKG_NAME"), name, profile)
}

/// Builds one program and returns its path, as Cargo reports it.
///
/// # Panics
/// When Cargo is not there or fails; its own message is on standard error by then.
#[must_use]
pub fn build(package: &str, bin: &str, profile: Profile) -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--package", package, "--bin", bin, "--message-format=json-render-diagnostics"]);
    if profile == Profile::Release {
        command.arg("--release");
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
