//! The files: each format, and several at once.

use std::{fs, os::unix::fs::PermissionsExt};

use cluster_tests::harness::{ControlPlane, Run};
use serde_json::{Value, json};

use crate::support::{
    WithTemplate, assert_says, documented_but, documented_template, files, node_port, service, services,
};

/// The documented template with two further ports of one number.
fn with_further_ports() -> String {
    format!(
        "{}    - {{name: gossip, port: 7000, protocol: UDP}}\n    - {{name: gossip-tcp, port: 7000, protocol: TCP}}\n",
        documented_template()
    )
}

#[tokio::test]
async fn several_outputs_tell_the_same_ports_each_in_its_format() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let mut run = Run::creator(&pod).await.template(&with_further_ports());
    for name in ["a.conf", "a.env", "a.json"] {
        let path = run.path(name);
        run = run.args(["--output", &path]);
    }
    let outcome = run.run().await.expect_code(0);

    let service = service(&namespace, "app-0").await;
    let port = |name| node_port(&service, name);
    let (artery, management, udp, tcp) =
        (port("akka-artery"), port("akka-management"), port("gossip"), port("gossip-tcp"));
    let conf = outcome.file("a.conf").unwrap();
    let further = format!("\nIPF_NODEPORT_GOSSIP = {udp}\nIPF_NODEPORT_GOSSIP_TCP = {tcp}\n");
    assert!(conf.starts_with(&format!("IPF_NODEPORT = {artery}\n")) && conf.ends_with(&further), "{conf}");
    assert_eq!(
        outcome.file("a.env").unwrap(),
        format!(
            "NODEPORT_HOST=node-1\nNODEPORT_AKKA_MANAGEMENT={management}\nNODEPORT_AKKA_ARTERY={artery}\n\
             NODEPORT_GOSSIP={udp}\nNODEPORT_GOSSIP_TCP={tcp}\n\
             NODEPORT_POD=app-0\nNODEPORT_NODE=node-1\nNODEPORT_SERVICE=app-0\n"
        )
    );
    let document: Value = serde_json::from_str(&outcome.file("a.json").unwrap()).unwrap();
    assert_eq!(
        document,
        json!({
            "host": "node-1",
            "ports": {"akka-artery": artery, "akka-management": management, "gossip": udp, "gossip-tcp": tcp},
            "addresses": ["node-1"],
            "pod": {"name": "app-0", "namespace": namespace.name(), "uid": pod.uid()},
            "node": "node-1",
            "service": "app-0",
        })
    );
    assert_eq!(files(&outcome), ["a.conf", "a.env", "a.json", "service.yaml", "termination-log"]);
    for name in ["a.conf", "a.env", "a.json"] {
        let mode = fs::metadata(outcome.folder().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name} is readable by another user");
    }
}

#[tokio::test]
async fn a_users_own_template_makes_any_format() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let run = Run::creator(&pod).await;
    let own = run.file("own.hbs", "<peer host=\"{{host}}\" port=\"{{lookup ports \"akka-artery\"}}\"/>\n");
    let output = run.path("peer.xml");
    let run = run.args(["--output", &output, "--format", &format!("template:{own}")]);
    let outcome = run.run().await.expect_code(0);
    let artery = node_port(&service(&namespace, "app-0").await, "akka-artery");
    assert_eq!(outcome.file("peer.xml").unwrap(), format!("<peer host=\"node-1\" port=\"{artery}\"/>\n"));
}

#[tokio::test]
async fn a_users_own_template_that_is_wrong_is_told_before_anything_is_done() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    for (text, parts) in [
        ("port={{ports.artery}}\n", &["own.hbs, line 1", "artery", "akka-artery, akka-management"][..]),
        ("\n  {{hots}}", &["own.hbs, line 2, column 3", "hots", "did you mean host?"]),
    ] {
        let run = Run::creator(&pod).await;
        let own = run.file("own.hbs", text);
        let outcome = run.args(["--format", &format!("template:{own}")]).run().await.expect_code(3);
        assert_says(&outcome.termination_message(), parts);
        crate::support::assert_nothing_left(&pod, &outcome, &["own.hbs"]).await;
    }
}

#[tokio::test]
async fn flavor_and_bind_choose_the_keys() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let pod = namespace.pod("app-0").create().await;
    let keys = async |flavor: &str, bind: &str| {
        let run = Run::creator(&pod).await.args(["--flavor", flavor, "--bind", bind]);
        let file = run.run().await.expect_code(0).output().unwrap();
        file.lines().map(|line| line.split_once(" = ").unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    let ipf = ["IPF_NODEPORT", "IPF_MANAGEMENTPORT", "IPF_NODENAME"].map(str::to_owned).to_vec();
    let canonical = |root: &str| {
        ["remote.artery.canonical.port", "remote.artery.canonical.hostname", "management.http.hostname"]
            .into_iter()
            .chain(["management.http.port"])
            .map(|key| format!("{root}.{key}"))
            .collect::<Vec<_>>()
    };
    let bind = |root: &str| {
        ["remote.artery.bind.hostname", "remote.artery.bind.port", "management.http.bind-hostname"]
            .into_iter()
            .chain(["management.http.bind-port"])
            .map(|key| format!("{root}.{key}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("akka", "off").await, [ipf.clone(), canonical("akka")].concat());
    assert_eq!(keys("akka", "on").await, [ipf.clone(), canonical("akka"), bind("akka")].concat());
    assert_eq!(keys("pekko", "on").await, [ipf.clone(), canonical("pekko"), bind("pekko")].concat());
    assert_eq!(keys("both", "off").await, [ipf, canonical("akka"), canonical("pekko")].concat());
}

#[tokio::test]
async fn a_named_target_port_is_resolved_on_the_pod_for_the_bind_keys() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = control_plane.namespace().await;
    let template = documented_but("targetPort: 55001", "targetPort: remoting");
    let pod = namespace.pod("app-0").port("remoting", 2552).create().await;
    let outcome = Run::creator(&pod).await.template(&template).run().await.expect_code(0);
    assert_says(&outcome.output().unwrap(), &["\nakka.remote.artery.bind.port = 2552\n"]);

    let other = namespace.pod("app-1").port("http", 8080).create().await;
    let outcome = Run::creator(&other).await.template(&template).run().await.expect_code(3);
    let parts = ["port akka-artery has the targetPort \"remoting\"", "no container of pod app-1", "it has http"];
    assert_says(&outcome.termination_message(), &parts);
    assert_eq!(services(&namespace).await.len(), 1, "only that of app-0");
}
