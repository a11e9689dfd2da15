//! The whole of reading settings, on the options of a toy program.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use clap::{ArgAction, ValueEnum};
use tempfile::TempDir;

use super::*;

/// One option of each kind.
#[derive(Debug, Parser)]
#[command(name = "toy", version = "1.2.3")]
struct Toy {
    /// Some text
    #[arg(long)]
    pod: Option<String>,
    /// A list of texts
    #[arg(long, default_value = "/tmp/out")]
    output: Vec<String>,
    /// A list that may be written in one
    #[arg(long, value_delimiter = ',')]
    host_ip: Vec<std::net::IpAddr>,
    /// A duration
    #[arg(long, default_value = "5m", value_parser = positive_duration)]
    scan_interval: Duration,
    /// A choice
    #[arg(long, default_value = "red", value_enum)]
    color: Color,
    /// A switch
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true,
          action = ArgAction::Set)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Red,
    Green,
}

/// A place to put settings files, and what else is to be read.
struct Case {
    folder: TempDir,
    sources: Sources,
}

impl Case {
    fn new(arguments: &[&str], environment: &[(&str, &str)], file: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.yaml"), file).unwrap();
        let sources = Sources {
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            directories: vec![folder.path().to_owned()],
        };
        Self { folder, sources }
    }

    fn file(text: &str) -> Self {
        Self::new(&[], &[], text.as_bytes())
    }

    fn settings(&self) -> Settings<Toy> {
        match load::<Toy>(&self.sources) {
            Ok(Loaded::Settings(settings)) => settings,
            other => panic!("no settings: {other:?}"),
        }
    }

    fn toy(&self) -> Toy {
        self.settings().options
    }

    fn printed(&self) -> String {
        match load::<Toy>(&self.sources) {
            Ok(Loaded::Print(text)) => text.replace(&format!("{}/", self.folder.path().display()), ""),
            other => panic!("nothing to print: {other:?}"),
        }
    }

