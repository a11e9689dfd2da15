use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::yaml::{Text, Value};

/// The documented ConfigMap's value of the key `default.yaml`.
const DOCUMENTED: &str = include_str!("../../tests/documented.yaml");

fn source() -> Source {
    let (namespace, name) = ("default".to_owned(), "x".to_owned());
    Source::ConfigMap { namespace, name, key: "default.yaml".to_owned() }
}

fn values() -> Values {
    let labels =
        [("app", "shop"), ("app.kubernetes.io/name", "web"), ("apps.kubernetes.io/pod-index", "3"), ("none", "")];
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Values {
        pod_name: Some("app-3".to_owned()),
        namespace: Some("default".to_owned()),
        pod_uid: Some("0f9a".to_owned()),
        node_name: Some("node-1".to_owned()),
        pod_ip: Some("10.0.0.5".to_owned()),
        host_ip: Some("192.0.2.1".to_owned()),
        labels: Some(owned(&labels)),
        annotations: Some(BTreeMap::new()),
    }
}

fn render(text: &str, values: &Values) -> Result<Node, TemplateError> {
    Template::parse(&source(), text)?.render(values)
}

/// The message of the template's error without the words that every message begins with.
fn message(text: &str, values: &Values) -> String {
    match render(text, values) {
        Ok(node) => format!("rendered as {}", node.to_json()),
        Err(error) => {
            let message = error.to_string();
            message.strip_prefix("ConfigMap default/x, key default.yaml, ").unwrap_or(&message).to_owned()
        }
    }
}

#[test]
fn the_documented_template_renders() {
    let expected = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "app-3",
            "labels": {"creator": "ipf-dynamic-nodeport-service-creator", "app": "app-3"},
        },
        "spec": {
            "externalTrafficPolicy": "Local",
            "internalTrafficPolicy": "Local",
            "publishNotReadyAddresses": true,
            "type": "NodePort",
            "selector": {"ipfPodName": "app-3"},
            "ports": [
                {"name": "akka-management", "port": 8558, "targetPort": 8558, "protocol": "TCP", "nodePort": 0},
                {"name": "akka-artery", "port": 55001, "targetPort": 55001, "protocol": "TCP", "nodePort": 0},
            ],
        },
    });
    let spellings = ["{{.PodName}}", "{{ .PodName }}", "{{. PodName}}", "{{PodName}}", "{{ PodName }}"];
    for spelling in spellings {
        let text = DOCUMENTED.replace("{{.PodName}}", spelling);
        assert_eq!(render(&text, &values()).unwrap().to_json(), expected, "with {spelling}");
    }
    let windows = format!("\u{FEFF}{}", DOCUMENTED.replace('\n', "\r\n"));
    assert_eq!(render(&windows, &values()).unwrap().to_json(), expected, "with CRLF and a byte order mark");
}

