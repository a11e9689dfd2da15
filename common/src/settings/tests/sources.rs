//! Which source counts, and what is wrong in the environment and on the command line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::super::Source;
use super::{Case, Color, Toy};

/// An option: its key, its variable, how its value is read back, the texts that flag, environment and file give it, and
/// what the value must be by flag, environment, file and default.
type Kind = (&'static str, &'static str, fn(&Toy) -> String, [&'static str; 3], [&'static str; 4]);

#[test]
fn flag_over_environment_over_file_over_default() {
    let kinds: [Kind; 6] = [
        (
            "pod",
            "POD",
            |toy| format!("{:?}", toy.pod),
            ["f", "e", "c"],
            ["Some(\"f\")", "Some(\"e\")", "Some(\"c\")", "None"],
        ),
        ("output", "OUTPUT", |toy| toy.output.join(" "), ["/f", "/e", "[/c, /d]"], ["/f", "/e", "/c /d", "/tmp/out"]),
        (
            "host-ip",
            "HOST_IP",
            |toy| format!("{:?}", toy.host_ip),
            ["10.0.0.1", "10.0.0.2,::2", "[10.0.0.3, ::3]"],
            ["[10.0.0.1]", "[10.0.0.2, ::2]", "[10.0.0.3, ::3]", "[]"],
        ),
        (
            "scan-interval",
            "SCAN_INTERVAL",
            |toy| format!("{:?}", toy.scan_interval),
            ["1", "2s", "3m"],
            ["1s", "2s", "180s", "300s"],
        ),
        (
            "color",
            "COLOR",
            |toy| format!("{:?}", toy.color),
            ["green", "green", "green"],
            ["Green", "Green", "Green", "Red"],
        ),
        (
            "dry-run",
            "DRY_RUN",
            |toy| toy.dry_run.to_string(),
            ["true", "true", "true"],
            ["true", "true", "true", "false"],
        ),
    ];
    for (key, variable, read, [flag, environment, file], [by_flag, by_environment, by_file, by_default]) in kinds {
        let dashed = variable.replace('_', "-");
        let flag = format!("--{key}={flag}");
        let file = format!("{key}: {file}\n");
        let flags: [&[&str]; 2] = [&[], &[&flag]];
        let environments: [&[(&str, &str)]; 4] =
            [&[], &[(variable, environment)], &[(&dashed, environment)], &[(variable, environment), (&dashed, "?")]];
        for (given, flags) in flags.iter().enumerate() {
            for (set, environment) in environments.iter().enumerate() {
                for file in ["", &file] {
                    let (expected, source) = match (given, set, file) {
                        (1, ..) => (by_flag, Source::Flag),
                        (0, 1.., _) => (by_environment, Source::Environment),
                        (_, _, "") => (by_default, Source::Default),
                        _ => (by_file, Source::File),
                    };
                    let settings = Case::new(flags, environment, file.as_bytes()).settings();
                    let what = format!("{key} of {flags:?}, {environment:?}, {file:?}");
                    assert_eq!(read(&settings.options), expected, "{what}");
                    assert_eq!(settings.origin(key).source(), source, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_switch_can_be_turned_off_again() {
    assert!(Case::new(&["--dry-run"], &[("DRY_RUN", "false")], b"dry-run: false").toy().dry_run);
    assert!(!Case::new(&["--dry-run=false"], &[("DRY_RUN", "true")], b"dry-run: true").toy().dry_run);
    assert!(!Case::new(&[], &[("DRY_RUN", "false")], b"dry-run: true").toy().dry_run);
}

#[test]
fn an_empty_value_is_unset() {
    assert_eq!(Case::new(&[], &[("POD", "")], b"pod: file").toy().pod.as_deref(), Some("file"));
    assert_eq!(Case::new(&[], &[("SCAN_INTERVAL", ""), ("SCAN-INTERVAL", "7")], b"").toy().scan_interval.as_secs(), 7);
    for value in ["", "~", "null", "\"\"", "''", "[]"] {
        assert_eq!(Case::file(&format!("output: {value}")).toy().output, ["/tmp/out"], "{value:?}");
    }
}

#[test]
fn what_is_wrong_in_the_environment_is_named() {
    for (name, value, message) in [
        ("COLOR", "blue", "environment variable COLOR: invalid value \"blue\": expected red, green"),
        (
            "SCAN_INTERVAL",
            "-5s",
            "environment variable SCAN_INTERVAL: invalid value \"-5s\": expected a duration such as 30 (seconds), 90s, 5m or 1h30m",
        ),
        ("SCAN-INTERVAL", "0s", "environment variable SCAN-INTERVAL: invalid value \"0s\": must be longer than 0s"),
        ("DRY_RUN", "yes", "environment variable DRY_RUN: invalid value \"yes\": expected true, false"),
        (
            "HOST_IP",
            "10.0.0.1,x",
            "environment variable HOST_IP: invalid value \"10.0.0.1,x\": invalid IP address syntax",
        ),
    ] {
        assert_eq!(Case::new(&[], &[(name, value)], b"").error(), message);
    }
}

#[test]
fn a_variable_that_a_flag_overrides_is_not_judged() {
    assert_eq!(Case::new(&["--color=green"], &[("COLOR", "blue")], b"").toy().color, Color::Green);
}

#[test]
fn only_our_own_variables_must_be_text() {
    let not_text = OsStr::from_bytes(b"a\xff").to_owned();
    let mut case = Case::new(&[], &[("POD", "mine")], b"");
    case.sources.environment.push(("THEIRS".into(), not_text.clone()));
    case.sources.environment.push((not_text.clone(), "x".into()));
    assert_eq!(case.toy().pod.as_deref(), Some("mine"));
    case.sources.environment.insert(0, ("POD".into(), not_text));
    assert_eq!(case.error(), "environment variable POD: its value \"a\\xFF\" is not valid UTF-8");
}

#[test]
fn what_is_wrong_on_the_command_line_is_named_by_clap() {
    for (arguments, message) in [
        (&["--pods", "a"][..], "unexpected argument '--pods' found\n\n  tip: a similar argument exists: '--pod'"),
        (&["--color", "blue"], "invalid value 'blue' for '--color <COLOR>'\n  [possible values: red, green]"),
        (&["--pod", "a", "--pod", "b"], "the argument '--pod <POD>' cannot be used multiple times"),
        (&["--scan-interval", "0"], "invalid value '0' for '--scan-interval <SCAN_INTERVAL>': must be longer than 0s"),
        (&["pod"], "unexpected argument 'pod' found"),
        (&["--config", ""], "a value is required for '--config <FILE>' but none was supplied"),
        (&["--pod", "a", "--", "b"], "unexpected argument 'b' found"),
    ] {
        let error = Case::new(arguments, &[], b"").error();
        assert!(error.starts_with(message), "{arguments:?}: {error}");
    }
}
