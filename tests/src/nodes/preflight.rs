//! Whether this machine can have nodes.

use std::process::{Command, Stdio};

use super::machine::UNSHARE;
use crate::harness::{
    preflight::{self, Level},
    programs::NodePrograms,
};

/// What nodes need beside what is built: the program, and the Debian package that has it.
const TOOLS: [(&str, &str); 7] = [
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("runc", "runc"),
    ("unshare", "util-linux"),
    ("tar", "tar"),
    ("sha256sum", "coreutils"),
];

/// Whether it can.
///
/// # Errors
/// Says what is missing and how to get it.
pub fn check() -> Result<(), String> {
    preflight::check(Level::ControlPlane)?;
    if !rustix::process::geteuid().is_root() {
        return Err("nodes need root, for networks and mounts of their own".to_owned());
    }
    let missing: Vec<_> = TOOLS.into_iter().filter(|(tool, _)| !runs(tool)).map(|(_, package)| package).collect();
    if !missing.is_empty() {
        return Err(format!("nodes need programs of Debian's packages {}", missing.join(", ")));
    }
    super::image::check()?;
    let script = "mount -t tmpfs tmpfs /run && ip link add test type bridge && ip netns add test";
    let output = Command::new("unshare").args(UNSHARE).args(["sh", "-c", script]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("unshare: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("root may not make networks and mounts of its own here: {message}"));
    }
    NodePrograms::check().map_err(|error| error.to_string())
}

/// True when tests on nodes can run here. Otherwise prints why, for the test to end quietly.
///
/// # Panics
/// With the reason, when `CI=true`.
#[must_use]
pub fn require() -> bool {
    preflight::report("nodes", check())
}

fn runs(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}
