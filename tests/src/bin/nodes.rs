//! Two real nodes to look around in: `cargo run -p cluster-tests --bin nodes`, ended by Ctrl-C.

use std::process::ExitCode;

use cluster_tests::nodes::{Cluster, Kind, NODES, Network, preflight};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Err(error) = preflight::check() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let cluster = match Cluster::start(Kind::Networks).await {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("export KUBECONFIG={}", cluster.control_plane().admin_kubeconfig().display());
    println!("# process {}: the machine they are on", cluster.control_plane().keeper().pid());
    println!("# nsenter --net={} COMMAND: as a client outside", cluster.network(Network::Client).display());
    for node in NODES {
        let network = cluster.network(Network::Node(node));
        println!("# nsenter --net={} COMMAND: on {node}, {}", network.display(), node.address());
    }
    println!("# Ctrl-C ends it; nothing stays behind.");
    // Where it was started in the background, Ctrl-C's signal is ignored unless somebody asks for it.
    match tokio::signal::ctrl_c().await {
        Ok(()) => cluster.close().await,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
