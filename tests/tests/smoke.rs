//! The harness itself: a control plane starts, is what it should be, and leaves nothing behind.

#![cfg(test)]

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use cluster_tests::harness::{
    Component, ControlPlane, Options, Phase, Run, Signal, eventually,
    namespace::SERVICE_ACCOUNT,
    preflight::{self, Level},
};
use common::ownership::{Claim, PodRef, claim};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};

#[tokio::test]
async fn the_service_account_may_do_what_the_documented_role_says_and_nothing_else() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    for (resource, allowed) in [
        ("services", &["get", "list", "watch", "create", "delete"][..]),
        ("pods", &["get", "list", "watch", "patch"]),
        ("configmaps", &["get"]),
        ("secrets", &[]),
        ("nodes", &[]),
    ] {
        for verb in verbs {
            assert_eq!(namespace.allows(verb, resource).await, allowed.contains(&verb), "{verb} {resource}");
        }
    }
}

#[tokio::test]
async fn a_token_bound_to_a_pod_names_the_pod_and_its_node() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let claims = claims(&pod.bound_token().await);
    let claims = &claims["kubernetes.io"];
    let node: Node = Api::all(namespace.admin()).get("node-1").await.unwrap();
    assert_eq!(claims["namespace"], namespace.name());
    assert_eq!(claims["serviceaccount"]["name"], SERVICE_ACCOUNT);
    assert_eq!(claims["pod"], json!({"name": "app-0", "uid": pod.uid()}));
    assert_eq!(claims["node"], json!({"name": "node-1", "uid": node.metadata.uid}));
}

#[tokio::test]
async fn a_token_bound_to_no_pod_names_none() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let claims = claims(&namespace.unbound_token().await);
    assert_eq!(claims["kubernetes.io"]["pod"], Value::Null);
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[tokio::test]
async fn the_audit_log_shows_each_request_of_a_user_once() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let services: Api<Service> = Api::namespaced(namespace.client().await, namespace.name());
    services.list(&ListParams::default()).await.unwrap();
    services.get("missing").await.unwrap_err();
    let user = namespace.user();
    let seen = control_plane.audit(|event| event.user == user).await;
    let seen: Vec<_> = seen.iter().map(|e| (&*e.verb, &*e.resource, &*e.namespace, &*e.name, e.code)).collect();
    let here = namespace.name();
    assert_eq!(seen, [("list", "services", here, "", 200), ("get", "services", here, "missing", 404)]);
}

#[tokio::test]
async fn a_pod_reports_what_the_test_says_and_is_gone_when_deleted() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut pod = namespace.pod("app-0").label("app", "x").port("artery", 55001).create().await;
    assert_eq!(pod.object().status.as_ref().and_then(|status| status.pod_ip.as_deref()), None);
    pod.addresses(&["192.0.2.11", "2001:db8::11"], &["10.244.0.5"]).await;
    pod.phase(Phase::Running).await;
    let pods: Api<Pod> = namespace.api();
    let status = pods.get("app-0").await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert_eq!(status.host_ip.as_deref(), Some("192.0.2.11"));
    assert_eq!(status.pod_ip.as_deref(), Some("10.244.0.5"));
    pod.delete().await;
    assert!(pods.get_opt("app-0").await.unwrap().is_none());
}

#[tokio::test]
async fn a_service_of_a_deleted_pod_is_collected() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let services: Api<Service> = namespace.api();
    let service = service("owned", Some((pod.name(), pod.uid())));
    services.create(&PostParams::default(), &service).await.unwrap();
    pod.delete().await;
    eventually(Duration::from_secs(30), "the Service is collected", async || match services.get_opt("owned").await {
        Ok(None) => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;
}

fn service(name: &str, owner: Option<(&str, &str)>) -> Service {
    let owners: Vec<_> =
        owner.iter().map(|(name, uid)| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": name, "ownerReferences": owners},
        "spec": {"type": "NodePort", "ports": [{"port": 8558}]},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_program_runs_with_a_kubeconfig_and_nothing_of_this_machine() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.program("/bin/sh").server("https://127.0.0.1:1");
    let script = r#"
        cat "$KUBECONFIG"; echo; echo "$HOSTNAME"; cat "$(dirname "$KUBECONFIG")/token" >&2
        echo done >"$OUTPUT"; echo why >"$TERMINATION_MESSAGE_PATH"; env | wc -l; exit 5
    "#;
    let outcome = run.args(["-c", script]).run().await.expect_code(5);
    let lines: Vec<_> = outcome.stdout.lines().collect();
    let kubeconfig: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], "https://127.0.0.1:1");
    assert_eq!(kubeconfig["contexts"][0]["context"]["namespace"], namespace.name());
    assert_eq!(lines[1], "app-0");
    // HOME, HOSTNAME, KUBECONFIG, OUTPUT, PATH, TERMINATION_MESSAGE_PATH, and the shell's own PWD.
    assert_eq!(lines[2], "7");
    assert_eq!(claims(&outcome.stderr)["kubernetes.io"]["pod"]["uid"], pod.uid());
    assert_eq!(outcome.output().as_deref(), Some("done\n"));
    assert_eq!(outcome.termination_message(), "why\n");
}

