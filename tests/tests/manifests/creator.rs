//! The creator, run as the init container of a pod template would be.

use std::collections::BTreeMap;

use cluster_tests::harness::{Namespace, Outcome, Pod, Run, control_plane::NODE_IPV4};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

/// Runs the init container of this template for a pod of this name, which is created in the namespace: its arguments and
/// environment, and the files of its ConfigMap volumes. What it writes into its other volumes is in the outcome, by the
/// file's name.
pub(crate) async fn run(namespace: &Namespace<'_>, name: &str, template: &Value) -> Outcome {
    let pod = namespace.pod_of(name, template).await;
    let run = Run::creator(&pod).await.without_env("OUTPUT");
    let container = container(template);
    let mounts = mount(namespace, &run, template, container).await;
    let program = container["command"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert!(program.len() < 2, "arguments are arguments: {program:?}");
    let args = container["args"].as_array().unwrap().iter().map(|arg| inside(&mounts, arg.as_str().unwrap()));
    let environment = container["env"].as_array().into_iter().flatten();
    let run = environment
        .fold(run.args(args), |run, variable| run.env(variable["name"].as_str().unwrap(), &value(variable, &pod)));
    run.run().await.expect_code(0)
}

fn container(template: &Value) -> &Value {
    let containers = template["spec"]["initContainers"].as_array().unwrap();
    containers.iter().find(|container| container["name"] == "service-creator").unwrap()
}

/// Puts the files of its volumes where the run finds them: by mount path, the path in the run.
async fn mount(namespace: &Namespace<'_>, run: &Run, template: &Value, container: &Value) -> BTreeMap<String, String> {
    let mut mounts = BTreeMap::new();
    for mount in container["volumeMounts"].as_array().unwrap() {
        let (volume, path) = (&mount["name"], mount["mountPath"].as_str().unwrap());
        let volumes = template["spec"]["volumes"].as_array().unwrap();
        let volume = volumes.iter().find(|found| found["name"] == *volume).unwrap();
        if let Some(name) = volume["configMap"]["name"].as_str() {
            let files = namespace.api::<ConfigMap>().get(name).await.unwrap().data.unwrap();
            for (key, text) in files {
                run.file(&format!("{name}/{key}"), text);
            }
            mounts.insert(path.to_owned(), run.path(name));
        } else if volume["emptyDir"].is_object() {
            mounts.insert(path.to_owned(), run.path(""));
        }
    }
    mounts
}

/// An argument that names a file of a volume, alone or as `--flag=FILE`, as the run knows it.
fn inside(mounts: &BTreeMap<String, String>, argument: &str) -> String {
    let begins = ["template:", "="]
        .into_iter()
        .filter_map(|end| argument.split_once(end).map(|(begin, _)| begin.len() + end.len()));
    let (kind, path) = argument.split_at(begins.max().unwrap_or(0));
    let found = mounts.iter().find_map(|(mount, folder)| {
        let file = path.strip_prefix(mount)?.strip_prefix('/')?;
        Some(format!("{kind}{}/{file}", folder.trim_end_matches('/')))
    });
    found.unwrap_or_else(|| argument.to_owned())
}

/// The value of an environment variable, as the kubelet makes it.
fn value(variable: &Value, pod: &Pod<'_>) -> String {
    match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
        Some("status.hostIP" | "status.hostIPs") => NODE_IPV4.to_owned(),
        Some("status.podIP" | "status.podIPs") => "10.244.1.7".to_owned(),
        Some("metadata.name") => pod.name().to_owned(),
        Some(other) => panic!("the test does not know {other}"),
        None => variable["value"].as_str().unwrap().to_owned(),
    }
}
