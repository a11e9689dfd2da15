//! A rendered template on its way to the YAML parser, which sees a placeholder for each value.

use super::text::{Origin, Text};
use crate::place::Location;

/// First character of a placeholder. Private use means nothing to YAML, which takes it for a letter.
const START: char = '\u{E000}';

/// Last character of a placeholder.
const END: char = '\u{E001}';

/// A rendered template: text as its author wrote it, and values.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// What the parser reads: the text, with a placeholder for each value and each private-use character of ours.
    text: String,
    /// Length of the text so far in characters, as the parser counts.
    characters: usize,
    /// Where the pieces of the text begin, in their order.
    marks: Vec<Mark>,
    /// What the placeholders stand for.
    values: Vec<(String, Origin)>,
}

/// Where a piece begins.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Index of its first character in what the parser reads.
    start: usize,
    /// Place of its first character in the template.
    location: Location,
    /// Columns of the template per character: 1 in text, 0 in a placeholder.
    step: usize,
}

impl Document {
    /// Adds text that the template's author wrote: one character, or some of one line.
    pub(crate) fn push_written(&mut self, text: &str, location: Location) {
        self.mark(location, 1);
        for (offset, character) in text.chars().enumerate() {
            let location = Location { column: location.column + offset, ..location };
            if matches!(character, START | END) {
                self.push_value(character.encode_utf8(&mut [0; 4]), Origin::Literal, location);
                self.mark(Location { column: location.column + 1, ..location }, 1);
            } else {
                self.push_raw(character);
            }
        }
    }

    /// Adds a value.
    pub(crate) fn push_value(&mut self, value: &str, origin: Origin, location: Location) {
        self.mark(location, 0);
        self.push_placeholder(value, origin);
    }

    fn mark(&mut self, location: Location, step: usize) {
        self.marks.push(Mark { start: self.characters, location, step });
    }

    fn push_placeholder(&mut self, value: &str, origin: Origin) {
        // One placeholder a value, so that an anchor and its alias may be rendered.
        let known = self.values.iter().position(|(known, from)| known == value && *from == origin);
        let index = known.unwrap_or_else(|| {
            self.values.push((value.to_owned(), origin));
            self.values.len() - 1
        });
        self.push_raw(START);
        index.to_string().chars().for_each(|digit| self.push_raw(digit));
        self.push_raw(END);
    }

    fn push_raw(&mut self, character: char) {
        self.text.push(character);
        self.characters += 1;
    }

    /// What the parser reads.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the template of the character at an index of what the parser reads.
    pub(super) fn location(&self, index: usize) -> Location {
        let behind = self.marks.partition_point(|mark| mark.start <= index);
        match behind.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some(Mark { start, location, step }) => {
                Location { column: location.column + step * (index - start), ..*location }
            }
            None => Location { line: 1, column: 1 },
        }
    }

    /// Puts the values back into what the parser read.
    pub(super) fn decode(&self, read: &str) -> Text {
        let mut text = Text::default();
        let mut rest = read;
        while let Some((literal, behind)) = rest.split_once(START) {
            let (index, behind) = behind.split_once(END).unwrap_or((behind, ""));
            let value = index.parse::<usize>().ok().and_then(|index| self.values.get(index));
            if !literal.is_empty() {
                text.push(literal, Origin::Literal);
            }
            if let Some((value, origin)) = value {
                text.push(value, *origin);
            }
            rest = behind;
        }
        if !rest.is_empty() {
            text.push(rest, Origin::Literal);
        }
        text
    }

    /// Whether what the parser read holds a placeholder.
    pub(super) fn has_values(read: &str) -> bool {
        read.contains(START)
    }
}
