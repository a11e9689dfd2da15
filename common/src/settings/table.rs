//! The tables of options in docs/configuration.md, from the same clap [`Command`] that reads them, and the examples of
//! settings there.

use clap::{Arg, Command};

use super::option;

/// The markers between which the tables of a program stand in a document.
fn markers(command: &Command) -> [String; 2] {
    ["begin", "end"].map(|end| format!("<!-- {end} options of {} -->", command.get_name()))
}

/// The document lacks the place for the tables.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document has no lines `{}` and `{}`, in this order", .0[0], .0[1])]
pub struct MissingMarkers([String; 2]);

/// The document with the tables of the command's options, whatever stood there before.
///
/// # Errors
/// The document has no markers for them.
pub fn update(document: &str, command: &Command) -> Result<String, MissingMarkers> {
    let markers = markers(command);
    let [begin, end] = &markers;
    let parts = document.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    match parts {
        Some((before, after)) => Ok(format!("{before}{begin}\n{}\n{end}{after}", tables(command))),
        None => Err(MissingMarkers(markers)),
    }
}

/// The examples in a document that are a program's: the fenced blocks of this language whose first line is a comment that
/// names the program.
#[must_use]
pub fn examples(document: &str, language: &str, command: &Command) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    let blocks = document.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next());
    let is_ours = |block: &&str| {
        let first = block.lines().next().unwrap_or_default();
        first.starts_with('#') && first.contains(command.get_name())
    };
    blocks.filter(is_ours).map(str::to_owned).collect()
}

/// One table for each help heading.
fn tables(command: &Command) -> String {
    let mut headings: Vec<&str> = Vec::new();
    for heading in command.get_arguments().map(heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
        .iter()
        .map(|wanted| {
            let rows = command.get_arguments().filter(|argument| heading(argument) == *wanted).map(row);
            let rows: String = rows.collect();
            format!("\n### {wanted}\n\n|Flag|Environment|Key|Default|Meaning|\n|---|---|---|---|---|\n{rows}")
        })
        .collect()
}

fn heading(argument: &Arg) -> &str {
    argument.get_help_heading().unwrap_or("Options")
}

fn row(argument: &Arg) -> String {
    let flag = argument.get_long().unwrap_or_default();
    let (environment, key) = match option::of_argument(argument) {
        Some(option) => (code(&option.environment_name()), code(&option.key)),
        None => ("–".to_owned(), "–".to_owned()),
    };
    let defaults = argument.get_default_values().iter().map(|value| code(&value.to_string_lossy()));
    let default = defaults.collect::<Vec<_>>().join(", ");
    let mut meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let possible: Vec<_> = argument.get_possible_values().iter().map(|value| code(value.get_name())).collect();
    if argument.get_action().takes_values() && !possible.is_empty() {
        meaning = format!("{meaning}: {}", possible.join(", "));
    }
    format!("|`--{flag}`|{environment}|{key}|{default}|{}|\n", meaning.replace('|', "\\|"))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("toy")
            .disable_help_flag(true)
            .arg(Arg::new("a").long("scan-interval").default_value("5m").help_heading("Scan").help("How often | when"))
    }

    #[test]
    fn the_table_replaces_what_stands_between_the_markers() {
        let document = "# Toy\n<!-- begin options of toy -->\nold\n<!-- end options of toy -->\nrest\n";
        let expected = "# Toy\n<!-- begin options of toy -->\n\n### Scan\n\n|Flag|Environment|Key|Default|Meaning|\n\
                        |---|---|---|---|---|\n\
                        |`--scan-interval`|`SCAN_INTERVAL`|`scan-interval`|`5m`|How often \\| when|\n\n\
                        <!-- end options of toy -->\nrest\n";
        let updated = update(document, &command()).unwrap();
        assert_eq!(updated, expected);
        assert_eq!(update(&updated, &command()).unwrap(), expected, "a second time changes nothing");
    }

    #[test]
    fn the_examples_of_a_program_name_it() {
        let document = "# Toy\n```yaml\n# /etc/toy/config.yaml\na: 1\n```\n```yaml\na: toy\n```\n\n```env\n# toy\nA=1\n```\n\
                        ```yaml\n# of another\nb: 2\n```\n```yaml\n# toy\n```\n";
        assert_eq!(examples(document, "yaml", &command()), ["# /etc/toy/config.yaml\na: 1", "# toy"]);
        assert_eq!(examples(document, "env", &command()), ["# toy\nA=1"]);
    }

    #[test]
    fn a_document_without_markers_is_refused() {
        let error = update("# Toy\n<!-- end options of toy --><!-- begin options of toy -->", &command()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the document has no lines `<!-- begin options of toy -->` and `<!-- end options of toy -->`, in this order"
        );
    }
}