#[tokio::test]
async fn a_program_runs_as_inside_its_pod() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    if !preflight::require(Level::InCluster) {
        return;
    }
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let script = r#"
        cd /var/run/secrets/kubernetes.io/serviceaccount
        echo $(ls); cat namespace; echo; echo "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"; cat /tmp/given
        echo done >/tmp/nodeport.conf
    "#;
    let run = Run::creator_in_cluster(&pod).await.program("/bin/sh");
    assert_eq!(run.file("given", "content"), "/tmp/given");
    let outcome = run.args(["-c", script]).run().await.expect_code(0);
    let expected = format!("ca.crt namespace token\n{}\n127.0.0.1:{}\ncontent", namespace.name(), control_plane.port());
    assert_eq!(outcome.stdout, expected);
    assert_eq!(outcome.output().as_deref(), Some("done\n"));
}

#[tokio::test]
async fn a_watcher_runs_with_its_namespaces_account_and_its_log_is_read_as_it_is_written() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let script = r#"
        token=$(cat "$(dirname "$KUBECONFIG")/token")
        echo 'no JSON' >&2; echo '{"message":"token","token":"'$token'","listen":"'$LISTEN'"}' >&2; echo '{"mess' >&2
        exec sleep 60
    "#;
    let running = Run::watcher(&namespace).await.program("/bin/sh").args(["-c", script]).spawn();
    let line = running.logged("token", |line| line["listen"] == "off").await;
    let account = &claims(line["token"].as_str().unwrap())["kubernetes.io"];
    assert_eq!(account["namespace"], namespace.name());
    assert_eq!(account["serviceaccount"]["name"], SERVICE_ACCOUNT);
    assert_eq!(account["pod"], Value::Null);
    assert_eq!(running.log().len(), 1);
    let outcome = running.terminate().await;
    assert_eq!(outcome.exit.signal, Some(15));
}

#[tokio::test]
async fn services_are_whose_they_are_made_to_be() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let of_pod = Claim::Pod(PodRef { name: "app-0".to_owned(), uid: pod.uid().to_owned() });
    for (service, expected) in [
        (pod.service(), of_pod.clone()),
        (pod.service().name("without").without_owner(), of_pod.clone()),
        (pod.service().name("headless").headless(), of_pod),
        (namespace.original_tools_service("app-1"), Claim::OriginalTool { pod_name: "app-1".to_owned() }),
        (namespace.foreign_service("app-2"), Claim::Foreign),
    ] {
        let service = service.create().await;
        assert_eq!(claim(service.object()), expected);
        service.assert_untouched().await;
    }
}

#[tokio::test]
async fn a_run_that_is_killed_says_so() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let running = Run::creator(&pod).await.program("/bin/sleep").arg("60").spawn();
    running.signal(Signal::Kill);
    let outcome = running.wait().await;
    assert_eq!((outcome.code(), outcome.exit.signal), (None, Some(9)));
}

#[tokio::test]
async fn a_control_plane_of_its_own_has_its_options_and_survives_a_killed_apiserver() {
    let options = Options { service_node_port_range: Some(31000..=31000), ..Options::default() };
    let Some(control_plane) = ControlPlane::start(options).await else { return };
    let namespace = control_plane.namespace().await;
    let services: Api<Service> = namespace.api();
    services.create(&PostParams::default(), &service("first", None)).await.unwrap();
    let full = services.create(&PostParams::default(), &service("second", None)).await.unwrap_err();
    assert!(full.to_string().contains("range is full"), "{full}");

    control_plane.stop(Component::ApiServer, Signal::Kill).await;
    services.get("first").await.unwrap_err();
    control_plane.resume(Component::ApiServer).await;
    let kept = services.get("first").await.unwrap();
    assert_eq!(kept.spec.unwrap().ports.unwrap()[0].node_port, Some(31000));
    control_plane.close().await;
}

#[tokio::test]
async fn nothing_is_left_when_the_test_process_is_killed() {
    if !preflight::require(Level::ControlPlane) {
        return;
    }
    let mut owner =
        Command::new(env!("CARGO_BIN_EXE_control-plane")).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut processes = Vec::new();
    let mut folder = PathBuf::new();
    for line in lines.take_while(|line| !line.contains("Ctrl-C")) {
        if let Some(kubeconfig) = line.strip_prefix("export KUBECONFIG=") {
            folder = Path::new(kubeconfig).parent().unwrap().to_path_buf();
        } else if let Some((pid, _)) = line.strip_prefix("# process ").and_then(|line| line.split_once(':')) {
            processes.push(Path::new("/proc").join(pid));
        }
    }
    assert_eq!(processes.len(), 4, "keeper and three programs");
    assert!(folder.is_dir() && processes.iter().all(|process| process.exists()));

    // SIGKILL: the process has no chance to tidy up.
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually(Duration::from_secs(30), "its processes and files are gone", async || {
        let left: Vec<_> = processes.iter().chain([&folder]).filter(|path| path.exists()).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}
