//! The address that others are told: each kind there is, and what it costs.

use cluster_tests::harness::{ControlPlane, Namespace, Outcome, Run, eventually};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use crate::support::{PATIENCE, assert_nothing_left, assert_says, requests, service};

/// Allows the documented service account to read Nodes, and waits until that has effect.
async fn allow_nodes(namespace: &Namespace<'_>) {
    let name = format!("{}-nodes", namespace.name());
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &role).await.unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name},
        "subjects": [{
            "kind": "ServiceAccount", "name": "ipf-dynamic-nodeport-service", "namespace": namespace.name(),
        }],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
    }))
    .unwrap();
    Api::all(namespace.admin()).create(&PostParams::default(), &binding).await.unwrap();
    namespace.wait_until_allowed("get", "nodes").await;
}

/// The run's host, as JSON has it.
#[track_caller]
fn host(outcome: &Outcome) -> String {
    document(outcome)["host"].as_str().unwrap().to_owned()
}

#[track_caller]
fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.output().unwrap()).unwrap()
}

async fn advertised(run: Run, kinds: &str) -> Outcome {
    run.args(["--format", "json", "--advertise", kinds]).run().await.expect_code(0)
}

#[tokio::test]
async fn host_ip_is_the_nodes_primary_address_of_the_preferred_family() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").host_ips(&["192.0.2.11", "2001:db8::11"]).create().await;
    let run = Run::creator(&pod).await;
    assert_eq!(host(&advertised(run, "host-ip").await), "192.0.2.11");
    let run = Run::creator(&pod).await.args(["--ip-family", "IPv6"]);
    assert_eq!(host(&advertised(run, "host-ip").await), "2001:db8::11");
    let conf = Run::creator(&pod).await.args(["--advertise", "host-ip", "--ip-family", "IPv6"]);
    let outcome = conf.run().await.expect_code(0);
    let conf = outcome.output().unwrap();
    assert!(conf.contains("\nIPF_NODENAME = \"2001:db8::11\"\n"), "{conf}");
    // The documented template asks for one family, and Kubernetes gives the cluster's first.
    assert!(outcome.stderr.contains("the Service has node ports for IPv4 only"), "{}", outcome.stderr);
}

#[tokio::test]
async fn a_host_ip_that_the_kubelet_has_not_reported_yet_is_waited_for() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut pod = namespace.pod("app-0").host_ips(&[]).create().await;
    let running = Run::creator(&pod).await.args(["--advertise", "host-ip"]).spawn();
    wait_for_reads(&namespace).await;
    pod.addresses(&["192.0.2.77"], &[]).await;
    let file = running.wait().await.expect_code(0).output().unwrap();
    assert!(file.contains("\nIPF_NODENAME = 192.0.2.77\n"), "{file}");
}

/// Waits until the creator has read the pod a second time.
async fn wait_for_reads(namespace: &Namespace<'_>) {
    eventually(PATIENCE, "the creator reads the pod again", async || {
        let seen = requests(namespace).await;
        if seen.iter().filter(|request| *request == "get pods").count() > 1 { Ok(()) } else { Err(seen.join(", ")) }
    })
    .await;
}

#[tokio::test]
async fn a_host_ip_that_never_comes_ends_at_the_timeout_with_the_way_round_it() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").host_ips(&[]).create().await;
    let run = Run::creator(&pod).await.args(["--advertise", "host-ip", "--timeout", "1s"]);
    let outcome = run.run().await.expect_code(7);
    let missing = format!("pod {}/app-0 still has no status.hostIP", namespace.name());
    assert_says(&outcome.termination_message(), &[&missing, "set HOST_IP from that field"]);
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn host_ip_from_the_downward_environment_costs_no_request() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").host_ips(&[]).create().await;
    let run = Run::creator(&pod).await.env("HOST_IP", "192.0.2.11,2001:db8:0:0::11").env("IP_FAMILY", "IPv6");
    let outcome = advertised(run, "host-ip").await;
    assert_eq!(document(&outcome)["addresses"], json!(["2001:db8::11", "192.0.2.11"]));
    assert!(!requests(&namespace).await.contains(&"get pods".to_owned()));
}

