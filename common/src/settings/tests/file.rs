//! The settings file: which one is read, what it may hold, and what is wrong in it.

use std::fs;
use std::path::PathBuf;

use super::super::file;
use super::{Case, Color};

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
