//! What each option becomes, and what does not fit together.

use std::fs;

use tempfile::TempDir;

use super::*;

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

fn one(name: &str) -> Scope {
    Scope::Namespace(name.to_owned())
}

#[test]
fn bare_it_has_the_documented_defaults() {
    let settings = settings(&[], &[], "");
    assert_eq!(settings.scope, Scope::Own);
    assert_eq!(settings.pod_selector.as_str(), "product=ipfv2");
    assert_eq!(settings.service_selector.as_str(), "creator=ipf-dynamic-nodeport-service-creator");
    assert_eq!(settings.scan_interval, Duration::from_secs(300));
    assert_eq!(settings.grace, Duration::from_secs(60));
    assert_eq!(settings.release_delay, Duration::ZERO);
    assert_eq!(settings.course, Course::Endless);
    assert_eq!(settings.effect, Effect::Delete);
    assert_eq!(settings.listen, Listen::At("0.0.0.0:8080".parse().unwrap()));
    assert_eq!(format!("{:?}", settings.log), "LogOptions { log_format: Text, log_level: Info }");
}

#[test]
fn each_option_can_be_set_in_each_source() {
    let rows = [
        ("namespace", "my-namespace"),
        ("pod-selector", "app in (a, b),!canary"),
        ("service-selector", "creator"),
        ("scan-interval", "2m"),
        ("grace", "0"),
        ("release-delay", "1h30m"),
        ("controllers", "cleanup"),
        ("once", "true"),
        ("dry-run", "true"),
        ("listen", "off"),
        ("log-format", "json"),
        ("log-level", "debug"),
    ];
    let flags: Vec<_> = rows.iter().map(|(key, value)| format!("--{key}={value}")).collect();
    let variables = |name: fn(&str) -> String| rows.map(|(key, value)| (name(key), value));
    let underscores = variables(|key| key.to_uppercase().replace('-', "_"));
    let dashes = variables(str::to_uppercase);
    let borrowed = |variables: &[(String, &'static str)]| {
        let settings = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect::<Vec<_>>();
        self::settings(&[], &settings, "")
    };
    let file: String = rows.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    let from_flags = settings(&flags.iter().map(String::as_str).collect::<Vec<_>>(), &[], "");
    for settings in [from_flags, borrowed(&underscores), borrowed(&dashes), settings(&[], &[], &file)] {
        assert_eq!(settings.scope, one("my-namespace"));
        assert_eq!(settings.pod_selector.as_str(), "app in (a, b),!canary");
        assert_eq!(settings.service_selector.as_str(), "creator");
        assert_eq!(settings.scan_interval, Duration::from_secs(120));
        assert_eq!(settings.grace, Duration::ZERO);
        assert_eq!(settings.release_delay, Duration::from_secs(5400));
        assert_eq!(settings.course, Course::Once);
        assert_eq!(settings.effect, Effect::DryRun);
        assert_eq!(settings.listen, Listen::Off);
        assert_eq!(format!("{:?}", settings.log), "LogOptions { log_format: Json, log_level: Debug }");
    }
}

#[test]
fn the_keys_are_the_documented_ones() {
    let command = command();
    let keys: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
    assert_eq!(
        keys.join(" "),
        "namespace all-namespaces pod-selector service-selector scan-interval grace release-delay controllers once \
         dry-run listen log-format log-level config print-config help version"
    );
}

#[test]
fn a_flag_that_switches_needs_no_value() {
    let settings = settings(&["--all-namespaces", "--once", "--dry-run"], &[], "");
    assert_eq!(settings.scope, Scope::AllNamespaces);
    assert_eq!((settings.course, settings.effect), (Course::Once, Effect::DryRun));
}

#[test]
fn of_one_namespace_and_all_the_stronger_source_counts() {
    let all = Scope::AllNamespaces;
    for (arguments, environment, file, expected) in [
        (&["--all-namespaces"][..], &[("NAMESPACE", "mine")][..], "", &all),
        (&["--all-namespaces"], &[], "namespace: mine", &all),
        (&[], &[("ALL_NAMESPACES", "true")], "namespace: mine", &all),
        (&["--namespace=mine"], &[("ALL_NAMESPACES", "true")], "", &one("mine")),
        (&[], &[("NAMESPACE", "mine")], "all-namespaces: true", &one("mine")),
        (&["--namespace=mine", "--all-namespaces=false"], &[], "", &one("mine")),
        (&[], &[], "namespace: mine\nall-namespaces: false", &one("mine")),
        (&["--all-namespaces=false"], &[("NAMESPACE", "mine")], "all-namespaces: true", &one("mine")),
        (&["--all-namespaces=false"], &[], "all-namespaces: true", &Scope::Own),
        (&[], &[("NAMESPACE", "")], "all-namespaces: true", &all),
    ] {
        let scope = settings(arguments, environment, file).scope;
        assert_eq!(&scope, expected, "{arguments:?} {environment:?} {file}");
    }
}

#[test]
fn it_listens_at_an_address_or_not_at_all() {
    for (text, expected) in [
        ("off", None),
        ("false", None),
        ("[::]:8080", Some("[::]:8080")),
        ("127.0.0.1:9090", Some("127.0.0.1:9090")),
        ("'[fd00::1]:80'", Some("[fd00::1]:80")),
        ("127.0.0.1:0", Some("127.0.0.1:0")),
    ] {
        let expected = expected.map_or(Listen::Off, |address| Listen::At(address.parse().unwrap()));
        let quoted = if text.starts_with('[') { format!("'{text}'") } else { text.to_owned() };
        assert_eq!(settings(&[], &[], &format!("listen: {quoted}")).listen, expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_origin() {
    const ADDRESS: &str = "expected ADDRESS:PORT such as 0.0.0.0:8080 or [::]:8080, or off";
    const DURATION: &str = "expected a duration such as 30 (seconds), 90s, 5m or 1h30m";
    for (arguments, environment, file, message) in [
        (
            &["--namespace=mine", "--all-namespaces"][..],
            &[][..],
            "",
            "flag --namespace names one namespace, and flag --all-namespaces asks for all: give one of them",
        ),
        (
            &[],
            &[("NAMESPACE", "mine"), ("ALL-NAMESPACES", "true")],
            "",
            "environment variable NAMESPACE names one namespace, and environment variable ALL-NAMESPACES asks for all: \
             give one of them",
        ),
        (
            &[],
            &[],
            "namespace: mine\nall-namespaces: true\n",
            "config.yaml line 1 column 12, key `namespace` names one namespace, and config.yaml line 2 column 17, key \
             `all-namespaces` asks for all: give one of them",
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
            &[("POD_SELECTOR", "product=ipfv2,app in a")],
            "",
            "environment variable POD_SELECTOR: invalid value \"product=ipfv2,app in a\": in `app in a` expected (, \
             found `a`",
        ),
        (
            &[],
            &[],
            "service-selector: ' '",
            "config.yaml line 1 column 19, key `service-selector`: invalid value \" \": expected a label selector such \
             as product=ipfv2, app in (a, b) or !canary",
        ),
        (
            &[],
            &[("SCAN-INTERVAL", "0")],
            "",
            "environment variable SCAN-INTERVAL: invalid value \"0\": must be at least 1s",
        ),
        (&[], &[("GRACE", "-1s")], "", &format!("environment variable GRACE: invalid value \"-1s\": {DURATION}")),
        (
            &[],
            &[],
            "release-delay: soon",
            &format!("config.yaml line 1 column 16, key `release-delay`: invalid value \"soon\": {DURATION}"),
        ),
        (&[], &[("LISTEN", ":8080")], "", &format!("environment variable LISTEN: invalid value \":8080\": {ADDRESS}")),
        (
            &[],
            &[("LISTEN", "localhost:8080")],
            "",
            &format!("environment variable LISTEN: invalid value \"localhost:8080\": {ADDRESS}"),
        ),
        (
            &[],
            &[],
            "listen: 8080",
            &format!("config.yaml line 1 column 9, key `listen`: invalid value \"8080\": {ADDRESS}"),
        ),
        (
            &[],
            &[("CONTROLLERS", "cleanup,gc")],
            "",
            "environment variable CONTROLLERS: invalid value \"cleanup,gc\": expected cleanup, net-service",
        ),
        (
            &[],
            &[],
            "controllers: [cleanup, '']",
            "config.yaml line 1 column 24, key `controllers`: invalid value \"\": expected cleanup, net-service",
        ),
        (&[], &[("ONCE", "yes")], "", "environment variable ONCE: invalid value \"yes\": expected true, false"),
        (
            &[],
            &[],
            "scan-intervall: 2m",
            "config.yaml line 1 column 1: unknown key `scan-intervall`; did you mean `scan-interval`?",
        ),
        (&[], &[], "output: a.conf", "config.yaml line 1 column 1: unknown key `output`"),
    ] {
        assert_eq!(error(arguments, environment, file), message);
    }
}

#[test]
fn controllers_are_a_list() {
    use Controller::{Cleanup, NetService};
    for (arguments, environment, file, expected) in [
        (&["--controllers=cleanup"][..], &[][..], "", &[Cleanup][..]),
        (&["--controllers=cleanup,cleanup"], &[], "", &[Cleanup]),
        (&["--controllers=cleanup,net-service"], &[], "", &[Cleanup, NetService]),
        (&["--controllers", "cleanup", "--controllers", "net-service"], &[], "", &[Cleanup, NetService]),
        (&[], &[("CONTROLLERS", "net-service")], "", &[NetService]),
        (&[], &[], "controllers: [cleanup]", &[Cleanup]),
        (&[], &[], "controllers: net-service", &[NetService]),
        (&[], &[], "controllers: []", &[Cleanup]),
        (&[], &[], "", &[Cleanup]),
    ] {
        let controllers = settings(arguments, environment, file).controllers;
        let included: Vec<_> = [Cleanup, NetService].into_iter().filter(|one| controllers.include(*one)).collect();
        assert_eq!(included, expected, "{arguments:?} {environment:?} {file}");
    }
}

#[test]
fn what_only_the_clean_up_knows_is_refused_with_net_service() {
    for (arguments, environment, file, expected) in [
        (&["--once"][..], &[][..], "", "flag --once"),
        (&[], &[("DRY_RUN", "true")], "", "environment variable DRY_RUN"),
        (&[], &[], "once: true", "config.yaml line 2 column 7, key `once`"),
    ] {
        let file = format!("controllers: [cleanup, net-service]\n{file}");
        let message =
            format!("{expected} is of the clean-up alone: it cannot be combined with the controller net-service");
        assert_eq!(error(arguments, environment, &file), message);
    }
}

#[test]
fn an_empty_flag_is_refused() {
    for key in ["namespace", "pod-selector", "service-selector", "scan-interval", "controllers", "listen"] {
        for arguments in [&[&format!("--{key}="), ""][..1], &[&format!("--{key}"), ""]] {
            let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
            let error = error(&arguments, &[], "");
            assert!(error.contains(&format!("'--{key} <")), "{arguments:?}: {error}");
        }
    }
}
