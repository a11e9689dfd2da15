use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{place::Location, yaml::Value};

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

#[test]
fn an_unknown_value_is_an_error_only_where_it_is_named() {
    let none = Values { pod_name: Some("app-x".to_owned()), ..Values::default() };
    for (text, expected) in [
        ("a: {{PodName}}", "rendered as {\"a\":\"app-x\"}"),
        (
            "a: 1\nb: {{NodeName}}",
            "line 2, column 4: NodeName is not known: set node-name from the field spec.nodeName, or allow `get` on pods",
        ),
        (
            "{{#if (eq PodName \"y\")}}\na: {{PodUID}}\n{{/if}}",
            "line 2, column 4: PodUID is not known: set pod-uid from the field metadata.uid, or allow `get` on pods",
        ),
        (
            "a: {{labels.app}}",
            "line 1, column 4: labels are not known: they are read from the pod; allow `get` on pods",
        ),
        (
            "a: {{add 31000 Ordinal}}",
            "line 1, column 4: Ordinal is not known: the pod's name \"app-x\" does not end in a hyphen and a number, \
             as a StatefulSet's does",
        ),
        (
            "a:\n{{#each (lookup this \"x\")}}{{@root.Ordinal}}{{/each}}",
            "line 2, column 1: this stands for all values at once: name one of them",
        ),
        (
            "a: {{@root.Ordinal}}",
            "line 1, column 4: Ordinal is not known: the pod's name \"app-x\" does not end in a hyphen and a number, \
             as a StatefulSet's does",
        ),
        ("{{#if Ordinal includeZero=true}}\na: 1\n{{else}}\na: 2\n{{/if}}", "rendered as {\"a\":2}"),
    ] {
        assert_eq!(message(text, &none), expected, "of {text}");
    }
}

#[test]
fn needs_are_what_is_named_anywhere() {
    for (text, expected) in [
        (DOCUMENTED, vec![Field::PodName]),
        ("a: 1", vec![]),
        ("{{! {{PodUID}} }}\n# {{NodeName}}", vec![Field::NodeName]),
        (
            "{{#if (eq labels.a \"x\")}}{{@root.PodIP}}{{else}}{{add 1 Ordinal}}{{/if}}",
            vec![Field::PodIP, Field::Ordinal, Field::Labels],
        ),
        ("{{#each annotations as |v k|}}{{k}}{{../HostIP}}{{v}}{{/each}}", vec![Field::HostIP, Field::Annotations]),
        ("{{#with labels}}{{PodName}}{{/with}}", vec![Field::Labels]),
    ] {
        let template = Template::parse(&source(), text).unwrap();
        assert_eq!(template.needs().iter().collect::<Vec<_>>(), expected, "of {text}");
    }
}

#[test]
fn a_text_knows_whether_the_pods_identity_is_in_it() {
    // A label that reads like the pod's name is not rendered from it.
    let labels = ["app", "PodName"].map(|key| (key.to_owned(), "app-3".to_owned()));
    let values = Values { labels: Some(labels.into()), ..values() };
    for (text, carries, is_literal) in [
        ("a: app-3", false, true),
        ("a: {{PodName}}", true, false),
        ("a: '{{ .PodUID }}'", true, false),
        ("a: x-{{PodName}}.y", true, false),
        ("a: {{@root.PodName}}", true, false),
        ("a: {{#if PodName}}{{PodName}}{{/if}}", true, false),
        ("a: {{labels.app}}", false, false),
        ("a: {{#with labels}}{{PodName}}{{/with}}", false, false),
        ("a: {{lookup labels \"app\"}}", false, false),
        ("a: {{Namespace}}", false, false),
        ("a: x # {{PodName}}", false, true),
    ] {
        let node = render(text, &values).unwrap();
        let Value::Text(found) = &node.entry("a").unwrap().node.value else { panic!("{text}") };
        assert_eq!((found.carries_identity(), found.is_literal()), (carries, is_literal), "of {text}");
    }
}

