//! A YAML document in which every scalar stays the text that was written, and every node has its place.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

/// A node and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) value: Value,
}

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

#[derive(Debug)]
pub(super) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    Text(String),
    List(Vec<Node>),
    Mapping(Vec<(String, Position, Node)>),
}

/// The document is not valid YAML.
#[derive(Debug)]
pub(super) struct Invalid {
    pub(super) at: Option<Position>,
    pub(super) reason: String,
}

/// Parses one document.
pub(super) fn parse(text: &str) -> Result<Node, Invalid> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // An option of this name is unknown, and no file of ours needs more.
        merge_keys: serde_saphyr::options::MergeKeyPolicy::AsOrdinary,
        // Only so that `.nan` reaches us: its text is what counts.
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
    };
    let parsed = serde_saphyr::from_str_with_options::<Spanned<Parsed>>(text, options).map_err(|error| Invalid {
        at: error.location().map(Position::from),
        reason: UserMessageFormatter.format_message(error.without_snippet()).into_owned(),
    })?;
    Ok(parsed.into_node(text))
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// What the YAML library makes of a node. It infers types, and loses the text in doing so.
enum Parsed {
    Null,
    Text(String),
    /// A number or boolean: its text is read from the source.
    Inferred,
    List(Vec<Spanned<Parsed>>),
    Mapping(Vec<(Spanned<String>, Spanned<Parsed>)>),
}

trait IntoNode {
    fn into_node(self, source: &str) -> Node;
}

impl IntoNode for Spanned<Parsed> {
    fn into_node(self, source: &str) -> Node {
        let value = match self.value {
            Parsed::Null => Value::Null,
            Parsed::Text(text) => Value::Text(text),
            Parsed::Inferred => Value::Text(written(source, self.defined)),
            Parsed::List(items) => Value::List(items.into_iter().map(|item| item.into_node(source)).collect()),
            Parsed::Mapping(entries) => Value::Mapping(
                entries
                    .into_iter()
                    .map(|(key, value)| (key.value, key.referenced.into(), value.into_node(source)))
                    .collect(),
            ),
        };
        Node { at: self.referenced.into(), value }
    }
}

/// The text of a number or boolean as written; only with a tag (`!!int "12"`) can such a scalar be quoted.
fn written(source: &str, location: Location) -> String {
    let span = location.span();
    let range = || {
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
        source.get(start..end)
    };
    range().unwrap_or_default().trim_matches(['"', '\'']).to_owned()
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Parsed, E> {
        Ok(Parsed::Inferred)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Parsed, E> {
        Ok(Parsed::Inferred)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Parsed, E> {
        Ok(Parsed::Inferred)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Parsed, E> {
        Ok(Parsed::Inferred)
    }

    fn visit_str<E>(self, text: &str) -> Result<Parsed, E> {
        Ok(Parsed::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Parsed, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Parsed::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Parsed, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = mapping.next_entry()? {
            entries.push(entry);
        }
        Ok(Parsed::Mapping(entries))
    }
}
