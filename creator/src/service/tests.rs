use serde_json::json;

use super::*;
use crate::{template::Template, values::Values};

/// The documented ConfigMap's value of the key `default.yaml`.
const DOCUMENTED: &str = include_str!("../../tests/documented.yaml");

const WANTED: Wanted<'_> = Wanted {
    artery_port: "akka-artery",
    management_port: "akka-management",
    akka_ports: AkkaPorts::Required,
    owner_reference: OwnerReference::Pod,
};

fn source() -> Source {
    Source::File("t.yaml".into())
}

fn judge(text: &str, pod: &str, wanted: &Wanted<'_>) -> Result<ServicePlan, ServiceError> {
    let pod = PodIdentity { name: pod.to_owned(), namespace: "default".to_owned(), uid: "0f9a".to_owned() };
    let labels = ["app", "web shop", "My_App"].map(|value| (value.replace(' ', "-"), value.to_owned()));
    let values = Values {
        pod_name: Some(pod.name.clone()),
        namespace: Some(pod.namespace.clone()),
        pod_uid: Some(pod.uid.clone()),
        labels: Some(labels.into()),
        ..Values::default()
    };
    let tree = Template::parse(&source(), text).unwrap().render(&values).unwrap();
    validate(&tree, &source(), &pod, wanted)
}

/// The documented template with one part replaced.
fn documented_but(old: &str, new: &str) -> String {
    assert_eq!(DOCUMENTED.matches(old).count(), 1, "{old:?} in the documented template");
    DOCUMENTED.replace(old, new)
}

#[test]
fn the_documented_template_becomes_the_service() {
    let plan = judge(DOCUMENTED, "app-0", &WANTED).unwrap();
    let labels = BTreeMap::from([("ipfPodName".to_owned(), "app-0".to_owned())]);
    let port = |name: &str, port| Port {
        name: Some(name.to_owned()),
        port,
        protocol: Protocol::TCP,
        target_port: TargetPort::Number(port),
        node_port: None,
    };
    assert_eq!(plan.name, "app-0");
    assert_eq!(plan.selector, labels);
    assert_eq!(plan.pod_labels, labels);
    assert_eq!(plan.required_labels, BTreeMap::new());
    assert_eq!(plan.ports, [port("akka-management", 8558), port("akka-artery", 55001)]);
    assert_eq!(plan.warnings, []);
    let metadata = json!({
        "name": "app-0",
        "labels": {"creator": "ipf-dynamic-nodeport-service-creator", "app": "app-0"},
        "annotations": {
            "ipf-dynamic-nodeport-service/pod-name": "app-0",
            "ipf-dynamic-nodeport-service/pod-uid": "0f9a",
        },
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "app-0", "uid": "0f9a"}],
    });
    assert_eq!(plan.body["metadata"], metadata);
    assert_eq!(plan.body["spec"]["ports"][0]["nodePort"], 0);
    let body = plan.with_advertised_host("node-1").body;
    assert_eq!(body["metadata"]["annotations"]["ipf-dynamic-nodeport-service/advertised-host"], "node-1");
}

#[test]
fn our_labels_and_annotations_win() {
    let text = documented_but(
        "  labels:\n    creator: ipf-dynamic-nodeport-service-creator\n",
        "  annotations:\n    ipf-dynamic-nodeport-service/pod-uid: x\n    mine: kept\n  labels:\n    creator: me\n",
    );
    let wanted = Wanted { owner_reference: OwnerReference::None, ..WANTED };
    let metadata = judge(&text, "app-0", &wanted).unwrap().body["metadata"].clone();
    assert_eq!(metadata["labels"]["creator"], "ipf-dynamic-nodeport-service-creator");
    assert_eq!(metadata["annotations"]["ipf-dynamic-nodeport-service/pod-uid"], "0f9a");
    assert_eq!(metadata["annotations"]["mine"], "kept");
    assert_eq!(metadata.get("ownerReferences"), None);
}

#[test]
fn rendered_names_that_kubernetes_refuses_get_a_short_form() {
    let long = format!("{}.b-0", "a".repeat(70));
    for (pod, name, label) in [
        ("123", common::names::service_name("123"), "123".to_owned()),
        ("1e5", common::names::service_name("1e5"), "1e5".to_owned()),
        ("true", "true".to_owned(), "true".to_owned()),
        ("a.b-0", common::names::service_name("a.b-0"), "a.b-0".to_owned()),
        (&long, common::names::service_name(&long), common::names::label_value(&long)),
    ] {
        let plan = judge(DOCUMENTED, pod, &WANTED).unwrap();
        assert_eq!(plan.name, name, "of {pod}");
        assert_eq!(plan.body["metadata"]["name"], name, "of {pod}");
        assert_eq!(plan.body["metadata"]["labels"]["app"], label, "of {pod}");
        assert_eq!(plan.body["spec"]["selector"]["ipfPodName"], label, "of {pod}");
        assert_eq!(plan.pod_labels["ipfPodName"], label, "of {pod}");
        assert_eq!(plan.body["metadata"]["annotations"]["ipf-dynamic-nodeport-service/pod-name"], pod);
    }
    let prefixed = documented_but("name: {{.PodName}}", "name: svc-{{.PodName}}");
    assert_eq!(judge(&prefixed, "123", &WANTED).unwrap().name, "svc-123");
}

