//! The documented manifests, verbatim but for the application's image, and who reaches the pod at what its file says.

use cluster_tests::{
    harness::{Namespace, eventually, manifests},
    nodes::{Answer, Cluster, NODES, Network, NodeName, pods},
};
use k8s_openapi::api::core::v1::{Pod, Service};
use serde_json::json;

use super::support::change_template;

/// The documented ports of the application, by their names in the template.
const PORTS: [(&str, &str, u16); 2] =
    [("akka-management", "IPF_MANAGEMENTPORT", 8558), ("akka-artery", "IPF_NODEPORT", 55001)];

/// Applies the documented Deployments, and returns the application's pod when it is ready.
async fn deploy(namespace: &Namespace<'_>) -> Pod {
    pods::apply(namespace, "examples/documented/deployment.yaml").await;
    pods::ready(namespace, "product=ipfv2", 1).await.remove(0)
}

/// The node and the ports that a file says.
fn read(file: &str) -> (NodeName, Vec<u16>) {
    let value = |key: &str| {
        let line = file.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.unwrap_or_else(|| panic!("no {key} in {file}")).to_owned()
    };
    let name = value("IPF_NODENAME");
    let node = NODES.into_iter().find(|node| name == node.as_str() || name == node.address());
    let ports = PORTS.map(|(_, key, _)| value(key).parse().unwrap());
    (node.unwrap_or_else(|| panic!("{name} is no node")), ports.into())
}

#[tokio::test]
async fn the_documented_deployment_is_reachable_at_what_its_file_says() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    let pod = deploy(&namespace).await;

    let services = namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
    let names: Vec<_> = services.iter().map(|service| service.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, [pods::name(&pod)], "one Service, of the pod's name");

    // From inside the application's container, by the pod's own address.
    let file = cluster.reach(Network::Client, pods::address(&pod, 8558), "/file").await;
    let (node, ports) = read(&file);
    assert_eq!(node, pods::node(&pod));
    for ((name, _, target), port) in PORTS.into_iter().zip(&ports) {
        assert_eq!(*port, pods::node_port(&namespace, pods::name(&pod), name).await, "{name}");
        assert!(file.contains(&format!("port = {target}\n")), "{name} is bound to what it listens on: {file}");
    }

    let elsewhere = pods::plain(&namespace, "elsewhere", node.other(), json!({})).await;
    for port in ports {
        let address = node.at(port);
        assert_eq!(cluster.reach(Network::Client, address, "/").await, pods::name(&pod), "from outside both nodes");
        let dial = format!("/dial/{address}/");
        for (from, what) in [(&elsewhere, "from a pod of the other node"), (&pod, "from the pod itself")] {
            let answer = cluster.reach(Network::Client, pods::address(from, 8558), &dial).await;
            assert_eq!(answer, pods::name(&pod), "{what}");
        }
        let other = node.other().at(port);
        eventually(pods::PODS_READY, &format!("{other} drops it: Local"), async || {
            match cluster.get(Network::Client, other, "/").await {
                Answer::Silence => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
}

#[tokio::test]
async fn with_the_cluster_policy_every_node_answers_outside_clients() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    change_template(&namespace, "externalTrafficPolicy: Local", "externalTrafficPolicy: Cluster").await;
    let pod = deploy(&namespace).await;
    let port = pods::node_port(&namespace, pods::name(&pod), "akka-artery").await;
    for node in NODES {
        assert_eq!(cluster.reach(Network::Client, node.at(port), "/").await, pods::name(&pod), "{node}");
    }
}

#[tokio::test]
async fn the_documented_watcher_removes_the_service_of_a_pod_that_is_gone() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.control_plane().namespace().await;
    pods::apply(&namespace, "examples/documented/watcher.yaml").await;
    pods::ready(&namespace, "product=ipfv2", 1).await;
    // Without an owner reference nobody else would.
    let mut documents = manifests::read("examples/documented/deployment.yaml");
    documents.iter_mut().for_each(pods::use_application);
    let command = &mut documents[1]["spec"]["template"]["spec"]["initContainers"][0]["command"];
    command.as_array_mut().unwrap().extend(["--owner-reference".into(), "none".into()]);
    documents[1]["spec"]["replicas"] = 2.into();
    manifests::create(&namespace.admin(), namespace.name(), documents).await;
    let is_application = |pod: &Pod| pods::name(pod).starts_with("ipf-example-");
    let ready = pods::ready(&namespace, "product=ipfv2", 3).await;
    let gone = ready.iter().find(|pod| is_application(pod)).unwrap();
    namespace.api::<Pod>().delete(pods::name(gone), &Default::default()).await.unwrap();

    let live = eventually(pods::PODS_READY, "each live pod has a Service, and no other", async || {
        let pods = pods::list(&namespace, "product=ipfv2").await;
        let mut live: Vec<_> =
            pods.iter().filter(|pod| is_application(pod)).map(|pod| pods::name(pod).to_owned()).collect();
        let services = namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
        let mut served: Vec<_> = services.into_iter().filter_map(|service| service.metadata.name).collect();
        live.sort();
        served.sort();
        let settled = live == served && live.len() == 2 && !live.iter().any(|name| name == pods::name(gone));
        if settled { Ok(live) } else { Err(format!("pods {live:?}, Services {served:?}")) }
    })
    .await;
    assert_eq!(live.len(), 2);
}
