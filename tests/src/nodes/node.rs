//! One node: how its programs are started, with which files.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{CONTROL_PLANE, NodeName, addresses::PODS, dns, networks};
use crate::harness::{
    keeper::protocol::{Command, Ends},
    programs::NodePrograms,
};

/// A program of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Runs containers.
    Containerd,
    /// Runs pods.
    Kubelet,
    /// Routes node ports.
    Proxy,
}

/// The order in which they start.
pub(super) const ALL: [Program; 3] = [Program::Containerd, Program::Kubelet, Program::Proxy];

/// The image of the container that holds a pod's network.
pub(super) const SANDBOX_IMAGE: &str = "cluster-tests.local/application:1";

/// Where a node has its files.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: NodeName,
    /// Its configuration and logs, which the test sees.
    folder: PathBuf,
    /// What it keeps in memory, which only its machine sees.
    state: PathBuf,
}

/// What a node says who it is with.
pub(super) struct Access<'a> {
    pub(super) kubelet: &'a str,
    pub(super) proxy: &'a str,
    /// None where Multus is not to be its CNI plugin, and the cluster has no DNS.
    pub(super) multus: Option<&'a str>,
    pub(super) authority: &'a str,
}

impl Node {
    /// Writes its files.
    pub(super) fn prepare(
        name: NodeName,
        folder: &Path,
        group: &str,
        programs: &NodePrograms,
        access: &Access<'_>,
    ) -> io::Result<Self> {
        let folder = folder.join(name.as_str());
        let node = Self { name, folder, state: Path::new("/run").join(name.as_str()) };
        fs::create_dir_all(node.folder.join("cni"))?;
        for (file, text) in [
            ("kubelet.kubeconfig", access.kubelet.to_owned()),
            ("proxy.kubeconfig", access.proxy.to_owned()),
            ("ca.crt", access.authority.to_owned()),
            ("containerd.toml", node.containerd(programs)),
            ("cni/pods.conf", node.cni()),
        ] {
            fs::write(node.path(file), text)?;
        }
        let mut kubelet = node.kubelet(group);
        if let Some(access) = access.multus {
            // containerd takes the first file.
            fs::write(node.path("multus.kubeconfig"), access)?;
            fs::write(node.path("cni/multus.conf"), node.multus(programs))?;
            kubelet["clusterDNS"] = json!([CONTROL_PLANE]);
            kubelet["clusterDomain"] = dns::DOMAIN.into();
        }
        fs::write(node.path("kubelet.yaml"), kubelet.to_string())?;
        Ok(node)
    }

    fn path(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    fn state(&self, file: &str) -> String {
        self.state.join(file).display().to_string()
    }

    /// Where containerd listens.
    pub(super) fn socket(&self) -> String {
        self.state("containerd.sock")
    }

    pub(super) fn log(&self, program: Program) -> PathBuf {
        self.folder.join(match program {
            Program::Containerd => "containerd.log",
            Program::Kubelet => "kubelet.log",
            Program::Proxy => "kube-proxy.log",
        })
    }

    /// A command that runs on this node. nsenter, not `ip netns exec`: that one mounts /sys anew, and without control groups.
    pub(super) fn command(&self, program: &Path, args: Vec<String>, log: PathBuf) -> Command {
        let mut all = vec![format!("--net=/run/netns/{}", self.name), program.display().to_string()];
        all.extend(args);
        let folder = folder(program).display();
        let path = format!("{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        Command {
            program: "/usr/bin/nsenter".into(),
            args: all,
            env: BTreeMap::from([("PATH".to_owned(), path)]),
            current_dir: self.folder.clone(),
            stdout: log.clone(),
            stderr: log,
            ends: Ends::First,
        }
    }

    /// The command line of one of its programs.
    pub(super) fn start(&self, program: Program, programs: &NodePrograms) -> Command {
        let (path, args) = match program {
            Program::Containerd => (&programs.containerd, vec![format!("--config={}", self.path("containerd.toml"))]),
            Program::Kubelet => (&programs.kubelet, self.kubelet_args()),
            Program::Proxy => (&programs.proxy, self.proxy_args()),
        };
        self.command(path, args, self.log(program))
    }

    fn containerd(&self, programs: &NodePrograms) -> String {
        format!(
            r#"version = 3
root = "{root}"
state = "{state}"
[grpc]
  address = "{socket}"
[plugins.'io.containerd.internal.v1.opt']
  path = "{opt}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{SANDBOX_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  # Where root may not lower the score that the kernel kills by.
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["{plugins}", "{multus}"]
  conf_dir = "{cni}"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"#,
            root = self.state("containerd"),
            state = self.state("containerd-state"),
            socket = self.socket(),
            opt = self.state("opt"),
            plugins = programs.cni.display(),
            multus = folder(&programs.multus).display(),
            cni = self.path("cni"),
        )
    }

    /// A bridge for the node's pods. hairpinMode: a pod reaches itself by its node's address.
    fn cni(&self) -> String {
        json!({
            "cniVersion": "1.0.0",
            "name": "pods",
            "type": "bridge",
            "bridge": "pods",
            "isGateway": true,
            "hairpinMode": true,
            "ipam": {
                "type": "host-local",
                "dataDir": self.state("addresses"),
                "ranges": [[{"subnet": self.name.addresses().pods}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        })
        .to_string()
    }

    fn multus(&self, programs: &NodePrograms) -> String {
        let [kubeconfig, pods] = ["multus.kubeconfig", "cni/pods.conf"].map(|file| self.path(file));
        networks::multus(&kubeconfig, &pods, &programs.cni, &self.state("multus"))
    }

    fn kubelet(&self, group: &str) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": format!("unix://{}", self.socket()),
            "authentication": {
                "x509": {"clientCAFile": self.path("ca.crt")},
                "anonymous": {"enabled": false},
                "webhook": {"enabled": false},
            },
            "authorization": {"mode": "AlwaysAllow"},
            // Machines that tests run on have either version of control groups.
            "failCgroupV1": false,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": group,
            "enforceNodeAllocatable": [],
            "failSwapOn": false,
            "makeIPTablesUtilChains": false,
            "resolvConf": "",
            // A test's machine may be full, and nothing here is to be evicted for it.
            "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%", "memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "podLogsDir": self.path("pod-logs"),
            "volumePluginDir": self.state("volume-plugins"),
        })
    }

    fn kubelet_args(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.path("kubelet.kubeconfig")),
            format!("--config={}", self.path("kubelet.yaml")),
            format!("--root-dir={}", self.state("kubelet")),
            format!("--cert-dir={}", self.state("kubelet-certificates")),
            format!("--hostname-override={}", self.name),
            format!("--node-ip={}", self.name.address()),
        ]
    }

    fn proxy_args(&self) -> Vec<String> {
        let address = self.name.address();
        let mut args = vec![
            format!("--kubeconfig={}", self.path("proxy.kubeconfig")),
            "--proxy-mode=nftables".to_owned(),
            format!("--hostname-override={}", self.name),
            format!("--cluster-cidr={PODS}"),
            format!("--healthz-bind-address={address}:10256"),
            format!("--metrics-bind-address={address}:10249"),
        ];
        // Settings of the whole machine: left as they are.
        for setting in ["max-per-core", "min", "tcp-timeout-established", "tcp-timeout-close-wait"] {
            args.push(format!("--conntrack-{setting}=0"));
        }
        args
    }
}

/// Where a program lies.
fn folder(program: &Path) -> &Path {
    program.parent().unwrap_or(Path::new("/"))
}
