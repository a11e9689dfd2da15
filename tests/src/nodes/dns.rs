//! The cluster's DNS: CoreDNS, where the control plane is.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{CONTROL_PLANE, permissions::permit};
use crate::harness::{
    ControlPlane, StartError,
    keeper::{
        Keeper,
        protocol::{Command, Ends},
    },
    manifests,
};

/// What names of the cluster end with.
pub(super) const DOMAIN: &str = "cluster.local";

/// Who it says it is.
const USER: &str = "coredns";

/// Starts it, on the control plane's machine.
pub(super) async fn start(
    keeper: &Arc<Keeper>,
    control_plane: &ControlPlane,
    program: &Path,
) -> Result<(), StartError> {
    let folder = keeper.folder();
    let [kubeconfig, configuration] = ["coredns.kubeconfig", "Corefile"].map(|name| folder.join(name));
    fs::write(&kubeconfig, control_plane.kubeconfig_of(USER, &[])?)?;
    fs::write(&configuration, corefile(&kubeconfig))?;
    manifests::create(&control_plane.admin(), "default", permit(USER, &rules())).await;
    keeper.spawn(Command {
        program: program.to_path_buf(),
        args: vec!["-conf".to_owned(), configuration.display().to_string()],
        env: BTreeMap::new(),
        current_dir: folder.to_path_buf(),
        stdout: log(folder),
        stderr: log(folder),
        ends: Ends::First,
    })?;
    Ok(())
}

/// Where it answers `GET /ready` once it knows all Services.
pub(super) fn readiness() -> SocketAddr {
    SocketAddr::new(CONTROL_PLANE.parse().expect("an address is written as one"), 8181)
}

pub(super) fn log(folder: &Path) -> PathBuf {
    folder.join("coredns.log")
}

/// Without a cache: what changes is seen at once.
fn corefile(kubeconfig: &Path) -> String {
    let (readiness, kubeconfig) = (readiness(), kubeconfig.display());
    format!("{DOMAIN} {{\n  errors\n  ready {readiness}\n  kubernetes {{\n    kubeconfig {kubeconfig}\n  }}\n}}\n")
}

fn rules() -> Value {
    json!([
        {"apiGroups": [""], "resources": ["services", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ])
}
