//! Where in a template something is: what every message about a template begins with.

use std::{fmt, path::PathBuf};

/// A position in a template as its author wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What a template was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A key of a ConfigMap.
    ConfigMap {
        /// The ConfigMap's namespace.
        namespace: String,
        /// The ConfigMap's name.
        name: String,
        /// The key in its `data`.
        key: String,
    },
    /// A local file.
    File(PathBuf),
    /// The value of an option, by the option's name without dashes.
    Setting(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigMap { namespace, name, key } => write!(f, "ConfigMap {namespace}/{name}, key {key}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Setting(name) => write!(f, "setting {name}"),
        }
    }
}

/// A position in a named template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The template.
    pub template: Source,
    /// The position in it.
    pub location: Location,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.template, self.location)
    }
}

/// Finds the line and column of a byte of a text.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// Offset of each line's first byte.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The location of the character that begins at byte `offset`, which must be a character's border.
    pub(crate) fn location(&self, offset: usize) -> Location {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        Location { line, column: self.text[start..offset].chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "añ\n\r\nb";
        let lines = Lines::new(text);
        for (offset, line, column) in [(0, 1, 1), (1, 1, 2), (3, 1, 3), (4, 2, 1), (6, 3, 1), (7, 3, 2)] {
            assert_eq!(lines.location(offset), Location { line, column }, "of byte {offset}");
        }
    }
}