#[test]
fn the_selector_says_who_labels_the_pod() {
    let select = |selector: &str| documented_but("    ipfPodName: {{.PodName}}\n", selector);
    let text = select("    ipfPodName: {{PodName}}\n    uid: {{PodUID}}\n    app: shop\n    of: {{labels.app}}\n");
    let plan = judge(&text, "app-0", &WANTED).unwrap();
    assert_eq!(json!(plan.pod_labels), json!({"ipfPodName": "app-0", "uid": "0f9a"}));
    assert_eq!(json!(plan.required_labels), json!({"app": "shop", "of": "app"}));
    assert_eq!(plan.selector.len(), 4);
    let text = select("    statefulset.kubernetes.io/pod-name: {{PodName}}\n");
    let plan = judge(&text, "app-0", &WANTED).unwrap();
    assert_eq!(plan.pod_labels, BTreeMap::new());
    assert_eq!(json!(plan.selector), json!({"statefulset.kubernetes.io/pod-name": "app-0"}));
    assert_eq!(plan.required_labels, BTreeMap::new());
}

#[test]
fn ports_are_read_as_kubernetes_reads_them() {
    let start = DOCUMENTED.find("  ports:\n").unwrap();
    let text = format!(
        "{}{}",
        &DOCUMENTED[..start],
        "  ports:\n  - {name: a, port: 80}\n  - {name: b, port: 80, protocol: UDP, targetPort: http, nodePort: {{add 31000 Ordinal}}}\n  \
         - {name: c, port: 1, protocol: SCTP, targetPort: 0, nodePort: null}\n"
    );
    let optional = Wanted { akka_ports: AkkaPorts::Optional, ..WANTED };
    let ports = judge(&text, "app-7", &optional).unwrap().ports;
    let port = |name: &str, port, protocol, target_port, node_port| {
        let name = Some(name.to_owned());
        Port { name, port, protocol, target_port, node_port }
    };
    let expected = [
        port("a", 80, Protocol::TCP, TargetPort::Number(80), None),
        port("b", 80, Protocol::UDP, TargetPort::Name("http".to_owned()), Some(31007)),
        port("c", 1, Protocol::SCTP, TargetPort::Number(1), None),
    ];
    assert_eq!(ports, expected);
    let text = format!("{}  ports: [port: 80]\n", &DOCUMENTED[..start]);
    assert_eq!(judge(&text, "app-7", &optional).unwrap().ports[0].name, None);
}

