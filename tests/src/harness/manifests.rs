//! Manifests, read from the files that users apply.

use std::{fs, path::Path};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, PostParams, TypeMeta},
    core::GroupVersionKind,
};
use serde_json::Value;

use super::cargo;

/// The documents of a YAML file, named from the checkout's root.
///
/// # Panics
/// When there is no such file, or it is not YAML.
#[must_use]
pub fn read(file: impl AsRef<Path>) -> Vec<Value> {
    let path = cargo::workspace().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{} is not YAML: {error}", path.display()))
}

/// What the Roles and ClusterRoles of a manifest permit.
///
/// # Panics
/// When a rule is none.
#[must_use]
pub fn rules(file: impl AsRef<Path>) -> Vec<PolicyRule> {
    let documents = read(file);
    let rules = documents.iter().filter_map(|document| document["rules"].as_array()).flatten();
    rules.map(|rule| serde_json::from_value(rule.clone()).expect("a Role's rules are rules")).collect()
}

/// Whether a document's kind is one of objects without a namespace.
#[must_use]
pub fn is_cluster_wide(document: &Value) -> bool {
    const KINDS: [&str; 5] = [
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    document["kind"].as_str().is_some_and(|kind| KINDS.contains(&kind))
}

/// Creates each document in a namespace, wherever the document itself names `default`.
///
/// # Panics
/// When the API refuses one.
pub async fn create(client: &Client, namespace: &str, documents: Vec<Value>) {
    for mut document in documents {
        move_to(namespace, &mut document);
        let kind: TypeMeta = serde_json::from_value(document.clone()).expect("a manifest has apiVersion and kind");
        let kind = GroupVersionKind::try_from(kind).expect("a manifest has an apiVersion of a known shape");
        let resource = ApiResource::from_gvk(&kind);
        let object: DynamicObject = serde_json::from_value(document).expect("a manifest has metadata");
        let api: Api<DynamicObject> = match object.metadata.namespace {
            Some(_) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let name = object.metadata.name.clone().unwrap_or_default();
        if let Err(error) = api.create(&PostParams::default(), &object).await {
            panic!("cannot create {} {namespace}/{name}: {error}", kind.kind);
        }
    }
}

/// Puts a document and the subjects it names into a namespace, as `sed s/default/…/` would, but by structure.
fn move_to(namespace: &str, document: &mut Value) {
    if !is_cluster_wide(document) {
        document["metadata"]["namespace"] = namespace.into();
    }
    for subject in document.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if subject["namespace"] == "default" {
            subject["namespace"] = namespace.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_role_moves_to_another_namespace_with_its_subject() {
        let mut documents = read("permissions/role.yaml");
        for document in &mut documents {
            move_to("elsewhere", document);
        }
        let kinds: Vec<_> = documents.iter().map(|document| document["kind"].as_str().unwrap_or_default()).collect();
        assert_eq!(kinds, ["ServiceAccount", "Role", "RoleBinding"]);
        assert!(documents.iter().all(|document| document["metadata"]["namespace"] == "elsewhere"));
        assert_eq!(documents[2]["subjects"][0]["namespace"], "elsewhere");
    }

    #[test]
    fn the_cluster_role_has_the_rules_of_the_role() {
        assert_eq!(read("permissions/cluster-role.yaml")[1]["rules"], read("permissions/role.yaml")[1]["rules"]);
    }
}
