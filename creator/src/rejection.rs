//! Tells a refusal of the API about the Service in terms of the template: which key, on which line.

use common::api::{
    classify::{Meaning, Refusal},
    client::CallError,
};

use crate::{place::Source, yaml::Node};

/// The API does not accept the Service that the template makes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{template}: Kubernetes refuses the Service: {}", .problems.join("; "))]
pub struct Rejection {
    /// Where the template is.
    pub template: Source,
    /// What is wrong, each with its place where the template has one.
    pub problems: Vec<String>,
}

impl Rejection {
    /// Reads the refusal, if it is about the object itself.
    #[must_use]
    pub fn of(error: &CallError, template: &Source, tree: &Node) -> Option<Self> {
        let CallError::Refused { refusal, .. } = error else { return None };
        (refusal.meaning() == Meaning::Invalid)
            .then(|| Self { template: template.clone(), problems: problems(refusal, tree) })
    }
}

fn problems(refusal: &Refusal, tree: &Node) -> Vec<String> {
    let fields = refusal.causes.iter().map(|cause| (cause.field.as_str(), cause.message.as_str()));
    let mut problems: Vec<String> = fields.map(|(field, message)| problem(field, message, tree)).collect();
    if problems.is_empty() {
        problems = strict(&refusal.message).map(|(field, message)| problem(field, message, tree)).collect();
    }
    if problems.is_empty() {
        problems.push(refusal.message.clone());
    }
    problems
}

/// Strict decoding names its fields in the text only: `strict decoding error: unknown field "spec.x", unknown field …`.
fn strict(message: &str) -> impl Iterator<Item = (&str, &'static str)> {
    let (_, listed) = message.split_once("strict decoding error: ").unwrap_or_default();
    listed.split(", ").filter_map(|one| {
        let (what, field) = one.split_once(" field \"")?;
        let what = match what {
            "unknown" => "Kubernetes does not know this field",
            "duplicate" => "this field is there twice",
            _ => return None,
        };
        Some((field.strip_suffix('"')?, what))
    })
}

fn problem(field: &str, message: &str, tree: &Node) -> String {
    match tree.locate(field) {
        Some(location) => format!("{location}: {field}: {message}"),
        None if field.is_empty() => message.to_owned(),
        None => format!("{field}: {message}"),
    }
}
