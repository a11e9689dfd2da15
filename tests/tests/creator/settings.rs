//! The documented settings, from the environment and from config.yaml.

use std::{fs, os::unix::fs::PermissionsExt};

use cluster_tests::harness::{
    ControlPlane, Run,
    preflight::{self, Level},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::other_user::as_other_user;
use crate::support::{CREATOR, assert_says, documented_but, documented_template, node_port, service};

#[tokio::test]
async fn the_documented_environment_is_obeyed() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("test-pod").create().await;
    let renamed = documented_but("name: akka-artery", "name: artery").replace("name: akka-management", "name: http");
    let patch = Patch::Merge(json!({"data": {"other.yaml": renamed}}));
    namespace.api::<ConfigMap>().patch(CREATOR, &PatchParams::default(), &patch).await.unwrap();

    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await).without_env("HOSTNAME");
    let output = run.path("ports.conf");
    let run = run
        .env("POD", "test-pod")
        .env("OUTPUT", &output)
        .env("CONFIGMAPKEY", "other.yaml")
        .env("AKKA-ARTERY-MANAGEMENT-PORT-NAME", "artery")
        .env("AKKA-MANAGEMENT-PORT-NAME", "http");
    let outcome = run.run().await.expect_code(0);

    let service = service(&namespace, "test-pod").await;
    let (artery, management) = (node_port(&service, "artery"), node_port(&service, "http"));
    let file = outcome.file("ports.conf").unwrap();
    assert!(file.starts_with(&format!("IPF_NODEPORT = {artery}\nIPF_MANAGEMENTPORT = {management}\n")), "{file}");
    assert_eq!(outcome.output(), None);
}

#[tokio::test]
async fn the_documented_config_yaml_is_found_in_the_home_folder_and_a_variable_beats_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("test-pod").create().await;
    let run = Run::creator(&pod).await.token(&namespace.unbound_token().await);
    let (home, output) = (run.path("home"), run.path("from-file.conf"));
    let text = format!(
        "pod: test-pod\noutput: {output}\nconfigmapkey: default.yaml\n\
         akka-artery-management-port-name: akka-artery\nakka-management-port-name: akka-management\n"
    );
    run.file("home/.config/ipf-dynamic-nodeport-service-creator/config.yaml", &text);
    let run = run.env("HOME", &home).without_env("OUTPUT").env("HOSTNAME", "somewhere-else");
    let outcome = run.run().await.expect_code(0);
    let file = outcome.file("from-file.conf").unwrap();
    let artery = node_port(&service(&namespace, "test-pod").await, "akka-artery");
    assert!(file.starts_with(&format!("IPF_NODEPORT = {artery}\n")), "{file}");

    let run = Run::creator(&pod).await;
    let home = run.path("home");
    run.file("home/.config/ipf-dynamic-nodeport-service-creator/config.yaml", &text);
    let outcome = run.env("HOME", &home).run().await.expect_code(0);
    assert_eq!(outcome.output(), Some(file), "OUTPUT beats the file's output");
}

#[tokio::test]
async fn a_config_map_of_another_name_is_read() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let other = json!({"metadata": {"name": "other"}, "data": {"default.yaml": documented_template()}});
    let other: ConfigMap = serde_json::from_value(other).unwrap();
    namespace.api().create(&Default::default(), &other).await.unwrap();
    namespace.api::<ConfigMap>().delete(CREATOR, &Default::default()).await.unwrap();
    Run::creator(&pod).await.args(["--configmap", "other"]).run().await.expect_code(0);
}

#[tokio::test]
async fn unknown_settings_are_named_with_their_source_and_the_nearest_name() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let refused = async |run: Run, parts: &[&str]| {
        let outcome = run.run().await.expect_code(2);
        assert_says(&outcome.stderr, parts);
        assert_eq!(outcome.output(), None);
    };
    refused(Run::creator(&pod).await.args(["--configmap-key", "x"]), &["--configmap-key", "--configmapkey"]).await;
    refused(Run::creator(&pod).await.env("FLAVOR", "akk"), &["FLAVOR", "akk", "akka, pekko, both"]).await;
    refused(Run::creator(&pod).await.env("TIMEOUT", "0"), &["TIMEOUT", "0"]).await;
    let run = Run::creator(&pod).await;
    let file = run.file("config.yaml", "pod: app-0\nconfigmap-key: x\n");
    refused(run.args(["--config", &file]), &[&file, "line 2", "configmap-key", "configmapkey"]).await;
    refused(Run::creator(&pod).await.args(["--config", "/none/config.yaml"]), &["/none/config.yaml"]).await;
    assert!(crate::support::requests(&namespace).await.is_empty(), "nothing was asked of the API");
}

#[tokio::test]
async fn a_home_that_is_another_users_holds_no_settings_and_a_file_that_is_there_must_be_readable() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let with_home = async |home_mode: u32, file_mode: u32| {
        let run = as_other_user(Run::creator(&pod).await);
        let (home, volume) = (run.path("home"), run.path("volume"));
        let file = run.file("home/.config/ipf-dynamic-nodeport-service-creator/config.yaml", "pod: app-0\n");
        fs::create_dir(&volume).unwrap();
        for (path, mode) in [(&home, home_mode), (&file, file_mode), (&volume, 0o777)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        (run.env("HOME", &home).env("OUTPUT", &format!("{volume}/nodeport.conf")), file)
    };
    let (run, _) = with_home(0o700, 0o644).await;
    let outcome = run.run().await.expect_code(0);
    assert!(outcome.file("volume/nodeport.conf").is_some());
    let (run, file) = with_home(0o755, 0o600).await;
    let outcome = run.run().await.expect_code(2);
    assert_says(&outcome.stderr, &[&format!("cannot read the settings file {file}"), "Permission denied"]);
}
