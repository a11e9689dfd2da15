//! The programs of the control plane: found or built by `tests/go/build.sh`, the one builder, which the Makefile calls too.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where the builder lies.
const BUILDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go/build.sh");

/// What a control plane consists of, in the order of [`Programs`].
const CONTROL_PLANE: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// The paths of a control plane's programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The store.
    pub etcd: PathBuf,
    /// The API.
    pub apiserver: PathBuf,
    /// The controllers, among them the garbage collector.
    pub controller_manager: PathBuf,
}

/// Why there are no programs.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsError {
    /// The builder could not be run.
    #[error("cannot run {BUILDER}")]
    Run(#[from] std::io::Error),
    /// It failed.
    #[error("the control plane's programs are not there: {0}")]
    Build(String),
}

impl Programs {
    /// Finds them, or builds them with progress on standard error. Takes minutes the first time.
    ///
    /// # Errors
    /// When one is not there and cannot be built.
    pub fn find_or_build() -> Result<Self, ProgramsError> {
        let [etcd, apiserver, controller_manager] = find_or_build(CONTROL_PLANE)?;
        Ok(Self { etcd, apiserver, controller_manager })
    }

    /// Whether they are there or could be built.
    ///
    /// # Errors
    /// Says what is missing and how to get it.
    pub fn check() -> Result<(), ProgramsError> {
        check(&CONTROL_PLANE)
    }
}

/// The paths of what makes a node, and of the scheduler.
#[derive(Clone, Debug)]
pub struct NodePrograms {
    /// Which pod runs where.
    pub scheduler: PathBuf,
    /// Runs the pods of its node.
    pub kubelet: PathBuf,
    /// Routes the node's ports.
    pub proxy: PathBuf,
    /// Runs containers; its shim lies beside it.
    pub containerd: PathBuf,
    /// containerd's client.
    pub ctr: PathBuf,
    /// The folder of the CNI plugins.
    pub cni: PathBuf,
    /// The CNI plugin that attaches pods to further networks.
    pub multus: PathBuf,
    /// The cluster's DNS.
    pub coredns: PathBuf,
}

const NODE_PROGRAMS: [&str; 11] = [
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "bridge",
    "loopback",
    "host-local",
    "multus",
    "coredns",
];

impl NodePrograms {
    /// Finds them, or builds them with progress on standard error. Takes minutes the first time.
    ///
    /// # Errors
    /// When one is not there and cannot be built.
    pub fn find_or_build() -> Result<Self, ProgramsError> {
        let [scheduler, kubelet, proxy, containerd, _shim, ctr, bridge, _, _, multus, coredns] =
            find_or_build(NODE_PROGRAMS)?;
        let cni = bridge.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { scheduler, kubelet, proxy, containerd, ctr, cni, multus, coredns })
    }

    /// Whether they are there or could be built.
    ///
    /// # Errors
    /// Says what is missing and how to get it.
    pub fn check() -> Result<(), ProgramsError> {
        check(&NODE_PROGRAMS)
    }
}

/// kubectl of the same version, which only few tests need.
///
/// # Errors
/// When it is not there and cannot be built.
pub fn kubectl() -> Result<PathBuf, ProgramsError> {
    let [kubectl] = find_or_build(["kubectl"])?;
    Ok(kubectl)
}

/// Helm, which only the tests of the chart need.
///
/// # Errors
/// When it is not there and cannot be built.
pub fn helm() -> Result<PathBuf, ProgramsError> {
    let [helm] = find_or_build(["helm"])?;
    Ok(helm)
}

fn check(names: &[&str]) -> Result<(), ProgramsError> {
    let output = Command::new(BUILDER).arg("--check").args(names).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(ProgramsError::Build(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn find_or_build<const N: usize>(names: [&str; N]) -> Result<[PathBuf; N], ProgramsError> {
    let output = Command::new(BUILDER).args(names).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(ProgramsError::Build(format!("{BUILDER} failed; its message is above")));
    }
    let paths: Vec<PathBuf> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| Path::new(line).to_path_buf()).collect();
    paths.try_into().map_err(|paths| ProgramsError::Build(format!("{BUILDER} named {paths:?} for {names:?}")))
}