#[test]
fn plain_texts_render_without_yaml() {
    let source = Source::Setting("advertise");
    let rendered = |text: &str| Template::parse(&source, text).and_then(|t| t.render_text(&values()));
    assert_eq!(rendered("{{.NodeName}}.example.org").unwrap(), "node-1.example.org");
    assert_eq!(rendered("a: b: {{add 1 Ordinal}}\t\r\n  \u{E000}").unwrap(), "a: b: 4\t\r\n  \u{E000}");
    assert_eq!(
        rendered("x{{NodNam}}").unwrap_err().to_string(),
        "setting advertise, line 1, column 2: there is no value NodNam (did you mean NodeName?); there are HostIP, \
         Namespace, NodeName, Ordinal, PodIP, PodName, PodUID, annotations, labels"
    );
}

#[test]
fn a_text_template_takes_any_context() {
    let source = Source::File("/etc/my.hbs".into());
    let context =
        json!({"host": "n <&>\"1", "ports": {"akka-artery": 31001}, "pod": {"name": "app-3"}, "addresses": ["a", "b"]});
    let rendered = |text: &str| TextTemplate::parse(&source, text).and_then(|t| t.render(&context));
    for (text, expected) in [
        ("export HOST={{host}}:{{ports.akka-artery}}\n", "export HOST=n <&>\"1:31001\n"),
        ("{{#each ports}}{{@key}}={{this}};{{../pod.name}}{{/each}}", "akka-artery=31001;app-3"),
        ("{{#each addresses}}\n{{this}}\n{{/each}}\n", "a\nb\n"),
        ("{{#if ports.other}}x{{else}}y{{/if}}", "y"),
        ("{{addresses.1}} {{add 1 ports.akka-artery}}", "b 31002"),
    ] {
        assert_eq!(rendered(text).unwrap(), expected, "of {text}");
    }
    for (text, expected) in [
        (
            "\n {{hots}}",
            "/etc/my.hbs, line 2, column 2: there is no value hots (did you mean host?); there are addresses, host, pod, ports",
        ),
        ("{{ports.other}}", "/etc/my.hbs, line 1, column 1: ports.other is not there; there are akka-artery"),
        (
            "{{#if hots}}x{{/if}}",
            "/etc/my.hbs, line 1, column 1: there is no value hots (did you mean host?); there are addresses, host, pod, ports",
        ),
        (
            "{{ports}}",
            "/etc/my.hbs, line 1, column 1: ports is not one value: name one of it, as in {{labels.app}}, or go through it with {{#each ports}}",
        ),
        (
            "{{host | quote}}",
            "/etc/my.hbs, line 1, column 1: Go's pipelines are not supported: write {{NAME}} alone; any value stays one text without quoting",
        ),
    ] {
        assert_eq!(rendered(text).unwrap_err().to_string(), expected, "of {text}");
    }
}

#[test]
fn fields_of_the_api_are_found_in_the_template() {
    let node = render(DOCUMENTED, &values()).unwrap();
    for (path, line, column) in [
        ("metadata.name", 4, 9),
        ("metadata.labels", 5, 3),
        ("metadata.labels[app]", 7, 10),
        ("spec.ports", 15, 3),
        ("spec.ports[0]", 16, 7),
        ("spec.ports[1].nodePort", 25, 17),
        ("spec.ports[1].appProtocol", 21, 7),
        ("spec.clusterIPs[0]", 8, 1),
    ] {
        assert_eq!(node.locate(path), Some(Location { line, column }), "of {path}");
    }
    assert_eq!(node.locate("status"), None);
}

