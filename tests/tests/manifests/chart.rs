//! The chart: what it renders is accepted by the API server, grants no more than the repository's own permissions, and works once
//! installed; values that are none are refused with one clear message.

use std::{collections::BTreeSet, fs, process::Command};

use cluster_tests::{
    harness::{ControlPlane, Namespace, Options, Run, cargo, manifests, net_service::definition},
    net_service::{NetPod, NetService, ready},
};
use common::labels::{CREATOR, WATCHER};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion,
};
use net_service::resource::{Group, KIND};
use serde_json::Value;

use crate::{
    apply::{dry_run, restricted},
    creator,
    helm::{CHART, Helm, RELEASE},
    workload::{assert_hardened, assert_token_is_the_creators, create_pod, template},
};

/// Values that users set together, by what they are for.
const VALUES: [(&str, &str); 11] = [
    ("nothing set", ""),
    ("the documented account", "permissions: {mode: documented}"),
    ("all namespaces", "watcher: {allNamespaces: true, events: true, replicas: 2}"),
    ("several namespaces", "creator: {namespaces: [one, two]}\nwatcher: {namespaces: [one, two]}"),
    ("a CronJob", "watcher: {mode: CronJob, cronJob: {timeZone: Europe/London}}"),
    ("all a creator may need", "creator: {permissions: {configMap: true, pod: true, replace: true, node: true}}"),
    (
        "observed and shielded",
        "watcher: {networkPolicy: {enabled: true}, monitoring: {annotations: true, podMonitor: {enabled: true}, \
         prometheusRule: {enabled: true}}}",
    ),
    ("hardened", "policies: {enabled: true}"),
    ("NetServices", "netService: {enabled: true}\nwatcher: {replicas: 2}"),
    (
        "nothing but NetServices, everywhere",
        "netService: {enabled: true}\nwatcher: {allNamespaces: true, controllers: []}",
    ),
    (
        "placed",
        "commonLabels: {team: platform}\nimage: {registry: registry.example.com, pullSecrets: [registry]}\n\
         watcher: {image: {tag: '1'}, priorityClassName: system-cluster-critical, nodeSelector: {disk: ssd}, \
         tolerations: [{key: infra, operator: Exists}], podAnnotations: {a: b}, listen: 'off', grace: 2m}",
    ),
];

/// Values that are refused, and what the message names.
const REFUSED: [(&str, &str); 14] = [
    ("watcher: {grase: 60s}", "grase"),
    ("watcher: {grace: soon}", "grace"),
    ("watcher: {replicas: -1}", "replicas"),
    ("watcher: {mode: DaemonSet}", "mode"),
    ("creator: {flavor: lagom}", "flavor"),
    ("creator: {serviceTemplate: {ports: [{name: Akka_Management, port: 8558}]}}", "ports"),
    (
        "watcher: {allNamespaces: true, namespaces: [one]}",
        "watcher.allNamespaces and watcher.namespaces exclude each other",
    ),
    ("watcher: {mode: CronJob, monitoring: {annotations: true}}", "a CronJob serves no metrics"),
    ("netService: {enabled: true}\nwatcher: {mode: CronJob}", "netService.enabled needs watcher.mode Deployment"),
    (
        "netService: {enabled: true}\nwatcher: {dryRun: true}",
        "netService.enabled and watcher.dryRun exclude each other",
    ),
    ("netService: {enabled: true}\nwatcher: {enabled: false}", "netService.enabled needs watcher.enabled"),
    ("netService: {enabled: true, crd: {create: false}}", "crd"),
    ("watcher: {controllers: []}", "watcher.controllers may be empty only with netService.enabled"),
    ("policies: {enabled: true}\nwatcher: {serviceAccount: {name: other}}", "policies.enabled needs"),
];

fn is_known(document: &Value) -> bool {
    !document["apiVersion"].as_str().unwrap().starts_with("monitoring.coreos.com/")
}

