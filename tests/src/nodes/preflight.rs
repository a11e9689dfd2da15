//! Whether this machine can have nodes.

use std::{env, sync::OnceLock};

use super::machine;
use crate::harness::{
    preflight::{self, Level},
    programs::NodePrograms,
};

/// What nodes need beside what is built: the program, and the Debian package that has it.
const TOOLS: [(&str, &str); 8] = [
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("runc", "runc"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
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
    // On the nodes' machine /run is another, and what is written to /var stays there.
    let temporary = env::temp_dir();
    if ["/run", "/var"].iter().any(|hidden| temporary.canonicalize().is_ok_and(|path| path.starts_with(hidden))) {
        return Err(format!("nodes need a temporary folder outside /run and /var: set TMPDIR, which is {temporary:?}"));
    }
    machine::check().map_err(|error| format!("root may not make networks and mounts of its own here: {error}"))?;
    NodePrograms::check().map_err(|error| error.to_string())
}

/// True when tests on nodes can run here. Otherwise prints why, for the test to end quietly.
///
/// # Panics
/// With the reason, when `CI=true`.
#[must_use]
pub fn require() -> bool {
    static CHECKED: OnceLock<Result<(), String>> = OnceLock::new();
    preflight::report("nodes", CHECKED.get_or_init(check).clone())
}

fn runs(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}