#[test]
fn unreachable_members_are_warned_of() {
    let expected = |line, column| {
        format!(
            "t.yaml, line {line}, column {column}: spec.publishNotReadyAddresses is not true: no member can be reached before \
             it is ready, and none becomes ready before it was reached"
        )
    };
    let warnings = |text: &str| {
        let plan = judge(text, "app-0", &WANTED).unwrap();
        plan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let field = "  publishNotReadyAddresses: true\n";
    assert_eq!(warnings(&documented_but(field, "  publishNotReadyAddresses: false\n")), [expected(11, 29)]);
    assert_eq!(warnings(&documented_but(field, "")), [expected(8, 1)]);
    assert_eq!(warnings(DOCUMENTED), [""; 0]);
}

#[test]
fn bad_services_say_which_field_and_where() {
    let cases: [(&str, &str, &str); 49] = [
        (
            "kind: Service",
            "kind: Deployment",
            "line 2, column 7: kind is Deployment: the template must be one Service, with apiVersion: v1 and kind: Service",
        ),
        (
            "kind: Service",
            "kind: List",
            "line 2, column 7: kind is List: the template must be one Service, with apiVersion: v1 and kind: Service",
        ),
        (
            "kind: Service",
            "kind: ServiceList",
            "line 2, column 7: kind is ServiceList: the template must be one Service, with apiVersion: v1 and kind: Service",
        ),
        ("kind: Service\n", "", "line 1, column 1: kind is missing: write kind: Service"),
        ("kind: Service", "kind: 1", "line 2, column 7: kind is a number and must be text: put it in quotes"),
        (
            "apiVersion: v1",
            "apiVersion: apps/v1",
            "line 1, column 13: apiVersion is apps/v1: the template must be one Service, with apiVersion: v1 and kind: Service",
        ),
        ("apiVersion: v1\n", "", "line 1, column 1: apiVersion is missing: write apiVersion: v1"),
        ("  name: {{.PodName}}\n", "", "line 3, column 1: metadata.name is missing: write name: {{PodName}}"),
        (
            "  name: {{.PodName}}\n",
            "  generateName: x-\n",
            "line 4, column 17: metadata.generateName is refused: the Service must have the same name on every run; write metadata.name: {{PodName}}",
        ),
        (
            "  name: {{.PodName}}\n",
            "  name: My_Service\n",
            "line 4, column 9: metadata.name \"My_Service\" is no Service name: at most 63 of a-z, 0-9 and -, beginning with a letter and not ending with -",
        ),
        (
            "  name: {{.PodName}}\n",
            "  name: 1svc\n",
            "line 4, column 9: metadata.name \"1svc\" is no Service name: at most 63 of a-z, 0-9 and -, beginning with a letter and not ending with -",
        ),
        (
            "  name: {{.PodName}}\n",
            "  name: 17\n",
            "line 4, column 9: metadata.name is a number and must be text: put it in quotes",
        ),
        (
            "  name: {{.PodName}}\n",
            "  name: ''\n",
            "line 4, column 9: metadata.name \"\" is no Service name: at most 63 of a-z, 0-9 and -, beginning with a letter and not ending with -",
        ),
        ("  name: {{.PodName}}\n", "  name: [x]\n", "line 4, column 3: metadata.name is a list and must be text"),
        (
            "  name: {{.PodName}}\n",
            "  name: x\n  namespace: other\n",
            "line 5, column 14: metadata.namespace is \"other\", and the pod is in \"default\": a Service selects pods of its own namespace; leave it out",
        ),
        (
            "  name: {{.PodName}}\n",
            "  name: x\n  ownerReferences:\n  - kind: Pod\n",
            "line 5, column 3: metadata.ownerReferences is refused: the pod becomes the owner; set owner-reference to none for a Service without one",
        ),
        (
            "app: {{.PodName}}",
            "app: 1",
            "line 7, column 10: metadata.labels.app is a number and must be text: put it in quotes",
        ),
        (
            "app: {{.PodName}}",
            "app:",
            "line 7, column 8: metadata.labels.app is empty and must be text: put it in quotes",
        ),
        (
            "app: {{.PodName}}",
            "app: a b",
            "line 7, column 10: metadata.labels.app \"a b\" is no label value: at most 63 letters, digits, -, _ and ., with a letter or digit at either end",
        ),
        (
            "app: {{.PodName}}",
            "a.b/c: {{labels.web-shop}}",
            "line 7, column 12: metadata.labels[a.b/c] \"web shop\" is no label value: at most 63 letters, digits, -, _ and ., with a letter or digit at either end",
        ),
        (
            "  labels:\n",
            "  annotations: {a: true}\n  labels:\n",
            "line 5, column 20: metadata.annotations.a is true or false and must be text: put it in quotes",
        ),
        (
            "  labels:\n",
            "  annotations: x\n  labels:\n",
            "line 5, column 16: metadata.annotations is text and must be a mapping",
        ),
        (
            "  labels:\n",
            "  finalizers: [a.b/c]\n  labels:\n",
            "line 5, column 3: metadata.finalizers is refused: it would keep the Service, its ports and its name after the pod; leave it out",
        ),
        (
            "  labels:\n",
            "  resourceVersion: \"7\"\n  labels:\n",
            "line 5, column 20: metadata.resourceVersion is set by the API server: leave it out",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    id: \"{{PodName}}{{labels.app}}\"\n",
            "line 13, column 3: spec.selector selects more pods than this one: at least one value must be rendered from its name or UID, as in ipfPodName: {{PodName}}",
        ),
        ("  type: NodePort\n", "", "line 8, column 1: spec.type is missing: write type: NodePort"),
        ("type: NodePort", "type: ClusterIP", "line 12, column 9: spec.type is ClusterIP: write NodePort"),
        ("type: NodePort", "type: LoadBalancer", "line 12, column 9: spec.type is LoadBalancer: write NodePort"),
        (
            "publishNotReadyAddresses: true",
            "publishNotReadyAddresses: yes",
            "line 11, column 29: spec.publishNotReadyAddresses is text and must be true or false, without quotes",
        ),
        (
            "  selector:\n    ipfPodName: {{.PodName}}\n",
            "",
            "line 8, column 1: spec.selector is missing: write ipfPodName: {{PodName}} under it",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    app: shop\n",
            "line 13, column 3: spec.selector selects more pods than this one: at least one value must be rendered from its name or UID, as in ipfPodName: {{PodName}}",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    app: app-x\n",
            "line 13, column 3: spec.selector selects more pods than this one: at least one value must be rendered from its name or UID, as in ipfPodName: {{PodName}}",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    app: {{labels.app}}\n",
            "line 13, column 3: spec.selector selects more pods than this one: at least one value must be rendered from its name or UID, as in ipfPodName: {{PodName}}",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    statefulset.kubernetes.io/pod-name: other\n",
            "line 14, column 41: spec.selector[statefulset.kubernetes.io/pod-name] is \"other\", and the pod is \"app-x\": write {{PodName}}",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    statefulset.kubernetes.io/pod-name: {{PodName}}\n",
            "line 14, column 41: spec.selector[statefulset.kubernetes.io/pod-name] is a label of StatefulSets' pods, and \"app-x\" is none: select by ipfPodName: {{PodName}}",
        ),
        (
            "    ipfPodName: {{.PodName}}\n",
            "    ipfPodName: [{{.PodName}}]\n",
            "line 14, column 5: spec.selector.ipfPodName is a list and must be text",
        ),
        (
            "    - name: akka-artery\n      port: 55001",
            "    - port: 55001",
            "line 21, column 7: spec.ports[1].name is missing: write a name, as every port has where there are several",
        ),
        (
            "name: akka-artery",
            "name: akka-management",
            "line 21, column 13: spec.ports[1].name \"akka-management\" is the name of an earlier port too",
        ),
        (
            "name: akka-artery",
            "name: Artery",
            "line 21, column 13: spec.ports[1].name \"Artery\" is no port name: at most 63 of a-z, 0-9 and -, not beginning or ending with -",
        ),
        (
            "name: akka-artery",
            "name: artery",
            "line 15, column 3: spec.ports has no port named akka-artery, which the .conf file needs; there are akka-management, artery: rename one, or set akka-artery-management-port-name",
        ),
        (
            "name: akka-management",
            "name: http",
            "line 15, column 3: spec.ports has no port named akka-management, which the .conf file needs; there are http, akka-artery: rename one, or set akka-management-port-name",
        ),
        (
            "port: 55001\n      targetPort",
            "port: 0\n      targetPort",
            "line 22, column 13: spec.ports[1].port 0 is no port number: 1 to 65535",
        ),
        (
            "port: 55001\n      targetPort",
            "port: '55001'\n      targetPort",
            "line 22, column 13: spec.ports[1].port is text and must be a number, without quotes",
        ),
        (
            "port: 55001\n      targetPort",
            "port: {{PodUID}}\n      targetPort",
            "line 22, column 13: spec.ports[1].port is text and must be a number: write it as a sum, {{add 0 NAME}}",
        ),
        (
            "port: 55001\n      targetPort",
            "port: 1.5\n      targetPort",
            "line 22, column 13: spec.ports[1].port is a number and must be a whole number",
        ),
        (
            "targetPort: 55001",
            "targetPort: '55001'",
            "line 23, column 19: spec.ports[1].targetPort \"55001\" is no name of a container's port: at most 15 of a-z, 0-9 and -, with a letter; a number has no quotes",
        ),
        (
            "targetPort: 8558\n      protocol: TCP",
            "targetPort: 8558\n      protocol: tcp",
            "line 19, column 17: spec.ports[0].protocol \"tcp\" is no protocol: TCP, UDP or SCTP",
        ),
        (
            "targetPort: 8558\n      protocol: TCP\n      nodePort: 0",
            "nodePort: 70000",
            "line 18, column 17: spec.ports[0].nodePort 70000 is no node port: 1 to 65535, or 0 to have one allocated",
        ),
        (
            "targetPort: 8558\n      protocol: TCP\n      nodePort: 0",
            "targetPort: 70000",
            "line 18, column 19: spec.ports[0].targetPort 70000 is no port number: 1 to 65535",
        ),
    ];
    let mut wrong = Vec::new();
    for (old, new, expected) in cases {
        let found = match judge(&documented_but(old, new), "app-x", &WANTED) {
            Ok(plan) => format!("accepted as {}", plan.body),
            Err(error) => error.to_string(),
        };
        if found != format!("t.yaml, {expected}") {
            wrong.push(format!("{old:?} -> {new:?}\n  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_service_needs_ports() {
    let start = DOCUMENTED.find("  ports:\n").unwrap();
    for (ports, expected) in [
        ("", "t.yaml, line 8, column 1: spec.ports is missing: write at least one port"),
        ("  ports: []\n", "t.yaml, line 15, column 3: spec.ports is missing: write at least one port"),
        ("  ports: {}\n", "t.yaml, line 15, column 3: spec.ports is a mapping and must be a list"),
        ("  ports: [80]\n", "t.yaml, line 15, column 11: spec.ports[0] is a number and must be a mapping"),
    ] {
        let text = format!("{}{ports}", &DOCUMENTED[..start]);
        assert_eq!(judge(&text, "app-0", &WANTED).unwrap_err().to_string(), expected);
    }
}
