//! Typed reading of a tree's fields: each knows its path, so that messages can name it.

use super::problem::{Flaw, ServiceProblem};
use crate::{
    place::Location,
    yaml::{Entry, Node, Text, Value},
};

/// A field of the rendered template.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub path: String,
    pub node: &'a Node,
    /// Where messages point: the key of a list or mapping, else the value.
    pub location: Location,
}

impl<'a> Field<'a> {
    /// The whole tree.
    pub(super) fn root(node: &'a Node) -> Self {
        Self { path: String::new(), node, location: node.location }
    }

    fn of_entry(&self, entry: &'a Entry) -> Self {
        let key = entry.key.as_str();
        let location = if entry.node.is_collection() { entry.key_location } else { entry.node.location };
        Self { path: self.inner_path(key), node: &entry.node, location }
    }

    fn inner_path(&self, key: &str) -> String {
        match (self.path.is_empty(), key.contains('.')) {
            (true, _) => key.to_owned(),
            (false, true) => format!("{}[{key}]", self.path),
            (false, false) => format!("{}.{key}", self.path),
        }
    }

    /// The field of this name inside; none where it is absent or null, which is the same to Kubernetes.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let is_there = |entry: &&Entry| entry.node.value != Value::Null;
        self.node.entry(key).filter(is_there).map(|entry| self.of_entry(entry))
    }

    /// The field of this name inside.
    ///
    /// # Errors
    /// It is absent; `example` says what to write.
    pub(super) fn require(&self, key: &str, example: &str) -> Result<Self, Flaw> {
        self.get(key).ok_or_else(|| Flaw {
            path: self.inner_path(key),
            ..self.flaw(ServiceProblem::Missing(example.to_owned()))
        })
    }

    /// A problem of this field.
    pub(super) fn flaw(&self, problem: ServiceProblem) -> Flaw {
        Flaw { location: self.location, path: self.path.clone(), problem }
    }

    /// This field is not what it must be.
    pub(super) fn not(&self, wanted: &'static str) -> Flaw {
        self.flaw(ServiceProblem::Type { wanted, found: self.node.value.kind() })
    }

    pub(super) fn text(&self) -> Result<&'a Text, Flaw> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            Value::List(_) | Value::Map(_) => Err(self.not("text")),
            _ => Err(self.not("text: put it in quotes")),
        }
    }

    pub(super) fn integer(&self) -> Result<i64, Flaw> {
        match &self.node.value {
            Value::Integer(number) => Ok(*number),
            Value::Text(text) if !text.is_literal() => Err(self.not("a number: write it as a sum, {{add 0 NAME}}")),
            Value::Text(_) => Err(self.not("a number, without quotes")),
            _ => Err(self.not("a whole number")),
        }
    }

    pub(super) fn mapping(&self) -> Result<(), Flaw> {
        match &self.node.value {
            Value::Map(_) => Ok(()),
            _ => Err(self.not("a mapping")),
        }
    }

    /// The fields of a mapping, with their keys.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, Flaw> {
        self.mapping()?;
        let Value::Map(entries) = &self.node.value else { return Ok(Vec::new()) };
        Ok(entries.iter().map(|entry| (entry.key.as_str(), self.of_entry(entry))).collect())
    }

    /// The fields of a list.
    pub(super) fn items(&self) -> Result<Vec<Self>, Flaw> {
        match &self.node.value {
            Value::List(items) => {
                let field = |(index, node): (_, &'a Node)| Self {
                    path: format!("{}[{index}]", self.path),
                    node,
                    location: node.location,
                };
                Ok(items.iter().enumerate().map(field).collect())
            }
            _ => Err(self.not("a list")),
        }
    }
}