#[test]
fn it_passes_helms_own_checks() {
    let helm = Helm::new();
    for (what, values) in VALUES {
        let values = helm.values(values);
        helm.run(&["lint", "--strict", CHART, "--values", &values]).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    let helm = Helm::new();
    for (values, expected) in REFUSED {
        let error = helm.template(CHART, "default", values).unwrap_err();
        assert!(error.contains(expected), "{values}: {error}");
    }
}

#[tokio::test]
async fn the_api_server_accepts_what_it_renders() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    let helm = Helm::new();
    for (what, values) in VALUES {
        let documents =
            helm.template(CHART, namespace.name(), values).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(documents.len() > 4, "{what}: {documents:?}");
        let policies = documents.iter().filter(|document| document["kind"] == "ValidatingAdmissionPolicy").count();
        assert_eq!(policies, if what == "hardened" { 4 } else { 0 }, "{what}");
        for mut document in documents.into_iter().filter(is_known) {
            // The namespaces of the values need not be there.
            if document["metadata"]["namespace"].is_string() {
                document["metadata"]["namespace"] = namespace.name().into();
            }
            let name = format!("{what}: {} {}", document["kind"], document["metadata"]["name"]);
            dry_run(&namespace, &document).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            if let Some(template) = template(&document) {
                let mut template = template.clone();
                // Priority classes are the cluster's own.
                template["spec"].as_object_mut().unwrap().remove("priorityClassName");
                let pod = create_pod(&namespace, &template).await.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_hardened(&pod, &name);
            }
        }
    }
}

/// The rules of the roles whose names tell the program, as a set: apiGroups, resources, verbs and names, each spelled out.
fn rules(documents: &[Value], program: &str) -> BTreeSet<String> {
    let is_it = |document: &&Value| {
        document["metadata"]["name"].as_str().is_some_and(|name| name.contains(program)) && document["rules"].is_array()
    };
    let mut all = BTreeSet::new();
    for rule in documents.iter().filter(is_it).flat_map(|document| document["rules"].as_array().unwrap()) {
        let texts = |key: &str| -> Vec<String> {
            rule[key].as_array().into_iter().flatten().map(|value| value.as_str().unwrap().to_owned()).collect()
        };
        for resource in texts("resources") {
            for verb in texts("verbs") {
                all.insert(format!("{:?} {resource} {verb} {:?}", texts("apiGroups"), texts("resourceNames")));
            }
        }
    }
    all
}

#[test]
fn it_grants_what_the_repositorys_own_permissions_grant() {
    let helm = Helm::new();
    let all =
        "creator: {permissions: {configMap: true, pod: true, replace: true, node: true}}\nwatcher: {events: true}";
    let documented = "permissions: {mode: documented}";
    let cluster = "watcher: {allNamespaces: true, events: true}";
    let net_service = "netService: {enabled: true}";
    let net_service_of_cluster = "netService: {enabled: true}\nwatcher: {allNamespaces: true}";
    for (values, program, files) in [
        ("", "creator", &["least-privilege/creator"][..]),
        ("creator: {permissions: {podLabel: false}}", "creator", &["least-privilege/creator-statefulset"]),
        (
            all,
            "creator",
            &[
                "least-privilege/creator",
                "least-privilege/creator-configmap",
                "least-privilege/creator-pod",
                "least-privilege/creator-replace",
                "least-privilege/creator-node",
            ],
        ),
        ("", "watcher", &["least-privilege/watcher"]),
        (all, "watcher", &["least-privilege/watcher", "least-privilege/watcher-events"]),
        (
            cluster,
            "watcher",
            &["least-privilege/watcher-all-namespaces", "least-privilege/watcher-all-namespaces-events"],
        ),
        (net_service, "watcher", &["least-privilege/watcher", "net-service/role"]),
        (net_service_of_cluster, "watcher", &["least-privilege/watcher-all-namespaces", "net-service/cluster-role"]),
        (documented, "", &["role"]),
    ] {
        let rendered = helm.template(CHART, "default", values).unwrap();
        let expected: Vec<_> =
            files.iter().flat_map(|file| manifests::read(format!("permissions/{file}.yaml"))).collect();
        let expected = rules(&expected, "");
        assert!(!expected.is_empty());
        assert_eq!(rules(&rendered, program), expected, "{program} with {values:?}");
    }
}

/// The arguments of the watcher's Deployment.
fn watchers_arguments(documents: &[Value]) -> Vec<&str> {
    let deployment = documents.iter().find(|document| document["kind"] == "Deployment").unwrap();
    let arguments = &template(deployment).unwrap()["spec"]["containers"][0]["args"];
    arguments.as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect()
}

