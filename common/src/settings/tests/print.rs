//! What is printed: the settings, and the help.

use super::Case;

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
    let bare = Case::new(&["--print-config"], &[], b"").printed();
    assert!(bare.contains("\npod:               # not set\noutput: /tmp/out"), "{bare}");
}

#[test]
fn help_shows_every_name_and_default() {
    let help = Case::new(&["--help"], &[], b"unknown: 1").printed();
    for part in [
        "--scan-interval <SCAN_INTERVAL>",
        "A duration\n          [env: SCAN_INTERVAL] [key: scan-interval]",
        "[default: 5m]",
    ] {
        assert!(help.contains(part), "{part:?} is missing in\n{help}");
    }
    assert!(!help.contains("[env: CONFIG]"), "{help}");
    assert!(help.find("--dry-run") < help.find("--config"), "the program's own options come first\n{help}");
    assert_eq!(Case::new(&["--version"], &[], b"").printed(), "toy 1.2.3\n");
}
