//! The tree of a YAML document.

use serde_json::{Map, Number, Value as Json};

use super::text::Text;
use crate::place::Location;

/// A value and its place in the template.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub location: Location,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// Any other number; it is finite.
    Float(f64),
    /// A text.
    Text(Text),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the template. No two keys are equal.
    Map(Vec<Entry>),
}

/// A key of a mapping and what is under it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Text,
    /// Where the key begins.
    pub key_location: Location,
    /// What is under it.
    pub node: Node,
}

impl Value {
    /// What it is, as messages say it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(_) => "true or false",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// The entry of this key, where the node is a mapping that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key.as_str() == key),
            _ => None,
        }
    }

    /// Whether it is a list or a mapping.
    #[must_use]
    pub fn is_collection(&self) -> bool {
        matches!(self.value, Value::List(_) | Value::Map(_))
    }

    /// The tree as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(number) => Json::from(*number),
            Value::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
            Value::Text(text) => Json::from(text.as_str()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => {
                let entry = |entry: &Entry| (entry.key.as_str().to_owned(), entry.node.to_json());
                Json::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// The place of a field that the API names, as in `spec.ports[0].nodePort` or `metadata.labels[a.b/c]`: of a
    /// list or mapping its key's place, else the value's. Where the field itself is absent, the nearest one around it.
    /// None where nothing of the path is there.
    #[must_use]
    pub fn locate(&self, path: &str) -> Option<Location> {
        let mut found = None;
        let mut node = self;
        for step in steps(path) {
            let next = match &node.value {
                Value::Map(_) => node.entry(step).map(|entry| (&entry.node, entry.key_location)),
                Value::List(items) => {
                    step.parse::<usize>().ok().and_then(|i| items.get(i)).map(|item| (item, item.location))
                }
                _ => None,
            };
            let Some((inner, key_location)) = next else {
                break;
            };
            found = Some(if inner.is_collection() { key_location } else { inner.location });
            node = inner;
        }
        found
    }
}

/// The steps of a field path of the API: names after dots, indices and keys in brackets.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some((inside, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            steps.push(inside);
            rest = behind;
        } else {
            let start = rest.strip_prefix('.').unwrap_or(rest);
            let end = start.find(['.', '[']).filter(|end| *end > 0).unwrap_or(start.len());
            steps.push(&start[..end]);
            rest = &start[end..];
        }
    }
    steps
}