#[test]
fn of_net_service_there_is_nothing_unless_it_is_enabled() {
    let helm = Helm::new();
    let off = helm.template(CHART, "default", "watcher: {events: true}").unwrap();
    let text = serde_json::to_string(&off).unwrap();
    for trace in ["net-service", "netservice", "endpointslices", "leases"] {
        assert!(!text.contains(trace), "{trace}");
    }

    let definitions = |documents: &[Value]| -> Vec<Value> {
        let is_it = |document: &&Value| document["kind"] == "CustomResourceDefinition";
        documents.iter().filter(is_it).cloned().collect()
    };
    let on = helm.template(CHART, "default", "netService: {enabled: true}").unwrap();
    assert!(watchers_arguments(&on).contains(&"--controllers=cleanup,net-service"), "{on:?}");
    let [first, second] = &definitions(&on)[..] else { panic!("there are two groups: {on:?}") };
    for (rendered, group) in [(first, Group::Own), (second, Group::Original)] {
        assert_eq!(rendered["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
        let own = manifests::read(definition(group)).remove(0);
        assert_eq!(rendered["metadata"]["name"], own["metadata"]["name"]);
        let versions =
            |of: &Value| serde_json::from_value::<Vec<CustomResourceDefinitionVersion>>(of["spec"]["versions"].clone());
        assert_eq!(versions(rendered).unwrap(), versions(&own).unwrap());
    }
    let alone = "netService: {enabled: true, crds: {create: false}}\nwatcher: {controllers: []}";
    let alone = helm.template(CHART, "default", alone).unwrap();
    assert!(watchers_arguments(&alone).contains(&"--controllers=net-service"), "{alone:?}");
    assert_eq!(definitions(&alone), Vec::<Value>::new());
}

/// A namespace into which the chart can be installed: what the chart brings is not there yet.
async fn empty(control_plane: &ControlPlane) -> Namespace<'_> {
    let namespace = control_plane.namespace().await;
    namespace.api::<ConfigMap>().delete(CREATOR, &Default::default()).await.unwrap();
    namespace
}

#[tokio::test]
async fn installed_it_serves_creators_and_a_watcher_and_uninstalled_it_is_gone() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = empty(control_plane).await;
    let name = namespace.name().to_owned();
    let helm = Helm::on(control_plane.admin_kubeconfig());
    let notes = helm.run(&["install", RELEASE, CHART, "--namespace", &name]).unwrap();
    assert!(notes.contains("NOTES:"), "{notes}");

    // A creator of an application whose chart uses the templates.
    let namespace = namespace.with_account(CREATOR);
    namespace.wait_until_allowed("create", "services").await;
    namespace.wait_until_allowed("patch", "pods").await;
    let application = application(&helm, &name);
    let deployment = application.iter().find(|document| document["kind"] == "Deployment").unwrap();
    let outcome = creator::run(&namespace, "app-0", template(deployment).unwrap()).await;
    assert!(outcome.file("nodeport.conf").unwrap().contains("IPF_NODEPORT = "));

    // The watcher's account, with a Service whose pod is gone.
    let namespace = namespace.with_account(WATCHER);
    namespace.wait_until_allowed("delete", "services").await;
    let pod = namespace.pod("gone-0").create().await;
    let service = pod.service().without_owner().create().await;
    pod.delete().await;
    Run::watcher(&namespace).await.args(["--once"]).run().await.expect_code(0);
    service.gone().await;

    let deployments = namespace.api::<Deployment>();
    let watchers = deployments.list(&Default::default()).await.unwrap().items;
    assert_eq!(watchers.len(), 1, "one watcher");
    helm.run(&["upgrade", RELEASE, CHART, "--namespace", &name, "--set", "watcher.replicas=2"]).unwrap();
    let upgraded = deployments.get(watchers[0].metadata.name.as_deref().unwrap()).await.unwrap();
    assert_eq!(serde_json::to_value(upgraded).unwrap()["spec"]["replicas"], 2);
    helm.run(&["uninstall", RELEASE, "--namespace", &name]).unwrap();
    assert!(namespace.api::<ConfigMap>().get_opt(CREATOR).await.unwrap().is_none());
    let left = namespace.api::<Service>().list(&Default::default()).await.unwrap().items;
    assert_eq!(left.len(), 1, "the Service of a live pod stays");
}