    /// The error and its causes as the program prints them, without the test's own folder.
    fn error(&self) -> String {
        let error = load::<Toy>(&self.sources).map(|loaded| format!("{loaded:?}")).unwrap_err();
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn flag_over_environment_over_file_over_default() {
    // (option, [flag, environment, file, default]) as the debug form of the option's value.
    type Read = fn(&Toy) -> String;
    let kinds: [(&str, &str, Read, [&str; 3], [&str; 4]); 6] = [
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
fn a_value_in_the_file_stays_the_text_that_was_written() {
    for text in [
        "0123",
        "1e5",
        "true",
        "True",
        "yes",
        "off",
        "123",
        "1_000",
        "0x1F",
        "-0",
        "1.0",
        ".nan",
        ".inf",
        "1e999",
        "99999999999999999999999",
        "2001-01-01",
        "12:30:45",
        "+7",
        "nullable",
        "a b",
        "é",
        "=",
        "a#b",
        "-x",
        "--pod",
    ] {
        for written in [text.to_owned(), format!("'{text}'"), format!("\"{text}\""), format!("!!str {text}")] {
            let pod = Case::file(&format!("pod: {written}  # a comment\n")).toy().pod;
            assert_eq!(pod.as_deref(), Some(text), "{written}");
        }
        let output = Case::file(&format!("output: [{text}, \"{text}\"]\n")).toy().output;
        assert_eq!(output, [text, text]);
    }
    assert_eq!(Case::file("pod: \"null\"").toy().pod.as_deref(), Some("null"));
    assert_eq!(Case::file("pod: |\n  a\n  b\n").toy().pod.as_deref(), Some("a\nb\n"));
    assert_eq!(Case::file("output: [&o 1e5]\npod: *o\n").toy().pod.as_deref(), Some("1e5"));
}

#[test]
fn any_text_arrives_unchanged() {
    // A fixed sequence (a linear congruential generator), so that a failure repeats.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let alphabet: Vec<char> =
        "abzAZ0159 .,:;-_+=#'\"\\/{}[]&*!|>%@`~?$^()\t\n\r\u{7f}\u{85}é字\u{2028}\u{feff}😀".chars().collect();
    for _ in 0..100 {
        let length = 1 + next(12);
        let text: String =
            (0..length).map(|_| alphabet[usize::try_from(next(alphabet.len() as u64)).unwrap()]).collect();
        assert_eq!(Case::new(&[], &[("POD", &text)], b"").toy().pod.as_ref(), Some(&text), "environment");
        // What --print-config prints sets the same, so this is the file's turn as well.
        let printed = Case::new(&["--print-config"], &[("POD", &text), ("OUTPUT", &text)], b"").printed();
        let toy = Case::file(&printed).toy();
        assert_eq!(toy.pod.as_ref(), Some(&text), "file\n{printed}");
        assert_eq!(toy.output, [text], "file\n{printed}");
    }
}

#[test]
fn marks_of_editors_and_systems_change_nothing() {
    for file in ["\u{feff}pod: a\r\ncolor: green\r\n", "---\npod: a\ncolor: green\n...\n", "{pod: a, color: green}"] {
        let toy = Case::file(file).toy();
        assert_eq!((toy.pod.as_deref(), toy.color), (Some("a"), Color::Green), "{file:?}");
    }
    for file in ["", "\n", "# only a comment\n", "---\n", "\u{feff}", "{}"] {
        assert_eq!(Case::file(file).toy().pod, None, "{file:?}");
    }
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_place() {
    for (file, message) in [
        (
            "scan-intervall: 2m\n",
            "config.yaml line 1 column 1: unknown key `scan-intervall`; did you mean `scan-interval`?",
        ),
        (
            "pod: a\nscan_interval: 2m\n",
            "config.yaml line 2 column 1: unknown key `scan_interval`; did you mean `scan-interval`?",
        ),
        (
            "SCAN_INTERVAL: 2m",
            "config.yaml line 1 column 1: unknown key `SCAN_INTERVAL`; did you mean `scan-interval`?",
        ),
        ("scanInterval: 2m", "config.yaml line 1 column 1: unknown key `scanInterval`; did you mean `scan-interval`?"),
        ("wholly-different: 1", "config.yaml line 1 column 1: unknown key `wholly-different`"),
        ("\"\": 1", "config.yaml line 1 column 1: unknown key ``"),
        ("pod=a: 1", "config.yaml line 1 column 1: unknown key `pod=a`; did you mean `pod`?"),
        ("1: 1", "config.yaml line 1 column 1: unknown key `1`"),
        ("<<: {pod: a}", "config.yaml line 1 column 1: unknown key `<<`"),
        ("config: /x", "config.yaml line 1 column 1: `config` is no key, only a flag: --config"),
        ("help: true", "config.yaml line 1 column 1: `help` is no key, only a flag: --help"),
        ("pod: {name: a}", "config.yaml line 1 column 6, key `pod`: expected text, found a mapping"),
        ("pod:\n  name: a", "config.yaml line 2 column 3, key `pod`: expected text, found a mapping"),
        ("pod: [a]", "config.yaml line 1 column 6, key `pod`: expected text, found a list"),
        (
            "output: {a: b}",
            "config.yaml line 1 column 9, key `output`: expected text or a list of texts, found a mapping",
        ),
        ("output: [a, [b]]", "config.yaml line 1 column 13, key `output`: expected text, found a list"),
        ("output:\n- a\n-\n", "config.yaml line 3 column 2, key `output`: expected text, found nothing"),
        (
            "pod: a\npod: b",
            "config.yaml line 2 column 1: invalid YAML: duplicate mapping key `pod` is not allowed here",
        ),
        (
            "pod: a\n---\npod: b",
            "config.yaml line 3 column 1: invalid YAML: only single YAML document expected but multiple found",
        ),
        ("pod: [a\ncolor: red", "config.yaml line 2 column 6: invalid YAML: illegal placement of ':' indicator"),
        ("pod: 'a", "config.yaml line 1 column 6: invalid YAML: unclosed quote"),
        ("pod: a: b", "config.yaml line 1 column 7: invalid YAML: mapping values are not allowed in this context"),
        ("pod: @a", "config.yaml line 1 column 6: invalid YAML: unexpected character: `@'"),
        (
            "- pod",
            "config.yaml line 1 column 1: the settings file must be a mapping of options, such as `namespace: default`",
        ),
        (
            "pod",
            "config.yaml line 1 column 1: the settings file must be a mapping of options, such as `namespace: default`",
        ),
        (
            "12",
            "config.yaml line 1 column 1: the settings file must be a mapping of options, such as `namespace: default`",
        ),
        (
            "pod: a\nscan-interval: soon",
            "config.yaml line 2 column 16, key `scan-interval`: invalid value \"soon\": expected a duration such as \
             30 (seconds), 90s, 5m or 1h30m",
        ),
        (
            "scan-interval: 0",
            "config.yaml line 1 column 16, key `scan-interval`: invalid value \"0\": must be longer than 0s",
        ),
        ("color: blue", "config.yaml line 1 column 8, key `color`: invalid value \"blue\": expected red, green"),
        ("dry-run: 1", "config.yaml line 1 column 10, key `dry-run`: invalid value \"1\": expected true, false"),
        (
            "host-ip:\n  - 10.0.0.1\n  - 10.0.0.256\n",
            "config.yaml line 3 column 5, key `host-ip`: invalid value \"10.0.0.256\": invalid IP address syntax",
        ),
        ("host-ip: ['']", "config.yaml line 1 column 11, key `host-ip`: invalid value \"\": invalid IP address syntax"),
    ] {
        assert_eq!(Case::file(file).error(), message, "{file:?}");
    }
}

#[test]
fn the_whole_file_is_judged_even_where_it_is_overridden() {
    let case = Case::new(&["--color", "red"], &[("COLOR", "red")], b"color: blue");
    assert_eq!(case.error(), "config.yaml line 1 column 8, key `color`: invalid value \"blue\": expected red, green");
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

#[test]
fn the_first_file_found_is_the_only_one_read() {
    let mut case = Case::file("pod: second\ncolor: green");
    let first = case.folder.path().join("first");
    case.sources.directories.insert(0, first.clone());
    assert_eq!(case.toy().pod.as_deref(), Some("second"), "a missing folder is passed over");
    fs::create_dir(&first).unwrap();
    assert_eq!(case.toy().pod.as_deref(), Some("second"), "an empty folder is passed over");
    fs::write(first.join("config.yaml"), "pod: first").unwrap();
    let toy = case.toy();
    assert_eq!((toy.pod.as_deref(), toy.color), (Some("first"), Color::Red));
}

#[test]
fn a_named_file_is_the_only_one_read_and_must_exist() {
    let mut case = Case::file("color: green");
    let named = case.folder.path().join("mine.yaml");
    case.sources.arguments = vec!["--config".into(), named.clone().into()];
    assert_eq!(case.error(), "cannot read the settings file mine.yaml: No such file or directory (os error 2)");
    fs::write(&named, "pod: named").unwrap();
    let toy = case.toy();
    assert_eq!((toy.pod.as_deref(), toy.color), (Some("named"), Color::Red));
}

#[test]
fn a_file_that_is_there_and_cannot_be_read_is_an_error() {
    let case = Case::new(&[], &[], b"pod: \xff");
    assert_eq!(case.error(), "cannot read the settings file config.yaml: stream did not contain valid UTF-8");
    let file = case.folder.path().join("config.yaml");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(case.error(), "cannot read the settings file config.yaml: Is a directory (os error 21)");
}

#[test]
fn config_yaml_is_looked_for_in_etc_then_at_home() {
    let home = |value: &str| vec![("HOME".into(), value.into())];
    let etc = PathBuf::from("/etc/toy");
    assert_eq!(file::directories("toy", &home("/home/me")), [etc.clone(), "/home/me/.config/toy".into()]);
    assert_eq!(file::directories("toy", &home("")), std::slice::from_ref(&etc));
    assert_eq!(file::directories("toy", &[]), [etc]);
}

#[test]
fn print_config_shows_each_value_and_its_origin() {
    let case = Case::new(
        &["--print-config", "--output=/a b", "--output", "/c"],
        &[("HOST-IP", "10.0.0.1,::1"), ("DRY_RUN", "")],
        b"# mine\nscan-interval: 2m\npod: \"1e5\"\n",
    );
    assert_eq!(
        case.printed(),
        "\
# toy: the value of each option, and where it comes from
pod: 1e5                    # config.yaml line 3 column 6
output: [\"/a b\", /c]        # flag
host-ip: [10.0.0.1, \"::1\"]  # environment variable HOST-IP
scan-interval: 2m           # config.yaml line 2 column 16
color: red                  # default
dry-run: false              # default
"
    );
}

#[test]
fn help_shows_every_name_and_default() {
    let help = Case::new(&["--help"], &[], b"unknown: 1").printed();
    for part in
        ["--scan-interval <SCAN_INTERVAL>", "A duration [env: SCAN_INTERVAL] [key: scan-interval] [default: 5m]"]
    {
        assert!(help.contains(part), "{part:?} is missing in\n{help}");
    }
    assert!(!help.contains("[env: CONFIG]"), "{help}");
    assert_eq!(Case::new(&["--version"], &[], b"").printed(), "toy 1.2.3\n");
}
