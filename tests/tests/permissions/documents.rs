//! The documents of the permissions name what there is.

use std::{collections::BTreeSet, fs};

use cluster_tests::harness::cargo::workspace;

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
