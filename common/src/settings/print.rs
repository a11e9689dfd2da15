//! `--print-config`: every option as a config.yaml that sets the same, with each value's origin as a comment.

use std::fmt::Write;

use clap::ArgMatches;

use super::option::ProgramOption;
use super::origin::Origin;

/// The settings in force.
pub(super) fn settings(program: &str, matches: &ArgMatches, origins: &[(ProgramOption, Origin)]) -> String {
    let lines: Vec<_> = origins.iter().map(|(option, origin)| line(matches, option, origin)).collect();
    let width = lines.iter().map(|(setting, _)| setting.chars().count()).max().unwrap_or_default();
    let mut page = format!("# {program}: the value of each option, and where it comes from\n");
    for (setting, comment) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{setting:width$}  # {comment}");
    }
    page
}

/// The option as a line of config.yaml, and its comment.
fn line(matches: &ArgMatches, option: &ProgramOption, origin: &Origin) -> (String, String) {
    let values = matches.get_raw(&option.id).into_iter().flatten().map(|value| quote(&value.to_string_lossy()));
    let key = &option.key;
    match values.collect::<Vec<_>>().as_slice() {
        [] => (format!("{key}:"), "not set".to_owned()),
        [value] => (format!("{key}: {value}"), one_line(&origin.to_string())),
        values => (format!("{key}: [{}]", values.join(", ")), one_line(&origin.to_string())),
    }
}

/// The text as YAML: plain where nobody could take it for anything else.
fn quote(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    let starts_plain = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/');
    if starts_plain && text.chars().all(plain) && !text.eq_ignore_ascii_case("null") {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if is_unprintable(character) => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// What YAML 1.2 (section 5.1) wants escaped, or takes for the end of a line.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn one_line(text: &str) -> String {
    text.chars().map(|character| if is_unprintable(character) { '?' } else { character }).collect()
}
