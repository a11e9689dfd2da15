//! Judges values before they are merged: each text alone by its option's own value parser, so that a refusal can name
//! where the text came from.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::LoadError;
use super::file::{Entry, File, FileError};
use super::option::{self, Arity, ProgramOption};
use super::origin::{Origin, Place};
use super::yaml::Value;

/// A value is not one of its option's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: invalid value {text:?}: {reason}")]
pub struct InvalidValue {
    subject: String,
    text: String,
    reason: String,
}

/// What the settings file sets: an option's key, where, and the texts of its values.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) texts: Vec<String>,
}

/// Whether the option's value parser takes the text.
pub(super) fn judge(
    command: &Command,
    option: &ProgramOption,
    text: &str,
    origin: &Origin,
) -> Result<(), InvalidValue> {
    match command.clone().try_get_matches_from([option.argument(text)]) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(InvalidValue { subject: origin.of_option(&option.key), text: text.to_owned(), reason: reason(&error) })
        }
    }
}

/// Judges every key and value of the settings file, overridden or not: the whole file is ours.
pub(super) fn judge_file(
    file: Option<File>,
    command: &Command,
    options: &[ProgramOption],
) -> Result<Vec<Set>, LoadError> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let mut sets = Vec::new();
    for entry in &file.entries {
        let Some(option) = options.iter().find(|option| option.key == entry.key) else {
            return Err(unknown(&file, entry, command, options).into());
        };
        let values = values(&file, entry, option.arity)?;
        for (place, text) in &values {
            judge(command, option, text, &Origin::File(place.clone()))?;
        }
        if !values.is_empty() {
            let texts = values.into_iter().map(|(_, text)| text).collect();
            sets.push(Set { key: option.key.clone(), place: file.place(entry.node.at), texts });
        }
    }
    Ok(sets)
}

/// The texts of an entry and their places. Null and empty text count as unset, as an empty variable does.
fn values(file: &File, entry: &Entry, arity: Arity) -> Result<Vec<(Place, String)>, FileError> {
    let shape = |node: &super::yaml::Node, expected| FileError::Shape {
        place: file.place(node.at),
        key: entry.key.clone(),
        expected,
        found: match node.value {
            Value::Null => "nothing",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Mapping(_) => "a mapping",
        },
    };
    match (&entry.node.value, arity) {
        (Value::Null, _) => Ok(Vec::new()),
        (Value::Text(text), _) if text.is_empty() => Ok(Vec::new()),
        (Value::Text(text), _) => Ok(vec![(file.place(entry.node.at), text.clone())]),
        (Value::List(items), Arity::Many) => items
            .iter()
            .map(|item| match &item.value {
                Value::Text(text) => Ok((file.place(item.at), text.clone())),
                _ => Err(shape(item, "text")),
            })
            .collect(),
        (_, Arity::Many) => Err(shape(&entry.node, "text or a list of texts")),
        (_, Arity::One) => Err(shape(&entry.node, "text")),
    }
}

fn unknown(file: &File, entry: &Entry, command: &Command, options: &[ProgramOption]) -> FileError {
    let (place, key) = (file.place(entry.at), entry.key.clone());
    if option::is_flag_only(&key) {
        return FileError::FlagOnly { place, key };
    }
    let nearest = nearest(&key, command, options);
    FileError::UnknownKey { place, key, nearest }
}

/// The option's key that was probably meant, by clap's own measure.
fn nearest(key: &str, command: &Command, options: &[ProgramOption]) -> Option<String> {
    let spelled = key.to_lowercase().replace(['_', '='], "-");
    let is_option = |key: &str| options.iter().any(|option| option.key == key);
    if is_option(&spelled) {
        return Some(spelled);
    }
    let error = command.clone().try_get_matches_from([format!("--{spelled}")]).err()?;
    match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => flag.strip_prefix("--").filter(|key| is_option(key)).map(ToOwned::to_owned),
        _ => None,
    }
}

/// Why clap refused a value, without the flag that it names: the value came from elsewhere.
fn reason(error: &clap::Error) -> String {
    if let (ErrorKind::InvalidValue, Some(ContextValue::Strings(possible))) =
        (error.kind(), error.get(ContextKind::ValidValue))
        && !possible.is_empty()
    {
        return format!("expected {}", possible.join(", "));
    }
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    "expected some text".to_owned()
}
