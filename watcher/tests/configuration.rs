//! docs/configuration.md: the tables of the watcher are the ones of the code, and its examples are valid.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in test functions, not in their helpers"
)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use common::settings::{Sources, table};
use watcher::choices::Scope;
use watcher::settings::{Action, Settings, command};

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
             {UPDATE}=1 cargo test -p ipf-dynamic-nodeport-service-watcher --test configuration"
        );
    }
}

#[test]
fn its_examples_are_valid() {
    let files = examples("yaml");
    let variables = examples("env");
    assert_eq!((files.len(), variables.len()), (1, 1));
    let variables: Vec<_> = variables[0].lines().skip(1).map(|line| line.split_once('=').unwrap()).collect();
    for settings in [load(&[], &files[0]), load(&variables, "")] {
        assert_eq!(settings.scope, Scope::Namespace("my-namespace".to_owned()));
        assert_eq!(settings.scan_interval, Duration::from_secs(120));
    }
}