#[test]
fn good_templates_render() {
    for (text, expected) in [
        ("a: x{{- .PodName -}}  y\n", json!({"a": "xapp-3y"})),
        ("a: {{PodName}}.{{Namespace}}\n", json!({"a": "app-3.default"})),
        ("a: '{{PodUID}} {{NodeName}}'\n", json!({"a": "0f9a node-1"})),
        ("a: \"{{PodIP}}\\t{{HostIP}}\"\n", json!({"a": "10.0.0.5\t192.0.2.1"})),
        ("a: [{{PodName}}, {{Ordinal}}]\n", json!({"a": ["app-3", "3"]})),
        ("{{PodName}}: {b: {{labels.app}}}\n", json!({"app-3": {"b": "shop"}})),
        ("a: |\n  {{PodName}}\n  is {{NodeName}}\n", json!({"a": "app-3\nis node-1\n"})),
        ("a: >-\n  {{PodName}}\n  is\n", json!({"a": "app-3 is"})),
        ("a: {{labels.[app.kubernetes.io/name]}}\n", json!({"a": "web"})),
        ("a: {{lookup labels \"app.kubernetes.io/name\"}}\n", json!({"a": "web"})),
        ("a: {{.labels.app}}\n", json!({"a": "shop"})),
        ("a: {{labels.none}}\n", json!({"a": ""})),
        ("a: {{add 31000 Ordinal}}\n", json!({"a": 31003})),
        ("a: {{add 31000 .Ordinal}}\n", json!({"a": 31003})),
        ("a: {{add 31000 labels.[apps.kubernetes.io/pod-index] -1}}\n", json!({"a": 31002})),
        ("a: {{add 1 (add 2 Ordinal)}}\n", json!({"a": 6})),
        ("a: '{{add 31000 Ordinal}}'\n", json!({"a": "31003"})),
        ("a: p{{add 31000 Ordinal}}\n", json!({"a": "p31003"})),
        ("a: -{{add 31000 Ordinal}}\n", json!({"a": "-31003"})),
        ("a: !!str {{add 31000 Ordinal}}\n", json!({"a": "31003"})),
        ("a: {{len labels}}\n", json!({"a": "4"})),
        ("{{! a }}\na: 1 {{!-- }} --}}\n", json!({"a": 1})),
        ("{{#if (eq PodName \"app-3\")}}\na: 1\n{{else}}\na: 2\n{{/if}}\n", json!({"a": 1})),
        ("{{#if (eq .PodName \"x\")}}\na: 1\n{{else if labels.app}}\na: 2\n{{/if}}\n", json!({"a": 2})),
        ("{{#unless labels.missing}}\na: 1\n{{/unless}}\n", json!({"a": 1})),
        ("{{#if Ordinal includeZero=true}}\na: 1\n{{/if}}\n", json!({"a": 1})),
        (
            "a:\n{{#each labels}}\n  {{@key}}: {{this}}{{../PodName}}\n{{/each}}\n",
            json!({"a": {
                "app": "shopapp-3", "app.kubernetes.io/name": "webapp-3", "apps.kubernetes.io/pod-index": "3app-3", "none": "app-3",
            }}),
        ),
        (
            "a:\n{{#each labels as |value key|}}\n- {{key}}={{value}}\n{{/each}}\n",
            json!({"a": [
                "app=shop", "app.kubernetes.io/name=web", "apps.kubernetes.io/pod-index=3", "none=",
            ]}),
        ),
        ("{{#with labels}}\na: {{app}} {{@root.PodName}}\n{{/with}}\n", json!({"a": "shop app-3"})),
        ("a: &x{{PodName}} b\nc: *x{{PodName}}\n", json!({"a": "b", "c": "b"})),
        ("a: &a {b: 1, c: 2}\nd: {<<: *a, c: 3}\n", json!({"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}})),
        ("a: 1 # {{PodName}}\n", json!({"a": 1})),
        (
            "---\na: [y, on, 1.5, 0x10, null, ~, true, '1', \"true\"]\n...\n",
            json!({"a": ["y", "on", 1.5, 16, null, null, true, "1", "true"]}),
        ),
        ("a: \u{E000}0\u{E001} {{PodName}} \u{E000}\n", json!({"a": "\u{E000}0\u{E001} app-3 \u{E000}"})),
        ("a: '\\{{PodName}} \\\\{{PodName}}'\n", json!({"a": "{{PodName}} \\app-3"})),
        ("8080: {{lookup labels 'app'}}\n", json!({"8080": "shop"})),
    ] {
        match render(text, &values()) {
            Ok(node) => assert_eq!(node.to_json(), expected, "of {text}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

#[test]
fn bad_templates_say_where_and_what_instead() {
    let cases = include_str!("../../tests/bad-templates.txt");
    let mut wrong = Vec::new();
    for case in cases.split("\n====\n").filter(|case| !case.trim().is_empty()) {
        let (text, expected) = case.trim_start_matches('\n').split_once("\n----\n").unwrap();
        let found = message(&text.replace("<TAB>", "\t").replace("<NOTHING>", ""), &values());
        if found != expected.trim_end() {
            wrong.push(format!("{text}\n----\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n====\n"));
}
