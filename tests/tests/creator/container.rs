//! The creator in the container of a manifest: its image has nothing but the program, and its files are those that a
//! kubelet mounts.

use std::{fs, path::PathBuf};

use cluster_tests::harness::{Outcome, Pod, Run, cargo};
use serde_json::Value;

/// Where the service account is mounted.
const SERVICE_ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";

/// Runs an init container of a pod's template, as its manifest has it: `image: …` FROM scratch with the program at `/`.
/// Needs root.
pub(crate) async fn run_init_container(pod: &Pod<'_>, container: &Value) -> Container {
    let namespace = pod.namespace();
    let control_plane = namespace.control_plane();
    let mut run = Run::creator(pod).await;
    let root = PathBuf::from(run.path("root"));
    let file = |name: &str, content: &str| run.file(&format!("root/{name}"), content);
    file(&format!("{SERVICE_ACCOUNT}/token"), &pod.bound_token().await);
    file(&format!("{SERVICE_ACCOUNT}/ca.crt"), control_plane.certificates().authority());
    file(&format!("{SERVICE_ACCOUNT}/namespace"), namespace.name());
    file("dev/termination-log", "");
    let command: Vec<_> = container["command"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    fs::copy(cargo::creator(), root.join(command[0].trim_start_matches('/'))).unwrap();
    for mount in container["volumeMounts"].as_array().unwrap() {
        fs::create_dir_all(root.join(mount["mountPath"].as_str().unwrap().trim_start_matches('/'))).unwrap();
    }

    for name in ["OUTPUT", "TERMINATION_MESSAGE_PATH", "HOME"] {
        run = run.without_env(name);
    }
    run = run
        .env("KUBECONFIG", "")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", &control_plane.port().to_string());
    let outcome = run.program("/usr/sbin/chroot").arg(root.display().to_string()).args(command).run().await;
    Container { outcome, root }
}

/// A container that has ended.
pub(crate) struct Container {
    /// How.
    pub(crate) outcome: Outcome,
    root: PathBuf,
}

impl Container {
    /// A file in it, by its path there.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path.trim_start_matches('/'))).ok()
    }
}
