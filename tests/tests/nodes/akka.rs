//! Real clusters of Akka and Pekko over node ports: three members on two nodes, with the documented application.conf. Only how
//! members find each other is the test's: by a folder that they share, in place of a database.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use cluster_tests::{
    harness::{Namespace, cargo, eventually, manifests, preflight},
    nodes::{Answer, Cluster, Image, NODES, Network, pods},
};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{Pod, Service},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const IMAGE: &str = "cluster-tests.local/member:1";

/// How long a cluster may take to form: six Java processes start on two cores.
const FORMED: Duration = Duration::from_secs(180);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    Akka,
    Pekko,
}

/// What the creator advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    NodeName,
    HostIp,
}

impl Flavor {
    fn name(self) -> &'static str {
        match self {
            Self::Akka => "akka",
            Self::Pekko => "pekko",
        }
    }

    /// The documented configuration; for Pekko with its keys renamed.
    fn configuration(self) -> Value {
        let mut map = manifests::read("examples/documented/deployment.yaml").remove(0);
        let text = map["data"]["application.conf"].as_str().unwrap();
        map["data"]["application.conf"] = match self {
            Self::Akka => text.into(),
            Self::Pekko => text.replace("akka", "pekko").replace("\"pekko.", "\"org.apache.pekko.").into(),
        };
        map
    }

    fn java(self) -> Vec<String> {
        let name = self.name();
        let package = if self == Self::Akka { "akka" } else { "org.apache.pekko" };
        [
            "-Xmx96m".to_owned(),
            "-XX:+UseSerialGC".to_owned(),
            "-XX:TieredStopAtLevel=1".to_owned(),
            "-XX:-UsePerfData".to_owned(),
            "-Dconfig.file=/example-project-app/conf/application.conf".to_owned(),
            // What the documented file leaves to the application, and how members find each other here.
            format!("-D{name}.actor.provider=cluster"),
            format!("-D{name}.discovery.method=shared-folder"),
            format!("-D{name}.discovery.shared-folder.class=nodeport.SharedFolder"),
            format!("-D{name}.cluster.downing-provider-class={package}.cluster.sbr.SplitBrainResolverProvider"),
            format!("--class-path=/{name}/classes:/{name}/*"),
            "nodeport.Member".to_owned(),
        ]
        .into()
    }
}

impl Host {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::NodeName => &[],
            Self::HostIp => &["--advertise", "host-ip"],
        }
    }

    /// What is advertised for a pod.
    fn of(self, pod: &Pod) -> &'static str {
        match self {
            Self::NodeName => pods::node(pod).as_str(),
            Self::HostIp => pods::node(pod).address(),
        }
    }
}

/// The image's root, assembled once. None where Java or Maven is missing: that is said, and in CI it is a failure.
async fn image(cluster: &Cluster) -> Option<()> {
    static ADDED: OnceCell<bool> = OnceCell::const_new();
    let script = cargo::workspace().join("tests/akka/assemble.sh");
    let added = ADDED.get_or_init(async || {
        let output = Command::new(&script).stdin(Stdio::null()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(3) {
            return preflight::report("Akka and Pekko", Err(error));
        }
        assert!(output.status.success(), "{error}");
        let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        cluster.add(&Image { name: IMAGE.to_owned(), root, entrypoint: vec!["/java/bin/java".to_owned()] }).await;
        true
    });
    added.await.then_some(())
}

/// A StatefulSet of three members, with the documented init container.
fn stateful_set(namespace: &str, flavor: Flavor, host: Host) -> Value {
    let deployment = manifests::read("examples/documented/deployment.yaml").remove(1);
    let mut template = deployment["spec"]["template"].clone();
    let pod = template["spec"].as_object_mut().unwrap();
    let creator = &mut pod["initContainers"][0];
    creator["command"].as_array_mut().unwrap().extend(host.arguments().iter().map(|&word| word.into()));
    if flavor == Flavor::Pekko {
        creator["command"].as_array_mut().unwrap().extend(["--flavor".into(), "pekko".into()]);
    }
    creator["env"] = json!([{"name": "HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}]);
    let member = &mut pod["containers"][0];
    member["image"] = IMAGE.into();
    member["args"] = flavor.java().into();
    // The folder on the node belongs to root.
    member["securityContext"] = json!({"runAsUser": 0});
    // Kubernetes calls a member ready when the cluster does.
    member["readinessProbe"] =
        json!({"httpGet": {"path": "/ready", "port": 8558}, "periodSeconds": 1, "timeoutSeconds": 5});
    member["volumeMounts"].as_array_mut().unwrap().push(json!({"name": "members", "mountPath": "/members"}));
    let path = format!("/var/members/{namespace}");
    let members = json!({"name": "members", "hostPath": {"path": path, "type": "DirectoryOrCreate"}});
    pod["volumes"].as_array_mut().unwrap().push(members);
    // The nodes' names resolve: where an administrator would see to that in the name service.
    let aliases = NODES.map(|node| json!({"ip": node.address(), "hostnames": [node.as_str()]}));
    pod.insert("hostAliases".to_owned(), aliases.as_slice().into());
    pod.insert("enableServiceLinks".to_owned(), false.into());
    pod.insert(
        "topologySpreadConstraints".to_owned(),
        json!([{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"product": "ipfv2"}},
        }]),
    );
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "member"},
        "spec": {
            "replicas": 3,
            "serviceName": "member",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"product": "ipfv2"}},
            "template": template,
        },
    })
}