#[tokio::test]
async fn installed_with_net_service_it_serves_the_examples_and_uninstalled_it_leaves_them() {
    // To itself: the definitions are the release's.
    let Some(control_plane) = ControlPlane::start(Options::default()).await else { return };
    let namespace = empty(&control_plane).await.with_account(WATCHER);
    let name = namespace.name().to_owned();
    let helm = Helm::on(control_plane.admin_kubeconfig());
    let values = helm.values("netService: {enabled: true}\nwatcher: {replicas: 2}");
    let notes = helm.run(&["install", RELEASE, CHART, "--namespace", &name, "--values", &values]).unwrap();
    assert!(notes.contains(&format!("kubectl get netservices --namespace {name}")), "{notes}");

    let samples = manifests::read("examples/net-service/samples.yaml");
    let others = manifests::read("examples/net-service/pod-network.yaml");
    let is_net_service = |document: &Value| document["kind"] == KIND;
    // Helm does not wait until the definitions are served.
    for group in Group::ALL {
        control_plane.net_services_served(group).await;
    }
    let net_services: Vec<_> = samples.into_iter().chain(others).filter(is_net_service).collect();
    manifests::create(&namespace.admin(), &name, net_services).await;
    let _pod = NetPod::new("multi-0").on("core", &["10.50.0.4"]).on("access", &["10.51.0.4"]).create(&namespace).await;
    let served = NetPod::new("test-0").label("app", "test").port("http", 8080, "TCP").pod_ips(&["10.244.1.7"]);
    let _served = served.create(&namespace).await;

    let controllers = watchers_arguments(&helm.template(CHART, &name, "netService: {enabled: true}").unwrap())
        .into_iter()
        .filter(|argument| argument.starts_with("--controllers="))
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let running = Run::watcher(&namespace).await.args(controllers.iter().map(String::as_str)).spawn();
    let original = |name| NetService::of(&namespace, Group::Original, name);
    original("corens").endpoints(&[&ready("10.50.0.4", "multi-0")]).await;
    original("accessns").endpoints(&[&ready("10.51.0.4", "multi-0")]).await;
    original("emptyns").told("NetworkNotFound").await;
    original("web").told("Reconciled").await;
    let nodes = NetService::of(&namespace, Group::Own, "test");
    nodes.endpoints(&[&ready("10.244.1.7", "test-0")]).await;
    nodes.told("Reconciled").await;
    assert!(nodes.status().await["nodePorts"][0].as_i64().is_some_and(|port| port >= 30000));
    running.terminate().await.expect_code(0);

    helm.run(&["uninstall", RELEASE, "--namespace", &name]).unwrap();
    assert_eq!(nodes.status().await["endpoints"], 1, "the definitions stay, and what is of them");
    control_plane.close().await;
}

/// What the example of an application's chart renders, from a copy, into which Helm puts the chart that it depends on.
fn application(helm: &Helm, namespace: &str) -> Vec<Value> {
    let copy = helm.folder().join("charts");
    if !copy.exists() {
        let copied = Command::new("cp").arg("-R").arg(cargo::workspace().join("charts")).arg(&copy).status().unwrap();
        assert!(copied.success());
        helm.run(&["dependency", "build", &copy.join("example-application").display().to_string()]).unwrap();
    }
    helm.template(&copy.join("example-application").display().to_string(), namespace, "").unwrap()
}

#[tokio::test]
async fn an_application_that_includes_its_templates_is_as_the_examples_are() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    let namespace = restricted(control_plane).await;
    let documents = application(&Helm::new(), namespace.name());
    let workloads: Vec<_> = documents.iter().filter(|document| template(document).is_some()).collect();
    assert_eq!(workloads.len(), 2, "{documents:?}");
    for workload in workloads {
        dry_run(&namespace, workload).await.unwrap();
        let pod = create_pod(&namespace, template(workload).unwrap()).await.unwrap();
        assert_hardened(&pod, "the example application");
        assert_token_is_the_creators(&pod, "the example application");
        assert_eq!(pod.metadata.labels.unwrap()["product"], "ipfv2");
    }
}

#[test]
fn its_files_are_all_there() {
    // Helm packages what is in the folder: a file that is ignored by mistake is missing only for users.
    let helm = Helm::new();
    let folder = helm.folder().display().to_string();
    helm.run(&["package", CHART, "--destination", &folder]).unwrap();
    let package =
        fs::read_dir(&folder).unwrap().flatten().find(|file| file.path().extension().is_some_and(|end| end == "tgz"));
    let listed = Command::new("tar").arg("--list").arg("--file").arg(package.unwrap().path()).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for file in [
        "values.schema.json",
        "README.md",
        "policies/services.yaml",
        "files/rules.yaml",
        "files/crds/netservices.netservice.io.yaml",
        "templates/NOTES.txt",
    ] {
        assert!(listed.contains(file), "{file} is not in the package: {listed}");
    }
}
