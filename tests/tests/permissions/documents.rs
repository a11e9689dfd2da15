//! The documents of the permissions name what there is.

use std::{collections::BTreeSet, fs};

use cluster_tests::harness::cargo::workspace;

use crate::policies::{self, POLICIES, messages};

/// The names of a folder's manifests.
fn manifests(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".yaml")).collect()
}

fn read(file: &str) -> String {
    fs::read_to_string(workspace().join(file)).unwrap()
}

#[test]
fn every_file_of_least_privilege_is_in_the_table() {
    let readme = read("permissions/README.md");
    let files = manifests("permissions/least-privilege");
    assert!(files.len() >= 10, "{files:?}");
    for name in files {
        assert!(readme.contains(&format!("](least-privilege/{name})")), "{name} is not in permissions/README.md");
    }
}

#[test]
fn files_that_are_joined_for_one_kubectl_stay_apart() {
    for folder in ["permissions/least-privilege", "permissions/hardened"] {
        let texts: Vec<_> = manifests(folder).into_iter().map(|name| read(&format!("{folder}/{name}"))).collect();
        let documents = |text: &String| serde_saphyr::from_multiple::<serde_json::Value>(text).unwrap();
        let apart: Vec<_> = texts.iter().flat_map(documents).collect();
        assert_eq!(documents(&texts.concat()), apart, "{folder}");
    }
}

#[test]
fn every_policy_denies_what_it_refuses_and_what_it_cannot_judge() {
    for policy in POLICIES {
        let [document, binding] = policies::read(policy);
        assert_eq!(
            (&document["kind"], &binding["kind"]),
            (&"ValidatingAdmissionPolicy".into(), &"ValidatingAdmissionPolicyBinding".into())
        );
        assert_eq!(document["metadata"]["name"], policies::name(policy));
        assert_eq!(binding["metadata"]["name"], policies::name(policy));
        assert_eq!(
            binding["spec"],
            serde_json::json!({"policyName": policies::name(policy), "validationActions": ["Deny"]})
        );
        assert_eq!(document["spec"]["failurePolicy"], "Fail");
        for clause in document["spec"]["validations"].as_array().unwrap() {
            assert_eq!(clause["reason"], "Forbidden", "{clause}");
        }
    }
    let files: BTreeSet<_> = POLICIES.iter().map(|policy| format!("{policy}.yaml")).collect();
    assert_eq!(manifests("permissions/hardened"), files);
}

#[test]
fn every_message_of_the_policies_is_in_their_readme_and_no_other() {
    let readme = read("permissions/hardened/README.md");
    let rows = readme.lines().filter_map(|line| line.strip_prefix("|`")?.split_once("`|")).map(|(message, _)| message);
    let documented: BTreeSet<_> = rows.filter(|message| message.contains(' ')).map(str::to_owned).collect();
    let clauses: BTreeSet<_> = POLICIES.iter().flat_map(|policy| messages(policy)).collect();
    assert_eq!(documented, clauses);
    for policy in POLICIES {
        assert!(readme.contains(&format!("[{policy}.yaml]({policy}.yaml)")), "{policy}.yaml");
    }
}