/// Waits until all three members see just each other, all up, at the addresses that their Services give them.
async fn formed(cluster: &Cluster, namespace: &Namespace<'_>, flavor: Flavor, host: Host, count: usize) {
    eventually(FORMED, &format!("{flavor:?} {host:?} has formed"), async || {
        let ready = pods::list(namespace, "product=ipfv2").await;
        if ready.len() != count || !ready.iter().all(pods::is_ready) {
            return Err(pods::describe(namespace, &ready).await);
        }
        let mut expected = BTreeSet::new();
        for pod in &ready {
            let port = pods::node_port(namespace, pods::name(pod), "akka-artery").await;
            expected.insert(format!("{}://ipf@{}:{port}", flavor.name(), host.of(pod)));
        }
        for pod in &ready {
            let port = pods::node_port(namespace, pods::name(pod), "akka-management").await;
            let address = pods::node(pod).at(port);
            let body = match cluster.get(Network::Client, address, "/cluster/members").await {
                Answer::Body(body) => body,
                other => return Err(format!("{}: {other:?}", pods::name(pod))),
            };
            let seen: Value = serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
            let members = seen["members"].as_array().into_iter().flatten();
            let up = members.map(|member| (member["status"].as_str(), member["node"].as_str().unwrap_or_default()));
            let (statuses, nodes): (BTreeSet<_>, BTreeSet<_>) =
                up.map(|(status, node)| (status, node.to_owned())).unzip();
            if nodes != expected || statuses != BTreeSet::from([Some("Up")]) || seen["unreachable"] != json!([]) {
                return Err(format!("{} sees {body}, and the Services have {expected:?}", pods::name(pod)));
            }
        }
        Ok(())
    })
    .await;
}

/// Two clusters of one name, each in a namespace with a folder of its own: one by the nodes' names, one by their addresses.
async fn forms(flavor: Flavor) {
    // Six Java processes starting are enough for two cores.
    let Some(cluster) = Cluster::alone().await else { return };
    let Some(()) = image(&cluster).await else { return };
    let hosts = [Host::NodeName, Host::HostIp];
    let mut namespaces = Vec::new();
    for host in hosts {
        let namespace = cluster.control_plane().namespace().await;
        let documents = vec![flavor.configuration(), stateful_set(namespace.name(), flavor, host)];
        manifests::create(&namespace.admin(), namespace.name(), documents).await;
        namespaces.push(namespace);
    }
    // Each sees its own three members and none of the other's.
    for (namespace, host) in namespaces.iter().zip(hosts) {
        formed(&cluster, namespace, flavor, host, 3).await;
    }

    // One pod of each is replaced, and its successor joins.
    for namespace in &namespaces {
        let pods = namespace.api::<Pod>();
        let before = pods.get("member-1").await.unwrap();
        pods.delete("member-1", &Default::default()).await.unwrap();
        eventually(FORMED, "member-1 is another pod", async || {
            let now = pods.get_opt("member-1").await.unwrap();
            let uid = now.and_then(|pod| pod.metadata.uid);
            if uid.is_some() && uid != before.metadata.uid { Ok(()) } else { Err(format!("{uid:?}")) }
        })
        .await;
    }
    for (namespace, host) in namespaces.iter().zip(hosts) {
        formed(&cluster, namespace, flavor, host, 3).await;
        let services = namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
        assert_eq!(services.len(), 3, "one Service a member");
        namespace.api::<StatefulSet>().delete("member", &Default::default()).await.unwrap();
    }
    for namespace in &namespaces {
        pods::ready(namespace, "product=ipfv2", 0).await;
    }
}

#[tokio::test]
async fn akka_forms_clusters_over_node_ports() {
    forms(Flavor::Akka).await;
}

#[tokio::test]
async fn pekko_forms_clusters_over_node_ports() {
    forms(Flavor::Pekko).await;
}
