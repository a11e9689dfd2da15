//! The files that users apply are those of the types.

use std::{env, fs};

use cluster_tests::harness::{cargo, manifests, net_service::definition};
use net_service::{crd::crd, resource::Group};

/// What each begins with.
const HEAD: &str = "# Made of net-service/src by `make docs`.\n---\n";

#[test]
fn the_definitions_are_those_of_the_types() {
    for group in Group::ALL {
        let path = cargo::workspace().join(definition(group));
        let text = HEAD.to_owned() + &serde_saphyr::to_string(&crd(group)).unwrap();
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(path, text).unwrap();
        } else {
            let written = fs::read_to_string(&path).unwrap_or_default();
            assert!(written == text, "{} is not what it is made of: `make docs`", path.display());
        }
    }
}

#[test]
fn a_net_service_means_the_same_in_both_groups() {
    let [own, original] = Group::ALL.map(|group| manifests::read(definition(group)).remove(0));
    assert_eq!(own["spec"]["versions"], original["spec"]["versions"]);
    assert_eq!(own["spec"]["names"], original["spec"]["names"]);
    assert_ne!(own["spec"]["group"], original["spec"]["group"]);
}