#[tokio::test]
async fn each_type_of_a_nodes_addresses_can_be_advertised() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let addresses = [
        ("192.0.2.21", "InternalIP"),
        ("2001:db8::21", "InternalIP"),
        ("203.0.113.21", "ExternalIP"),
        ("MACHINE-21", "Hostname"),
        ("in.Example.com", "InternalDNS"),
        ("out.example.com", "ExternalDNS"),
    ];
    control_plane.create_node("node-21", &addresses).await;
    let namespace = control_plane.namespace().await;
    allow_nodes(&namespace).await;
    let pod = namespace.pod("app-0").node("node-21").create().await;
    for (kind, expected) in [
        ("InternalIP", "192.0.2.21"),
        ("ExternalIP", "203.0.113.21"),
        ("Hostname", "machine-21"),
        ("InternalDNS", "in.example.com"),
        ("ExternalDNS", "out.example.com"),
        ("ExternalDNS,InternalIP", "out.example.com"),
    ] {
        assert_eq!(host(&advertised(Run::creator(&pod).await, kind).await), expected, "{kind}");
    }
    let run = Run::creator(&pod).await.args(["--ip-family", "IPv6"]);
    assert_eq!(host(&advertised(run, "InternalIP").await), "2001:db8::21");
    let kept = service(&namespace, "app-0").await.metadata.annotations.unwrap();
    assert_eq!(kept["ipf-dynamic-nodeport-service/advertised-host"], "192.0.2.21", "of the run that created it");
}

#[tokio::test]
async fn without_permission_for_nodes_the_rule_of_a_cluster_role_is_named() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let outcome = Run::creator(&pod).await.args(["--advertise", "ExternalIP"]).run().await.expect_code(4);
    let denied = format!("service account {}/ipf-dynamic-nodeport-service may not get nodes", namespace.name());
    let rule = "add {apiGroups: [\"\"], resources: [\"nodes\"], verbs: [\"get\"]} to its ClusterRole";
    assert_says(&outcome.termination_message(), &[&denied, rule]);
    assert_nothing_left(&pod, &outcome, &[]).await;
}

#[tokio::test]
async fn a_list_is_tried_in_its_order_and_reads_only_what_it_needs() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    // No permission for Nodes is needed where an earlier choice does.
    assert_eq!(host(&advertised(Run::creator(&pod).await, "node-name,ExternalIP").await), "node-1");
    allow_nodes(&namespace).await;
    let outcome = advertised(Run::creator(&pod).await, "ExternalIP,ExternalDNS,host-ip").await;
    assert_eq!(host(&outcome), "192.0.2.11");

    let run = Run::creator(&pod).await.args(["--advertise", "ExternalIP,ExternalDNS"]);
    let outcome = run.run().await.expect_code(2);
    let there = "it has InternalIP 192.0.2.11, InternalIP 2001:db8::11, Hostname node-1";
    assert_says(&outcome.termination_message(), &["no address to advertise", "ExternalIP: ", "ExternalDNS: ", there]);
}

#[tokio::test]
async fn a_template_makes_the_address_from_the_pods_values() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").label("zone", "West").create().await;
    let kinds = "template:{{.NodeName}}.{{labels.zone}}.example.com";
    assert_eq!(host(&advertised(Run::creator(&pod).await, kinds).await), "node-1.west.example.com");
    let outcome = Run::creator(&pod).await.args(["--advertise", "template:{{.NodeNam}}"]).run().await.expect_code(2);
    let parts = ["setting advertise, line 1, column 1", "there is no value NodeNam", "did you mean NodeName?"];
    assert_says(&outcome.termination_message(), &parts);
}

#[tokio::test]
async fn a_pods_own_address_is_waited_for_or_taken_from_the_environment() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let mut pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.env("POD_IP", "10.1.2.3");
    assert_eq!(host(&advertised(run, "template:{{.PodIP}}").await), "10.1.2.3");
    assert!(!requests(&namespace).await.contains(&"get pods".to_owned()));

    let running = Run::creator(&pod).await.args(["--advertise", "template:{{.PodIP}}"]).spawn();
    wait_for_reads(&namespace).await;
    pod.addresses(&["192.0.2.11"], &["10.1.2.4"]).await;
    let file = running.wait().await.expect_code(0).output().unwrap();
    assert!(file.contains("\nIPF_NODENAME = 10.1.2.4\n"), "{file}");
}

#[tokio::test]
async fn a_nodes_name_that_is_an_ipv6_address_or_odd_is_written_so_that_it_stays_what_it_is() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    for (name, given, written) in [
        ("app-0", "FD00:0::5", "\"fd00::5\""),
        ("app-1", "Node-1.EXAMPLE.com", "node-1.example.com"),
        ("app-2", "10.0.0.7", "10.0.0.7"),
    ] {
        let pod = namespace.pod(name).create().await;
        let template = format!("template:{given}");
        let outcome = Run::creator(&pod).await.args(["--advertise", &template]).run().await.expect_code(0);
        let file = outcome.output().unwrap();
        assert!(file.contains(&format!("\nIPF_NODENAME = {written}\n")), "{file}");
    }
}

#[tokio::test]
async fn an_address_that_is_not_the_nodes_primary_one_and_a_name_that_does_not_resolve_are_warned_of() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await.env("HOST_IP", "192.0.2.11");
    let outcome = advertised(run, "template:203.0.113.9").await;
    let parts = ["203.0.113.9 is not the node's primary address (192.0.2.11)", "--advertise host-ip names it"];
    assert_says(&outcome.stderr, &parts);
}
