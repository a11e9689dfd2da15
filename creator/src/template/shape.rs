//! What a template's names stand for, as far as it is known before rendering.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::problem::{NameProblem, most_similar};

/// What one name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One text.
    Text,
    /// An integer of which 0 is as good as any other.
    Number,
    /// Texts or more objects under names.
    Object {
        /// The names that are known.
        fields: BTreeMap<String, Shape>,
        /// What any other name stands for; none where there are no others.
        others: Option<Box<Shape>>,
    },
    /// A list of these.
    List(Box<Shape>),
    /// Only rendering tells.
    Any,
}

impl Shape {
    /// The shape of a context of which all top-level names are there; others below may be absent.
    pub(crate) fn of_context(context: &Json) -> Self {
        match Self::of(context) {
            Self::Object { fields, .. } => Self::Object { fields, others: None },
            other => other,
        }
    }

    fn of(value: &Json) -> Self {
        match value {
            Json::Object(object) => Self::Object {
                fields: object.iter().map(|(name, value)| (name.clone(), Self::of(value))).collect(),
                others: Some(Box::new(Self::Any)),
            },
            Json::Array(items) => Self::List(Box::new(items.first().map_or(Self::Any, Self::of))),
            _ => Self::Text,
        }
    }

    /// Follows the names from here.
    ///
    /// # Errors
    /// A name that is not there.
    pub(super) fn descend(&self, names: &[&str]) -> Result<&Self, NameProblem> {
        let mut shape = self;
        for (depth, name) in names.iter().enumerate() {
            shape = match shape {
                Self::Object { fields, others } => match (fields.get(*name), others) {
                    (Some(field), _) => field,
                    (None, Some(others)) => others,
                    (None, None) => {
                        return Err(NameProblem::Value {
                            name: (*name).to_owned(),
                            similar: most_similar(name, fields.keys().map(String::as_str)),
                            names: fields.keys().cloned().collect(),
                        });
                    }
                },
                Self::List(item) => item,
                Self::Any => &Self::Any,
                Self::Text | Self::Number => {
                    let outer = if depth == 0 { "this".to_owned() } else { names[..depth].join(".") };
                    return Err(NameProblem::Inside { outer, inner: (*name).to_owned() });
                }
            };
        }
        Ok(shape)
    }

    /// What a loop over it goes through.
    pub(super) fn item(&self) -> &Self {
        match self {
            Self::Object { others: Some(others), fields } if fields.is_empty() => others,
            Self::Object { fields, .. } => fields.values().next().unwrap_or(&Self::Any),
            Self::List(item) => item,
            _ => &Self::Any,
        }
    }

    /// Whether it can be printed.
    pub(super) fn is_printable(&self) -> bool {
        !matches!(self, Self::Object { .. } | Self::List(_))
    }
}
