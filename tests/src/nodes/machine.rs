//! The machine that the nodes are on: networks, mounts and processes of its own on the real one.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{ADDITIONAL_NETWORKS, ADDRESSES, CLIENT, CONTROL_PLANE, NODES, NodeName, addresses::Addresses};
use crate::harness::{
    keeper::{Keeper, KeeperError},
    network,
};

/// What runs first on it.
const SCRIPT: &str = include_str!("machine.sh");

/// How the real machine starts it. When this goes, so does all that is in it.
const UNSHARE: [&str; 9] =
    ["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc", "--propagation=private"];

/// What control groups of test machines are called, with the process id of the test and a number.
const GROUP: &str = "cluster-tests";

/// A machine of the tests' own. Its keeper ends it.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) keeper: Arc<Keeper>,
    group: String,
    /// Its first process, as the real machine counts.
    first: u32,
}

/// A network of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Where the control plane is.
    ControlPlane,
    /// Of a node.
    Node(NodeName),
    /// Of a client that is on neither node.
    Client,
}

impl Machine {
    /// Starts it, with its networks, and a keeper on it.
    pub(super) fn start() -> Result<Self, KeeperError> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        remove_left_groups();
        let group = format!("{GROUP}-{}-{}", process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let keeper = Keeper::start_by(command(&Keeper::program(), &group))?;
        let first = first_child(keeper.pid()).ok_or(KeeperError::Gone)?;
        Ok(Self { keeper, group, first })
    }

    /// The control group of a node, as the kubelet names it.
    pub(super) fn group(&self, node: NodeName) -> String {
        format!("/{}/{node}", self.group)
    }

    /// The file that names a network.
    pub(super) fn network(&self, network: Network) -> PathBuf {
        match network {
            Network::ControlPlane => network::of_process(self.first),
            Network::Node(node) => self.file(&Path::new("/run/netns").join(node.as_str())),
            Network::Client => self.file(Path::new("/run/netns/client")),
        }
    }

    /// A file of the machine, as the test sees it.
    pub(super) fn file(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.first));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// Whether such a machine can be had here: one is started with nothing on it.
///
/// # Errors
/// What the first step said that failed.
pub(super) fn check() -> Result<(), String> {
    let output = command(Path::new("true"), &format!("{GROUP}-{}-check", process::id())).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("unshare: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The command that starts a machine, with this program in place of its keeper.
fn command(keeper: &Path, group: &str) -> Command {
    let mut command = Command::new("unshare");
    let places = ADDITIONAL_NETWORKS.into_iter().flat_map(|network| NODES.map(|node| (network, node)));
    let places: Vec<_> =
        places.map(|(network, node)| format!("{network}={node}={}", node.address_on(network))).collect();
    command.args(UNSHARE).args(["sh", "-c", SCRIPT, "sh"]).arg(keeper).args([group, CONTROL_PLANE, CLIENT]);
    command.arg(places.join(" "));
    command.args(ADDRESSES.iter().map(|Addresses { name, node, pods }| format!("{name}={node}={pods}")));
    command
}

/// unshare --fork has one child.
fn first_child(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Removes the control groups of machines whose test process was killed along with all that would have removed them.
fn remove_left_groups() {
    let root = Path::new("/sys/fs/cgroup");
    let hierarchies = folders(root).into_iter().filter(|path| path.join("cgroup.procs").exists());
    for hierarchy in [root.to_path_buf()].into_iter().chain(hierarchies) {
        for group in folders(&hierarchy) {
            let name = group.file_name().unwrap_or_default().to_string_lossy();
            let test = name.strip_prefix(GROUP).and_then(|rest| rest.split('-').nth(1)?.parse::<u32>().ok());
            if test.is_some_and(|test| !Path::new(&format!("/proc/{test}")).exists()) {
                // One that is still in use is not removed.
                let _in_use = remove_group(&group);
            }
        }
    }
}

fn remove_group(group: &Path) -> io::Result<()> {
    for below in folders(group) {
        remove_group(&below)?;
    }
    fs::remove_dir(group)
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
