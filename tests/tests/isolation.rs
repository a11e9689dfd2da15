//! What nodes do to a machine, they do not do to this one.

#![cfg(test)]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use cluster_tests::{
    harness::{cargo, eventually},
    nodes::preflight,
};
use rustix::process::{Pid, Signal, kill_process};

/// How long all of it may take to end.
const ENDED: Duration = Duration::from_secs(60);

/// What nodes change about a machine that they are on: by name, what is there.
fn machine() -> BTreeMap<&'static str, String> {
    let output = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    BTreeMap::from([
        ("links", output("ip", &["-brief", "link"])),
        ("addresses", output("ip", &["-brief", "address"])),
        ("routes", output("ip", &["route", "show", "table", "all"])),
        ("networks", output("ip", &["netns", "list"])),
        ("rules", output("nft", &["list", "ruleset"])),
        ("mounts", fs::read_to_string("/proc/self/mountinfo").unwrap()),
        ("settings", settings(Path::new("/proc/sys"))),
        ("files", output("find", &["/opt", "/etc", "/var/lib", "-maxdepth", "2"])),
    ])
}

/// All settings below a folder, but for those that only report what is going on.
fn settings(folder: &Path) -> String {
    const REPORTS: [&str; 11] = [
        "/fs/aio-nr",
        "/fs/dentry-state",
        "/fs/file-nr",
        "/fs/inode-nr",
        "/fs/inode-state",
        "/fs/quota",
        "/kernel/ns_last_pid",
        "/kernel/perf_event_max_sample_rate",
        "/kernel/pty/nr",
        "/kernel/random",
        "/nf_conntrack_count",
    ];
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if REPORTS.iter().any(|report| path.to_string_lossy().contains(report)) {
            continue;
        }
        if path.is_dir() {
            all.push(settings(&path));
        } else if let Ok(value) = fs::read_to_string(&path) {
            all.push(format!("{} = {value}", path.display()));
        }
    }
    all.sort();
    all.concat()
}

/// Control groups that are left, of the machine of this process.
fn groups(of: u32) -> Vec<String> {
    let listed =
        Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("cluster-tests-{of}-*")]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

/// Processes whose command line names this folder.
fn processes(folder: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    let lines = all.filter_map(|path| fs::read_to_string(path).ok()).map(|line| line.replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}

struct Nodes {
    process: Child,
    /// Of the control plane and the nodes.
    folder: String,
    /// The process that holds the machine.
    holder: i32,
}

impl Nodes {
    /// Starts a cluster in a process of its own, and waits until it is up.
    fn start() -> Self {
        let process = Command::new(cargo::nodes()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut nodes = Self { process, folder: String::new(), holder: 0 };
        let lines = BufReader::new(nodes.process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let lines: Vec<_> = lines.take_while(|line| !line.contains("Ctrl-C")).collect();
        let after = |text: &str| lines.iter().find_map(|line| Some(line.split_once(text)?.1.to_owned()));
        let kubeconfig = after("KUBECONFIG=").expect("it prints its kubeconfig");
        nodes.folder = Path::new(&kubeconfig).parent().unwrap().display().to_string();
        nodes.holder = after("# process ").unwrap().split(':').next().unwrap().parse().unwrap();
        nodes
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits until nothing of it is left.
    async fn ended(mut self) {
        let process = &mut self.process;
        eventually(ENDED, "it has ended", async || match process.try_wait() {
            Ok(Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        eventually(ENDED, "nothing of it runs any more", async || {
            let left = processes(&self.folder);
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        })
        .await;
    }
}

impl Drop for Nodes {
    /// Also where a test fails.
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _reaped_already = self.process.wait();
    }
}

#[tokio::test]
async fn the_machine_is_the_same_while_nodes_are_up_and_after() {
    if !preflight::require() {
        return;
    }
    let before = machine();
    let compare = |when: &str| {
        for (what, now) in machine() {
            assert_eq!(now, before[what], "{what} {when}");
        }
    };

    // What holds the machine takes all of it along; nobody is left to remove its control groups and its folder.
    let nodes = Nodes::start();
    let (id, folder) = (nodes.process.id(), nodes.folder.clone());
    assert!(!groups(id).is_empty() && !processes(&folder).is_empty(), "it is up");
    compare("while nodes are up");
    kill_process(Pid::from_raw(nodes.holder).unwrap(), Signal::KILL).unwrap();
    nodes.signal(Signal::KILL);
    nodes.ended().await;
    compare("after all of it was killed");
    fs::remove_dir_all(folder).unwrap();

    // The next start removes these groups, and whatever ends it, nothing of it stays.
    for (signal, what) in [(Signal::KILL, "SIGKILL"), (Signal::INT, "Ctrl-C")] {
        let nodes = Nodes::start();
        assert_eq!(groups(id), Vec::<String>::new(), "the groups of the one before");
        let id = nodes.process.id();
        nodes.signal(signal);
        nodes.ended().await;
        compare(&format!("after {what}"));
        eventually(ENDED, "no control group is left", async || match groups(id) {
            left if left.is_empty() => Ok(()),
            left => Err(left.join("\n")),
        })
        .await;
    }
}