/// Every place of a value that a template can give it, and the path to the text it then is.
const PLACES: [(&str, &str); 14] = [
    ("a: {{labels.v}}\nz: 1\n", ""),
    ("a: {{labels.v}} # c\nz: 1\n", ""),
    ("a: '{{labels.v}}'\nz: 1\n", ""),
    ("a: \"{{labels.v}}\"\nz: 1\n", ""),
    ("a: |-\n  {{labels.v}}\nz: 1\n", ""),
    ("a: >-\n  {{labels.v}}\nz: 1\n", ""),
    ("a:\n  {{labels.v}}\nz: 1\n", ""),
    ("{a: {{labels.v}}, z: 1}\n", ""),
    ("a: {{lookup labels \"v\"}}\nz: 1\n", ""),
    ("{{#with labels}}\na: {{v}}\n{{/with}}\nz: 1\n", ""),
    ("{{#each labels}}\na: {{this}}\n{{/each}}\nz: 1\n", ""),
    ("{{#if labels.w}}{{else}}a: {{labels.v}}{{/if}}\nz: 1\n", ""),
    ("a: &x {{labels.v}}\nz: 1\n", ""),
    ("a: p{{labels.v}}{{labels.v}}s\nz: 1\n", "ps"),
];

fn any_value() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "",
        " ",
        "123",
        "1e5",
        "0123",
        "true",
        "null",
        "~",
        "y",
        "a: b",
        "- a",
        "'",
        "\"",
        "\n",
        "\r\n---\n",
        "{{PodName}}",
        "}}",
        "\u{E000}",
        "\u{E000}v61\u{E001}",
        "\u{E000}0\u{E001}",
        "#",
        " # x",
        "*x",
        "&x",
        "!!int 1",
        "|",
        ">",
        "@",
        "`",
        "%",
        "\0",
        "\\",
        "\u{FEFF}",
        "\u{2028}",
        "  lead",
        "trail  ",
        "<<",
    ]);
    prop_oneof![any::<String>(), odd.prop_map(str::to_owned), "[ -~\\n\u{E000}\u{E001}]{0,40}"]
}

proptest! {
    #[test]
    fn any_value_stays_one_text_anywhere(value in any_value()) {
        let labels = BTreeMap::from([("v".to_owned(), value.clone())]);
        let values = Values { labels: Some(labels), ..values() };
        for (text, around) in PLACES {
            let expected = if around.is_empty() { value.clone() } else { format!("p{value}{value}s") };
            let node = render(text, &values).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            prop_assert_eq!(node.to_json(), json!({"a": expected, "z": 1}), "of {}", text);
        }
        let node = render("{{labels.v}}: 1\n\"x{{labels.v}}\": 2\n", &values).unwrap();
        prop_assert_eq!(node.to_json(), json!({value.clone(): 1, format!("x{value}"): 2}));
        prop_assert_eq!(Template::parse(&source(), "<{{labels.v}}>").unwrap().render_text(&values).unwrap(), format!("<{value}>"));
    }

    #[test]
    fn no_template_panics_and_every_place_is_inside(text in "([a-z:{}#/.\\-\"'|~\\[\\]&*\\\\ \n\t\u{E000}\u{E001}]|\\{\\{|\\}\\}|PodName|labels|#if|#each|/if|/each|else|add|1){0,30}") {
        if let Err(error) = render(&text, &values()) {
            let location = error.place.location;
            let line = text.split('\n').nth(location.line - 1);
            prop_assert!(line.is_some_and(|line| location.column <= line.chars().count() + 1), "{} in {:?}", error, text);
        }
    }
}

#[test]
fn a_template_that_would_exhaust_the_stack_is_refused() {
    let deep = "{{#if PodName}}".repeat(40) + &"{{/if}}".repeat(40);
    let error = Template::parse(&Source::Setting("x"), &deep).unwrap_err().to_string();
    assert!(error.contains("line 1, column 481: more than 32 blocks are open"), "{error}");
}

#[test]
fn a_template_that_would_take_seconds_to_read_is_refused() {
    let lines = |count| "# {{PodName}}\n".repeat(count);
    assert!(Template::parse(&Source::Setting("x"), &lines(1000)).is_ok());
    let error = Template::parse(&Source::Setting("x"), &lines(1001)).unwrap_err().to_string();
    assert!(error.contains("line 1001, column 3: more than 1000 mustaches are in the template"), "{error}");
}
