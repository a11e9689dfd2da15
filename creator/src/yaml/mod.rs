//! YAML of which each text knows its place in the template and which of its pieces are rendered values.

mod document;
mod node;
mod parse;
mod problem;
mod scalar;
mod text;

pub(crate) use self::{document::Document, parse::parse};
pub use self::{
    node::{Entry, Node, Value},
    problem::YamlProblem,
    text::{Origin, Text},
};
