//! The settings file: where it is looked for, and the keys and values that it holds.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::origin::Place;
use super::yaml::{self, Node, Position, Value};

/// Name of the settings file in each of the folders.
const FILE_NAME: &str = "config.yaml";

/// The settings file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is there, or was named, and cannot be read.
    #[error("cannot read the settings file {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not valid YAML.
    #[error("{place}: invalid YAML: {reason}")]
    Yaml {
        /// Where.
        place: Place,
        /// Why.
        reason: String,
    },
    /// It is valid YAML, but not a mapping of options.
    #[error("{0}: the settings file must be a mapping of options, such as `namespace: default`")]
    NotAMapping(Place),
    /// It has a key that is no option's.
    #[error("{place}: unknown key `{key}`{}", hint(.nearest.as_deref()))]
    UnknownKey {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The option's key that was probably meant.
        nearest: Option<String>,
    },
    /// It has a key that only a flag has.
    #[error("{place}: `{key}` is no key, only a flag: --{key}")]
    FlagOnly {
        /// Where.
        place: Place,
        /// The key.
        key: String,
    },
    /// A value has another shape than its option's.
    #[error("{place}, key `{key}`: expected {expected}, found {found}")]
    Shape {
        /// Where.
        place: Place,
        /// The option's key.
        key: String,
        /// What is possible here.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// What a settings file holds.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    pub(super) entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Position,
    pub(super) node: Node,
}

impl File {
    /// A place in this file.
    pub(super) fn place(&self, at: Position) -> Place {
        place(&self.path, at)
    }
}

/// Where config.yaml is looked for: `/etc/<program>`, then `$HOME/.config/<program>` where there is a home.
pub(super) fn directories(program: &str, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let home = environment.iter().find(|(name, value)| name == "HOME" && !value.is_empty());
    let home = home.map(|(_, home)| Path::new(home).join(".config").join(program));
    std::iter::once(Path::new("/etc").join(program)).chain(home).collect()
}

/// Reads the named file, or else the first config.yaml found in the directories.
pub(super) fn read(named: Option<&Path>, directories: &[PathBuf]) -> Result<Option<File>, FileError> {
    if let Some(file) = named {
        return read_text(file).and_then(|text| parse(file, &text)).map(Some);
    }
    for directory in directories {
        let file = directory.join(FILE_NAME);
        match read_text(&file) {
            Ok(text) => return parse(&file, &text).map(Some),
            Err(FileError::Unreadable { source, .. }) if is_absent(&source) || is_hidden(&file, &source) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn read_text(file: &Path) -> Result<String, FileError> {
    std::fs::read_to_string(file).map_err(|source| FileError::Unreadable { file: file.to_owned(), source })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether the folder lets nobody but its owner look: a container that runs as another user than the one its image's HOME
/// belongs to has no file there.
fn is_hidden(file: &Path, error: &io::Error) -> bool {
    let is_denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    is_denied(error) && file.metadata().is_err_and(|error| is_denied(&error))
}

fn parse(path: &Path, text: &str) -> Result<File, FileError> {
    let root = yaml::parse(text).map_err(|invalid| FileError::Yaml {
        place: place(path, invalid.at.unwrap_or(Position { line: 1, column: 1 })),
        reason: invalid.reason,
    })?;
    let entries = match root.value {
        Value::Null => Vec::new(),
        Value::Mapping(entries) => entries.into_iter().map(|(key, at, node)| Entry { key, at, node }).collect(),
        Value::Text(_) | Value::List(_) => return Err(FileError::NotAMapping(place(path, root.at))),
    };
    Ok(File { path: path.to_owned(), entries })
}

fn place(file: &Path, at: Position) -> Place {
    Place { file: file.to_owned(), line: at.line, column: at.column }
}
