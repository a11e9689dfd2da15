//! What each option becomes, and what does not fit together.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::choices::{Format, NodeAddressType};

fn sources(arguments: &[&str], environment: &[(&str, &str)], file: &str) -> (TempDir, Sources) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.yaml"), file).unwrap();
    let sources = Sources {
        arguments: arguments.iter().map(Into::into).collect(),
        environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        directories: vec![folder.path().to_owned()],
    };
    (folder, sources)
}

fn settings(arguments: &[&str], environment: &[(&str, &str)], file: &str) -> Settings {
    match Settings::load(&sources(arguments, environment, file).1) {
        Ok(Action::Run(settings)) => *settings,
        other => panic!("no settings: {other:?}"),
    }
}

fn error(arguments: &[&str], environment: &[(&str, &str)], file: &str) -> String {
    let (folder, sources) = sources(arguments, environment, file);
    let error = Settings::load(&sources).map(|action| format!("{action:?}")).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn config_map(name: &str) -> TemplateSource {
    TemplateSource::ConfigMap { name: name.parse().unwrap(), key: "default.yaml".parse().unwrap() }
}

fn output(path: &str, format: Format) -> Output {
    Output { path: path.into(), format }
}

#[test]
fn bare_it_has_the_documented_defaults() {
    let settings = settings(&[], &[], "");
    assert_eq!(settings.pod, None);
    assert_eq!(settings.pod_uid, None);
    assert_eq!(settings.node_name, None);
    assert!(settings.host_ips.is_empty());
    assert_eq!(settings.namespace, None);
    assert_eq!(settings.template, config_map("ipf-dynamic-nodeport-service-creator"));
    assert_eq!(settings.artery_port_name.as_str(), "akka-artery");
    assert_eq!(settings.management_port_name.as_str(), "akka-management");
    assert_eq!(settings.owner_reference, OwnerReference::Pod);
    assert_eq!(settings.outputs, [output("/tmp/nodeport.conf", Format::Conf)]);
    assert_eq!(settings.advertise, [Advertise::NodeName]);
    assert_eq!(settings.ip_family, None);
    assert_eq!(settings.flavor, Flavor::Akka);
    assert_eq!(settings.bind, Bind::On);
    assert_eq!(settings.timeout, Duration::from_secs(60));
    assert_eq!(settings.effect, Effect::Stored);
    assert_eq!(settings.termination_message_path, PathBuf::from("/dev/termination-log"));
}

#[test]
fn each_option_can_be_set_in_each_source() {
    let rows = [
        ("pod", "test-pod"),
        ("pod-uid", "6f1c"),
        ("node-name", "node.example"),
        ("host-ip", "10.0.0.1, fd00::1"),
        ("namespace", "my-namespace"),
        ("template", "/etc/template.yaml"),
        ("configmapkey", "other.yaml"),
        ("akka-artery-management-port-name", "artery"),
        ("akka-management-port-name", "management"),
        ("owner-reference", "none"),
        ("output", "/nodeport/nodeport.env"),
        ("format", "json"),
        ("advertise", "ExternalIP,host-ip"),
        ("ip-family", "IPv6"),
        ("flavor", "both"),
        ("bind", "off"),
        ("timeout", "90"),
        ("dry-run", "true"),
        ("termination-message-path", "/tmp/message"),
        ("log-format", "json"),
        ("log-level", "debug"),
    ];
    let flags: Vec<_> = rows.iter().map(|(key, value)| format!("--{key}={value}")).collect();
    let names: Vec<_> = rows.iter().map(|(key, _)| key.to_uppercase().replace('-', "_")).collect();
    let environment: Vec<_> = names.iter().zip(rows).map(|(name, (_, value))| (name.as_str(), value)).collect();
    let file: String = rows.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    let from_flags = settings(&flags.iter().map(String::as_str).collect::<Vec<_>>(), &[], "");
    let from_environment = settings(&[], &environment, "");
    let from_file = settings(&[], &[], &file);
    for settings in [&from_flags, &from_environment, &from_file] {
        assert_eq!(settings.pod.as_ref().unwrap().as_str(), "test-pod");
        assert_eq!(settings.pod_uid.as_deref(), Some("6f1c"));
        assert_eq!(settings.node_name.as_ref().unwrap().as_str(), "node.example");
        assert_eq!(settings.host_ips, ["10.0.0.1".parse::<IpAddr>().unwrap(), "fd00::1".parse().unwrap()]);
        assert_eq!(settings.namespace.as_ref().unwrap().as_str(), "my-namespace");
        assert_eq!(settings.template, TemplateSource::File("/etc/template.yaml".into()));
        assert_eq!(settings.artery_port_name.as_str(), "artery");
        assert_eq!(settings.management_port_name.as_str(), "management");
        assert_eq!(settings.owner_reference, OwnerReference::None);
        assert_eq!(settings.outputs, [output("/nodeport/nodeport.env", Format::Json)]);
        assert_eq!(settings.advertise, [Advertise::NodeAddress(NodeAddressType::ExternalIP), Advertise::HostIp]);
        assert_eq!(settings.ip_family, Some(IpFamily::V6));
        assert_eq!(settings.flavor, Flavor::Both);
        assert_eq!(settings.bind, Bind::Off);
        assert_eq!(settings.timeout, Duration::from_secs(90));
        assert_eq!(settings.effect, Effect::DryRun);
        assert_eq!(settings.termination_message_path, PathBuf::from("/tmp/message"));
        assert_eq!(format!("{:?}", settings.log), "LogOptions { log_format: Json, log_level: Debug }");
    }
}

#[test]
fn the_keys_are_the_documented_ones() {
    let command = command();
    let keys: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    assert_eq!(
        keys.join(" "),
        "pod pod-uid node-name host-ip pod-ip namespace configmap configmapkey template akka-artery-management-port-name \
         akka-management-port-name owner-reference output format advertise ip-family flavor bind timeout dry-run \
         termination-message-path log-format log-level config print-config help version"
    );
}

#[test]
fn a_list_can_be_written_in_each_way() {
    let expected = vec![Advertise::HostIp, Advertise::Template("{{NodeName}},x".to_owned())];
    for (arguments, environment, file) in [
        (&["--advertise", "host-ip", "--advertise=template:{{NodeName}},x"][..], &[][..], ""),
        (&["--advertise=host-ip,template:{{NodeName}},x"], &[], ""),
        (&[], &[("ADVERTISE", "host-ip,template:{{NodeName}},x")], ""),
        (&[], &[], "advertise:\n  - host-ip\n  - template:{{NodeName}},x\n"),
        (&[], &[], "advertise: host-ip,template:{{NodeName}},x"),
    ] {
        assert_eq!(settings(arguments, environment, file).advertise, expected);
    }
    let outputs = [output("/a/b.conf", Format::Conf), output("/a,b.json", Format::Json)];
    assert_eq!(settings(&["--output=/a/b.conf", "--output=/a,b.json"], &[], "").outputs, outputs);
    assert_eq!(settings(&[], &[], "output: [/a/b.conf, '/a,b.json']").outputs, outputs);
    assert_eq!(
        settings(&[], &[("OUTPUT", "/a/b.conf,/a,b.json")], "").outputs,
        [output("/a/b.conf,/a,b.json", Format::Json)]
    );
}

#[test]
fn an_output_has_the_format_that_is_set_or_that_its_name_says() {
    let template = Format::Template("/f.hbs".into());
    for (file, outputs) in [
        ("output: nodeport.conf", vec![output("nodeport.conf", Format::Conf)]),
        ("output: /a/.env", vec![output("/a/.env", Format::Env)]),
        ("output: /a/x.json", vec![output("/a/x.json", Format::Json)]),
        ("output: /a/x.conf\nformat: env", vec![output("/a/x.conf", Format::Env)]),
        ("output: [/a/x, /a/y]\nformat: json", vec![output("/a/x", Format::Json), output("/a/y", Format::Json)]),
        (
            "output: [/a/x, /a/y.conf]\nformat: ['template:/f.hbs', conf]",
            vec![output("/a/x", template), output("/a/y.conf", Format::Conf)],
        ),
    ] {
        assert_eq!(settings(&[], &[], file).outputs, outputs, "{file}");
    }
}

#[test]
fn bind_takes_what_helm_makes_of_on_and_off() {
    for (text, bind) in [("on", Bind::On), ("off", Bind::Off), ("true", Bind::On), ("false", Bind::Off)] {
        assert_eq!(settings(&[], &[], &format!("bind: {text}")).bind, bind, "{text}");
    }
}

#[test]
fn of_template_and_configmap_the_stronger_source_counts() {
    let file = TemplateSource::File("/t.yaml".into());
    for (arguments, environment, yaml, expected) in [
        (&["--template=/t.yaml"][..], &[("CONFIGMAP", "mine")][..], "configmap: mine", &file),
        (&[], &[("TEMPLATE", "/t.yaml")], "configmap: mine", &file),
        (&[], &[], "template: /t.yaml", &file),
        (&["--configmap=mine"], &[("TEMPLATE", "/t.yaml")], "", &config_map("mine")),
        (&[], &[("CONFIGMAP", "mine")], "template: /t.yaml", &config_map("mine")),
    ] {
        assert_eq!(&settings(arguments, environment, yaml).template, expected);
    }
}

#[test]
fn what_is_wrong_is_named_with_its_origin() {
    for (arguments, environment, file, message) in [
        (
            &["--template=/t.yaml", "--configmap=mine"][..],
            &[][..],
            "",
            "flag --template and flag --configmap name two templates: give one of them",
        ),
        (
            &[],
            &[],
            "configmap: mine\ntemplate: /t.yaml\n",
            "config.yaml line 2 column 11, key `template` and config.yaml line 1 column 12, key `configmap` name two \
             templates: give one of them",
        ),
        (
            &["--output=a.conf", "--output=b.env", "--output=c.env"],
            &[],
            "format: [conf, env]",
            "config.yaml line 1 column 9, key `format`: 2 formats for 3 outputs: give one for all, or one for each in \
             the same order",
        ),
        (&["--output=a.conf", "--output=a.conf"], &[], "", "flag --output: a.conf is there twice"),
        (
            &[],
            &[("AKKA-MANAGEMENT-PORT-NAME", "akka-artery")],
            "",
            "default of --akka-artery-management-port-name and environment variable AKKA-MANAGEMENT-PORT-NAME are both \
             `akka-artery`: Artery and Akka management need a port each",
        ),
        (
            &[],
            &[("OUTPUT", "/nodeport/")],
            "",
            "environment variable OUTPUT: invalid value \"/nodeport/\": expected the path of a file, not of a folder",
        ),
        (
            &[],
            &[("POD", "Test_Pod")],
            "",
            "environment variable POD: invalid value \"Test_Pod\": expected at most 253 lower-case letters, digits, \
             dashes and dots, each part between dots starting and ending with a letter or digit",
        ),
        (
            &[],
            &[("NAMESPACE", "a.b")],
            "",
            "environment variable NAMESPACE: invalid value \"a.b\": expected at most 63 lower-case letters, digits and \
             dashes, the first and last no dash",
        ),
        (
            &[],
            &[],
            "configmapkey: a/b",
            "config.yaml line 1 column 15, key `configmapkey`: invalid value \"a/b\": expected at most 253 letters, \
             digits, dashes, underscores and dots, neither `.` nor starting with `..`",
        ),
        (
            &[],
            &[("HOST_IP", "10.0.0.1,")],
            "",
            "environment variable HOST_IP: invalid value \"10.0.0.1,\": expected IP addresses, separated by commas",
        ),
        (
            &[],
            &[("FORMAT", "yaml")],
            "",
            "environment variable FORMAT: invalid value \"yaml\": expected conf, env, json or template:FILE",
        ),
        (
            &[],
            &[("ADVERTISE", "node-name,hostip")],
            "",
            "environment variable ADVERTISE: invalid value \"node-name,hostip\": expected node-name, host-ip, \
             InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS or template:TEXT",
        ),
        (
            &[],
            &[("IP_FAMILY", "ipv4")],
            "",
            "environment variable IP_FAMILY: invalid value \"ipv4\": expected IPv4, IPv6",
        ),
        (&[], &[("BIND", "no")], "", "environment variable BIND: invalid value \"no\": expected on, off"),
        (&[], &[("TIMEOUT", "0")], "", "environment variable TIMEOUT: invalid value \"0\": must be longer than 0s"),
        (&[], &[], "config-map: x", "config.yaml line 1 column 1: unknown key `config-map`; did you mean `configmap`?"),
    ] {
        assert_eq!(error(arguments, environment, file), message);
    }
}

#[test]
fn an_empty_flag_is_refused() {
    for key in ["pod", "pod-uid", "node-name", "host-ip", "namespace", "configmap", "template", "output", "advertise"] {
        for arguments in [&[&format!("--{key}="), ""][..1], &[&format!("--{key}"), ""]] {
            let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
            let error = error(&arguments, &[], "");
            assert!(error.contains(&format!("'--{key} <")), "{arguments:?}: {error}");
        }
    }
}
