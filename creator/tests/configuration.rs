//! docs/configuration.md: the tables of the creator are the ones of the code, and its examples are valid.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in test functions, not in their helpers"
)]

use std::fs;
use std::path::PathBuf;

use common::settings::{Sources, table};
use creator::settings::{Action, Settings, command};

/// Set it to write the tables instead of comparing them: `make docs`.
const UPDATE: &str = "UPDATE_DOCS";

fn document() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md"))
}

fn text() -> String {
    fs::read_to_string(document()).unwrap()
}

fn examples(language: &str) -> Vec<String> {
    table::examples(&text(), language, &command())
}

fn load(environment: &[(&str, &str)], file: &str) -> Settings {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.yaml"), file).unwrap();
    let sources = Sources {
        arguments: Vec::new(),
        environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        directories: vec![folder.path().to_owned()],
    };
    match Settings::load(&sources) {
        Ok(Action::Run(settings)) => *settings,
        other => panic!("{other:?} of {environment:?} and\n{file}"),
    }
}

#[test]
fn its_tables_are_the_ones_of_the_code() {
    let written = text();
    let generated = table::update(&written, &command()).unwrap();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(document(), generated).unwrap();
    } else {
        assert!(
            written == generated,
            "the tables in docs/configuration.md are not those of the code; to write them anew: `make docs`, or \
             {UPDATE}=1 cargo test -p ipf-dynamic-nodeport-service-creator --test configuration"
        );
    }
}

#[test]
fn its_examples_of_config_yaml_are_valid() {
    let examples = examples("yaml");
    assert_eq!(examples.len(), 3);
    for example in &examples {
        load(&[], example);
    }
    let documented = load(&[], &examples[0]);
    assert_eq!(documented.pod.unwrap().as_str(), "test-pod");
    assert_eq!(documented.outputs[0].path, PathBuf::from("/nodeport/nodeport.conf"));
}

#[test]
fn its_examples_of_the_environment_are_valid() {
    let examples = examples("env");
    assert_eq!(examples.len(), 2);
    let read = |example: &str| {
        let variables: Vec<_> = example.lines().skip(1).map(|line| line.split_once('=').unwrap()).collect();
        for (name, _) in &variables {
            let known = |argument: &clap::Arg| argument.get_long() == Some(&name.to_lowercase().replace('_', "-"));
            assert!(command().get_arguments().any(known), "{name} is no option");
        }
        load(&variables, "")
    };
    let documented = read(&examples[0]);
    assert_eq!(documented.pod.unwrap().as_str(), "test-pod");
    assert_eq!(documented.outputs[0].path, PathBuf::from("/nodeport/nodeport.conf"));
    let addresses = read(&examples[1]);
    assert_eq!((addresses.advertise.len(), addresses.host_ips.len()), (2, 2));
}
