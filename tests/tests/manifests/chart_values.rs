//! The chart's values: each is documented and has a schema, and no file of the chart that is also elsewhere differs from that.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

use cluster_tests::harness::{cargo, net_service::definition};
use net_service::resource::Group;
use serde_json::Value;

use crate::helm::CHART;

fn read(file: &str) -> String {
    let path = cargo::workspace().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Writes the text, where the documents are to be made, or fails where the file has another.
pub(crate) fn same(file: &str, text: &str) {
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(cargo::workspace().join(file), text).unwrap();
    } else {
        assert!(read(file) == text, "{file} is not what it is made of: `make docs`");
    }
}

/// The values in values.yaml that have a description, `# -- …`, by their paths, and in their order.
fn described() -> Vec<(String, String)> {
    let mut found = Vec::new();
    // Indentation and key of what a line is in; what is below a described value belongs to it.
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut inside: Option<usize> = None;
    let mut description = String::new();
    let text = read(&format!("{CHART}/values.yaml"));
    for line in text.lines() {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(begun) = line.strip_prefix("# -- ") {
            begun.clone_into(&mut description);
        } else if let Some(more) = line.strip_prefix("# ").filter(|_| !description.is_empty()) {
            description += &format!(" {more}");
        } else if let Some((key, _)) = line.split_once(':').filter(|_| !line.starts_with(['#', '-'])) {
            if inside.is_some_and(|outer| indent > outer) {
                continue;
            }
            inside = None;
            above.retain(|(outer, _)| *outer < indent);
            above.push((indent, key));
            if !description.is_empty() {
                let path: Vec<_> = above.iter().map(|(_, key)| *key).collect();
                found.push((path.join("."), std::mem::take(&mut description)));
                inside = Some(indent);
            }
        }
    }
    found
}

fn values() -> Value {
    serde_saphyr::from_str(&read(&format!("{CHART}/values.yaml"))).unwrap()
}

/// Where a path of keys with dots leads.
fn at<'a>(values: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(values, |value, key| &value[key])
}

#[test]
fn the_readme_lists_the_values() {
    let values = values();
    let row = |(path, meaning): &(String, String)| {
        let default = at(&values, path).to_string().replace('|', "\\|");
        format!("|`{path}`|`{default}`|{}|\n", meaning.replace('|', "\\|"))
    };
    let rows: String = described().iter().map(row).collect();
    let file = format!("{CHART}/README.md");
    let readme = read(&file);
    let (begin, end) = ("<!-- begin values -->\n", "<!-- end values -->\n");
    let (before, rest) = readme.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    same(&file, &format!("{before}{begin}\n|Value|Default|Meaning|\n|---|---|---|\n{rows}\n{end}{after}"));
}

/// Paths of the values that are no parts of others: of a schema those that have no properties of their own.
fn leaves(value: &Value, children: &dyn Fn(&Value) -> Option<&Value>, path: &str, into: &mut BTreeSet<String>) {
    match children(value).and_then(Value::as_object) {
        Some(children_of) => {
            for (key, child) in children_of {
                leaves(child, children, &format!("{path}.{key}"), into);
            }
        }
        None => {
            into.insert(path.trim_start_matches('.').to_owned());
        }
    }
}

#[test]
fn every_value_is_described_and_has_a_schema_and_there_are_no_others() {
    let described: BTreeSet<_> = described().into_iter().map(|(path, _)| path).collect();
    let schema: Value = serde_json::from_str(&read(&format!("{CHART}/values.schema.json"))).unwrap();
    let resolve = |value: &Value| -> Option<Value> {
        let name = value["$ref"].as_str()?.strip_prefix("#/definitions/")?;
        Some(schema["definitions"][name].clone())
    };
    let mut in_schema = BTreeSet::new();
    let mut open = vec![(String::new(), schema.clone())];
    while let Some((path, value)) = open.pop() {
        let value = resolve(&value).unwrap_or(value);
        let is_described = described.contains(path.trim_start_matches('.'));
        match value["properties"].as_object().filter(|_| !is_described) {
            Some(properties) => {
                assert_eq!(value["additionalProperties"], false, "the schema of {path} permits what it does not name");
                open.extend(properties.iter().map(|(key, child)| (format!("{path}.{key}"), child.clone())));
            }
            None => {
                in_schema.insert(path.trim_start_matches('.').to_owned());
            }
        }
    }
    // Helm's own, for all charts of a release.
    assert!(in_schema.remove("global"));
    assert_eq!(in_schema, described);

    let mut in_values = BTreeSet::new();
    let children = |value: &Value| value.as_object().filter(|keys| !keys.is_empty()).map(|_| ()).is_some();
    let below: &dyn Fn(&Value) -> Option<&Value> = &|value| children(value).then_some(value);
    leaves(&values(), below, "", &mut in_values);
    let undescribed: Vec<_> = in_values
        .iter()
        .filter(|leaf| !described.iter().any(|path| format!("{leaf}.").starts_with(&format!("{path}."))))
        .collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
}

#[test]
fn the_chart_has_the_version_of_the_programs() {
    let chart: Value = serde_saphyr::from_str(&read(&format!("{CHART}/Chart.yaml"))).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((&chart["version"], &chart["appVersion"]), (&version.into(), &version.into()));
    let application: Value = serde_saphyr::from_str(&read("charts/example-application/Chart.yaml")).unwrap();
    assert_eq!(application["dependencies"][0]["version"], version);
}

#[test]
fn the_alerts_and_policies_and_definitions_of_the_chart_are_those_of_the_repository() {
    same(&format!("{CHART}/files/rules.yaml"), &read("examples/monitoring/rules.yaml"));
    let policies = |folder: &str| -> BTreeMap<String, String> {
        let entries = fs::read_dir(cargo::workspace().join(folder)).unwrap().map(|entry| entry.unwrap());
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names
            .filter(|name| name.ends_with(".yaml"))
            .map(|name| (name.clone(), read(&format!("{folder}/{name}"))))
            .collect()
    };
    let hardened = policies("permissions/hardened");
    assert!(!hardened.is_empty());
    for (name, text) in &hardened {
        same(&format!("{CHART}/policies/{name}"), text);
    }
    for group in Group::ALL {
        let file = definition(group);
        same(&format!("{CHART}/files/{file}"), &read(&file));
    }
    assert_eq!(policies(&format!("{CHART}/policies")).keys().collect::<Vec<_>>(), hardened.keys().collect::<Vec<_>>());
}
