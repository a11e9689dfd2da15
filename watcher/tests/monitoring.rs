//! examples/monitoring/rules.yaml and docs/operations.md: every metric and label that they name is one that the program
//! exports, and every one that it exports is documented.
//!
//! Whether the rules are PromQL is for `promtool check rules`: the parsers that Rust has bring more crates than the program.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in test functions, not in their helpers"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use common::api::{
    resource::{Resource, Verb},
    watch::Cause,
};
use net_service::{
    pulse::{Held, Shown, State},
    watched::Watched,
};
use serde::Deserialize;
use watcher::metrics::{Metrics, ScanResult};

const PREFIX: &str = "ipf_dynamic_nodeport_watcher_";

fn read(file: &str) -> String {
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Label names and their values.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// The samples that the program exports.
fn exported() -> BTreeMap<String, Labels> {
    let metrics = Metrics::new();
    metrics.scanned(ScanResult::Success, Duration::ZERO);
    metrics.requested(Verb::Delete, Resource::Services, None);
    samples(&metrics)
}

/// Those of NetServices, of the one that looks after them.
fn exported_of_net_services() -> BTreeMap<String, Labels> {
    let metrics = Metrics::new().with_net_service();
    metrics.net_services(&Shown {
        leading: Some(Watched::all().map(|watched| (watched, State::Up)).collect()),
        held: Held::default(),
        restarts: BTreeMap::from([((Watched::Pods, Cause::Expired.as_str()), 1)]),
    });
    let mut samples = samples(&metrics);
    samples.retain(|name, _| name.starts_with("net_service"));
    samples
}

/// The samples, without the prefix, and their labels.
fn samples(metrics: &Metrics) -> BTreeMap<String, Labels> {
    let mut samples: BTreeMap<String, Labels> = BTreeMap::new();
    for sample in metrics.encode().lines().filter(|line| !line.starts_with('#')) {
        let (name, labels) = name_and_labels(sample.strip_prefix(PREFIX).unwrap());
        let known = samples.entry(name.to_owned()).or_default();
        for (label, _, value) in labels {
            known.entry(label.to_owned()).or_default().insert(value.to_owned());
        }
    }
    samples
}

/// The name that a text begins with, and the labels, operators and values in braces behind it.
fn name_and_labels(text: &str) -> (&str, Vec<(&str, &str, &str)>) {
    let end = text.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(labels, _)| labels);
    let pieces: Vec<_> = labels.split('"').collect();
    let labels = pieces.chunks_exact(2).map(|pair| {
        let label = pair[0].trim_start_matches([',', ' ']);
        let (label, operator) = label.split_at(label.find(['=', '!']).unwrap());
        (label, operator, pair[1])
    });
    (name, labels.collect())
}

#[derive(Deserialize)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    alert: Option<String>,
    record: Option<String>,
    expr: String,
}

fn rules() -> Vec<Rule> {
    let rules: Rules = serde_saphyr::from_str(&read("examples/monitoring/rules.yaml")).unwrap();
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}

/// What follows each mention of a metric of the watcher's.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    text.split(PREFIX).skip(1)
}

#[test]
fn the_rules_ask_for_what_is_exported() {
    let mut exported = exported();
    exported.extend(exported_of_net_services());
    let rules = rules();
    let recorded: Vec<_> = rules.iter().filter_map(|rule| rule.record.as_deref()).collect();
    assert_eq!((recorded.len(), rules.len()), (1, 12));
    for Rule { alert, expr, .. } in &rules {
        let mut asked = 0;
        for mention in mentions(expr) {
            let (name, labels) = name_and_labels(mention);
            let known = exported.get(name).unwrap_or_else(|| panic!("{alert:?}: {name} is no metric of the watcher's"));
            for (label, operator, value) in labels {
                let values = known.get(label).unwrap_or_else(|| panic!("{alert:?}: {name} has no label {label}"));
                assert!(operator != "=" || values.contains(value), "{alert:?}: {label} is never {value}");
            }
            asked += 1;
        }
        assert!(asked > 0 || alert.is_none(), "{alert:?} asks for nothing");
        let records =
            expr.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).filter(|word| word.contains(':'));
        for record in records {
            assert!(recorded.contains(&record), "{alert:?}: nothing records {record}");
        }
    }
}

/// The table of metrics has a row for each that is exported, with its labels.
fn assert_documented(document: &str, exported: &BTreeMap<String, Labels>) {
    let families: BTreeSet<&str> = exported
        .keys()
        .map(|name| ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name))
        .collect();
    let (_, metrics) = document.split_once("\n|Metric|").unwrap();
    let (metrics, _) = metrics.split_once("\n\n").unwrap();
    let rows: BTreeMap<&str, &str> =
        metrics.lines().filter_map(|row| row.strip_prefix("|`")?.split_once("`|")).collect();
    assert_eq!(rows.keys().copied().collect::<BTreeSet<_>>(), families);
    for (name, labels) in exported {
        if let Some(row) = rows.get(name.as_str()) {
            let missing: Vec<_> = labels.keys().filter(|label| !row.contains(&format!("`{label}`"))).collect();
            assert!(missing.is_empty(), "{name}: no word about {missing:?}");
        }
    }
}

#[test]
fn the_documents_name_what_is_exported() {
    let exported = exported();
    assert_documented(&read("docs/operations.md"), &exported);
    assert_documented(&read("docs/net-service.md"), &exported_of_net_services());
    for document in ["README.md", "docs/operations.md", "docs/troubleshooting.md", "examples/README.md"] {
        for mention in mentions(&read(document)) {
            let (name, _) = name_and_labels(mention);
            assert!(name.is_empty() || exported.contains_key(name), "{document}: {name} is no metric of the watcher's");
        }
    }
}

#[test]
fn every_alert_is_explained() {
    let operations = read("docs/operations.md");
    let explained: BTreeSet<_> = operations
        .lines()
        .filter_map(|row| row.strip_prefix("|`Ipf")?.split_once("`|"))
        .map(|(name, _)| name)
        .collect();
    let rules = rules();
    let alerts: BTreeSet<_> = rules.iter().filter_map(|rule| rule.alert.as_deref()?.strip_prefix("Ipf")).collect();
    assert_eq!(explained, alerts);
}
