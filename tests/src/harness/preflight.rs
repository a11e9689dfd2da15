//! Which tests this machine can run. A developer's machine may lack something: its tests are skipped, and say so.
//! In CI nothing may be skipped silently: a level that cannot run there is a failure.

use std::{
    env,
    fmt::{self, Display, Formatter},
    io::{self, Write},
    process::{Command, Stdio},
};

use super::programs::Programs;

/// What a test needs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// etcd, kube-apiserver and kube-controller-manager on loopback.
    ControlPlane,
    /// A program that finds the API as inside a pod: a service account folder below /var/run of its own.
    InCluster,
    /// The same, in a network of its own, as a pod's.
    OwnNetwork,
}

impl Display for Level {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "control-plane",
            Self::InCluster => "in-cluster",
            Self::OwnNetwork => "own-network",
        })
    }
}

/// Whether tests of this level can run here.
///
/// # Errors
/// Says why not, and what would help.
pub fn check(level: Level) -> Result<(), String> {
    if env::consts::OS != "linux" {
        return Err(format!("it needs Linux, and this is {}", env::consts::OS));
    }
    match level {
        Level::ControlPlane => Programs::check().map_err(|error| error.to_string()),
        Level::InCluster => check_unshare(&["--mount"], "mount -t tmpfs tmpfs /run"),
        // As the harness brings its loopback up.
        Level::OwnNetwork => check_unshare(
            &["--mount", "--net"],
            "mount -t tmpfs tmpfs /run; mount -t sysfs sysfs /run; echo 0x9 >/run/class/net/lo/flags",
        ),
    }
}

/// True when tests of this level can run here. Otherwise prints why, for the test to end quietly.
///
/// # Panics
/// With the reason, when `CI=true`.
#[must_use]
pub fn require(level: Level) -> bool {
    report(level, check(level))
}

/// What [`require`] does with the result of a check: true where it went well.
///
/// # Panics
/// With the reason why it did not, when `CI=true`.
pub fn report(level: impl Display, checked: Result<(), String>) -> bool {
    let Err(reason) = checked else { return true };
    assert!(env::var("CI").as_deref() != Ok("true"), "the level {level} cannot run here: {reason}");
    // Not eprintln!, which the test runner captures and drops when a test passes.
    let _closed = writeln!(io::stderr(), "SKIPPED a test of the level {level}: {reason}");
    false
}

fn check_unshare(flags: &[&str], script: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("it needs root, for mounts or a network that only the tested program sees".to_owned());
    }
    let output = Command::new("unshare")
        .args(flags)
        .args(["sh", "-euc", script])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("it needs unshare (Debian's package util-linux): {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("root may not do this here, in namespaces of its own ({script}): {}", message.trim()))
}
