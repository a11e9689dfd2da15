//! What creates pods, and the pods that it would create.

use cluster_tests::harness::Namespace;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::PostParams;
use serde_json::Value;

/// Where the kubelet mounts a service account's token, and clients look for it.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The pod template of what creates pods, by itself or by jobs.
pub(crate) fn template(document: &Value) -> Option<&Value> {
    ["/spec/template", "/spec/jobTemplate/spec/template"].into_iter().find_map(|path| document.pointer(path))
}

/// Creates, as a dry run, the pod that a workload's controller would: Pod Security judges only that.
pub(crate) async fn create_pod(namespace: &Namespace<'_>, template: &Value) -> Result<Pod, kube::Error> {
    let mut pod = template.clone();
    pod["metadata"]["name"] = "app-0".into();
    let pod: Pod = serde_json::from_value(pod).unwrap();
    namespace.api().create(&PostParams { dry_run: true, ..PostParams::default() }, &pod).await
}

/// Fails unless the pod, as the API server's admission completed it, is as all of ours are to be.
#[track_caller]
pub(crate) fn assert_hardened(pod: &Pod, of: &str) {
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.enable_service_links, Some(false), "{of}");
    let security = spec.security_context.as_ref().unwrap();
    assert_eq!(security.seccomp_profile.as_ref().unwrap().type_, "RuntimeDefault", "{of}");
    assert_eq!(security.run_as_non_root, Some(true), "{of}");
    for container in spec.init_containers.iter().flatten().chain(&spec.containers) {
        let security = container.security_context.as_ref().unwrap_or_else(|| panic!("{of}: {}", container.name));
        assert_eq!(security.read_only_root_filesystem, Some(true), "{of}: {}", container.name);
        assert_eq!(security.allow_privilege_escalation, Some(false), "{of}: {}", container.name);
        assert_eq!(security.capabilities.as_ref().unwrap().drop, Some(vec!["ALL".to_owned()]), "{of}");
    }
}

/// Fails unless of all containers only the creator has the service account's token. The API server's own admission adds it
/// to every container where it is to be mounted.
#[track_caller]
pub(crate) fn assert_token_is_the_creators(pod: &Pod, of: &str) {
    let spec = pod.spec.as_ref().unwrap();
    let has_token = |container: &&Container| {
        container.volume_mounts.iter().flatten().any(|mount| mount.mount_path.starts_with(SERVICE_ACCOUNT))
    };
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let with: Vec<_> = containers.filter(has_token).map(|container| container.name.as_str()).collect();
    assert_eq!(with, ["service-creator"], "{of}");
}
