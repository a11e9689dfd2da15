//! Shows on a real control plane what the programs do for one pod: the creator at its Service's birth, the watcher at its end.
//! It reads no kubeconfig of the user's, and leaves nothing behind.

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use cluster_tests::harness::{ControlPlane, Namespace, Options, Run, Running, cargo, eventually};
use k8s_openapi::api::core::v1::Service;
use kube::Api;

/// As a ReplicaSet of the documented Deployment would name it.
const POD: &str = "ipf-example-6c9f7d5b8-x2k4q";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match demo().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn demo() -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    println!("1. Start etcd, kube-apiserver and kube-controller-manager, on loopback only");
    let control_plane = ControlPlane::try_start(Options::default()).await?;
    println!("   {} is ready after {}", control_plane.url(), seconds(started));

    println!("2. Apply permissions/role.yaml and examples/documented/configmap.yaml to its namespace default");
    let namespace = Namespace::documented(&control_plane, "default".to_owned()).await;

    println!("3. Run the watcher as its Deployment would, with the service account of that namespace");
    let watcher = Run::watcher(&namespace).await.program(cargo::dev_watcher()).env("LOG_FORMAT", "text").spawn();
    print!("{}", indent(&says(&watcher, "watching").await));

    println!(
        "4. Create pod {POD} on node node-1, like the documented Deployment's (the object only: there is no kubelet)"
    );
    let pod = namespace.pod(POD).port("management", 8558).port("artery", 55001).create().await;

    println!(
        "5. Run the creator as its init container would, with a token bound to that pod, and with --owner-reference none:\n   \
         otherwise the pod would own the Service, and Kubernetes' own garbage collector might be first to remove it"
    );
    let creator = Run::creator(&pod).await.program(cargo::dev_creator()).args(["--owner-reference", "none"]);
    let outcome = creator.run().await;
    if outcome.code() != Some(0) {
        return Err(format!("the creator ended with {:?}:\n{}", outcome.exit, outcome.stderr).into());
    }
    println!("   done in {} ms", outcome.elapsed().as_millis());

    println!("6. Its Service, with the ports that Kubernetes chose:");
    let services: Api<Service> = namespace.api();
    print!("{}", indent(&summary(&services.get(POD).await?)));
    println!("7. Its file, which the application includes:");
    print!("{}", indent(&outcome.output().ok_or("the creator wrote no file")?));

    println!("8. Delete the pod: the watcher removes the Service, and says why and how long that took");
    pod.delete().await;
    let deleted = Instant::now();
    eventually(Duration::from_secs(30), "the Service is gone", async || match services.get_opt(POD).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err("it is still there".to_owned()),
        Err(error) => Err(error.to_string()),
    })
    .await;
    let gone = deleted.elapsed();
    print!("{}", indent(&says(&watcher, "Service deleted").await));
    println!(
        "   gone {} ms after the API had answered that the pod is gone; the watcher heard of it before",
        gone.as_millis()
    );

    println!("9. Stop the watcher and the control plane, and remove their files");
    let outcome = watcher.terminate().await;
    if outcome.code() != Some(0) {
        return Err(format!("the watcher ended with {:?}:\n{}", outcome.exit, outcome.stderr).into());
    }
    control_plane.close().await;
    println!("   done, {} in all", seconds(started));
    Ok(())
}

/// The first line of a program's log that holds this; waits for it.
async fn says(running: &Running, message: &str) -> String {
    eventually(Duration::from_secs(30), &format!("{message:?} is in the log"), async || {
        let log = running.stderr();
        let line = log.lines().find(|line| line.contains(message)).map(str::to_owned);
        line.ok_or(log)
    })
    .await
}

fn seconds(since: Instant) -> String {
    format!("{:.1} s", since.elapsed().as_secs_f64())
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("   | {line}\n")).collect()
}

/// The parts of a Service that matter here, as YAML.
fn summary(service: &Service) -> String {
    let mut lines = vec!["kind: Service".to_owned(), "metadata:".to_owned()];
    lines.push(format!("  name: {}", service.metadata.name.as_deref().unwrap_or_default()));
    lines.push("  annotations:".to_owned());
    for (key, value) in service.metadata.annotations.iter().flatten() {
        lines.push(format!("    {key}: {value}"));
    }
    lines.push("spec:".to_owned());
    let spec = service.spec.as_ref();
    lines.push(format!("  type: {}", spec.and_then(|spec| spec.type_.as_deref()).unwrap_or_default()));
    lines.push("  selector:".to_owned());
    for (key, value) in spec.and_then(|spec| spec.selector.as_ref()).into_iter().flatten() {
        lines.push(format!("    {key}: {value}"));
    }
    lines.push("  ports:".to_owned());
    for port in spec.and_then(|spec| spec.ports.as_ref()).into_iter().flatten() {
        let (name, node_port) = (port.name.as_deref().unwrap_or_default(), port.node_port.unwrap_or_default());
        lines.push(format!("    - {{name: {name}, port: {}, nodePort: {node_port}}}", port.port));
    }
    lines.join("\n")
}
