//! A control plane to look around in: `cargo run -p cluster-tests --bin control-plane`, ended by Ctrl-C.

use std::{future::pending, process::ExitCode};

use cluster_tests::harness::{Component, ControlPlane, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let control_plane = match ControlPlane::try_start(Options::default()).await {
        Ok(control_plane) => control_plane,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("export KUBECONFIG={}", control_plane.admin_kubeconfig().display());
    println!("# process {}: keeper", control_plane.keeper().pid());
    for component in [Component::Etcd, Component::ApiServer, Component::ControllerManager] {
        if let Some(process) = control_plane.process(component) {
            println!("# process {}: {component:?}", process.pid());
        }
    }
    println!("# Ctrl-C ends it; nothing stays behind.");
    pending().await
}
