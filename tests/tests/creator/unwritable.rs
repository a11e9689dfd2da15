//! Folders that take no file: each is named with what to mount or to set, and costs no Service.

use std::{fs, path::Path};

use cluster_tests::harness::{
    ControlPlane, Pod, Run, cargo,
    preflight::{self, Level},
};

use crate::{
    other_user::{USER, as_other_user},
    support::{assert_says, node_port, service, uid},
};

/// A run that cannot write `output` ends with 8 and says this; the next run adopts the Service that it left.
async fn is_unwritable(pod: &Pod<'_>, run: Run, output: &str, parts: &[&str]) {
    let outcome = run.env("OUTPUT", output).run().await.expect_code(8);
    let message = outcome.termination_message();
    assert!(message.starts_with(&format!("cannot write {output}: ")), "{message}");
    assert_says(&message, parts);
    assert!(!Path::new(output).is_file());
    let left = service(pod.namespace(), pod.name()).await;

    let next = Run::creator(pod).await.run().await.expect_code(0);
    assert_eq!(uid(&service(pod.namespace(), pod.name()).await), uid(&left));
    let artery = format!("IPF_NODEPORT = {}\n", node_port(&left, "akka-artery"));
    assert!(next.output().unwrap().starts_with(&artery));
}

/// Has the creator run by a script, as `$1`, in a mount namespace of its own.
fn by_script(run: Run, script: &str) -> Run {
    let creator = cargo::creator().display().to_string();
    run.program("/usr/bin/unshare").args(["--mount", "sh", "-euc", script, "sh", &creator])
}

#[tokio::test]
async fn a_missing_folder() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    let output = run.path("none/nodeport.conf");
    let parts = ["there is no folder ", "mount a volume there, such as an emptyDir"];
    is_unwritable(&pod, run, &output, &parts).await;
}

#[tokio::test]
async fn a_folder_in_the_files_place() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    run.file("nodeport.conf/inside", "");
    let output = run.path("nodeport.conf");
    is_unwritable(&pod, run, &output, &["that names a folder", "add the file's name"]).await;
}

#[tokio::test]
async fn a_folder_of_another_user() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = as_other_user(Run::creator(&pod).await);
    let output = run.path("nodeport.conf");
    let user = format!("this runs as user {USER} and may not write into ");
    let parts = [&user, "(user 0, group 0, mode 0755)", "mount an emptyDir there", "securityContext.fsGroup"];
    is_unwritable(&pod, run, &output, &parts).await;
}

#[tokio::test]
async fn a_read_only_volume() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    fs::create_dir(run.path("volume")).unwrap();
    let output = run.path("volume/nodeport.conf");
    let run = by_script(run, r#"mount -t tmpfs -o ro tmpfs "$(dirname "$OUTPUT")"; exec "$1""#);
    is_unwritable(&pod, run, &output, &["is read-only", "mount it without readOnly"]).await;
}

/// Fills the volume, runs the creator, and fails with another code when it has left anything there.
const FULL: &str = r#"
    folder=$(dirname "$OUTPUT")
    mount -t tmpfs -o size=1m tmpfs "$folder"
    head -c 2000000 /dev/zero >"$folder/fill" 2>/dev/null || true
    code=0
    "$1" || code=$?
    [ "$(ls -A "$folder")" = fill ] || code=99
    exit $code
"#;

#[tokio::test]
async fn a_full_volume_keeps_no_part_of_the_file() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    fs::create_dir(run.path("volume")).unwrap();
    let output = run.path("volume/nodeport.conf");
    is_unwritable(&pod, by_script(run, FULL), &output, &["is full", "raise its sizeLimit"]).await;
}
