//! Templates: a Service from the pod's own data, or a text from any.
//!
//! Whatever a value holds, it stays one text in the YAML: it can change neither the structure nor a type.
//!
//! The language is handlebars' with the helper `add`. A name may carry Go's leading dot (`{{.PodName}}`,
//! `{{ .labels.app }}`) and a mustache Go's `{{- -}}`. A label of which the name has dots or slashes is
//! `{{labels.[app.kubernetes.io/name]}}` or `{{lookup labels "app.kubernetes.io/name"}}`. Of [`Field`], all but the
//! labels and annotations are printed; those two are named into or gone through.

mod check;
mod engine;
mod expression;
mod helpers;
mod problem;
mod scan;
mod shape;
mod token;

use std::borrow::Cow;

use serde_json::Value as Json;

pub use self::problem::{NameProblem, Problem, RenderProblem, SyntaxProblem, TemplateError};
pub(crate) use self::shape::Shape;
use self::{engine::Engine, token::Token};
use crate::{
    place::{Lines, Source},
    values::{Field, Needs, UnknownValue, Values},
    yaml::{self, Document, Node, Origin},
};

/// A template of the pod's own data: the Service's, or a text to advertise.
#[derive(Debug)]
pub struct Template {
    source: Source,
    text: String,
    engine: Engine,
    names: check::Names,
}

impl Template {
    /// Reads a template and checks that it names only what there is.
    ///
    /// # Errors
    /// The first mustache that cannot be read or that names what there is not, with its place.
    pub fn parse(source: &Source, text: &str) -> Result<Self, TemplateError> {
        let text = without_mark(text).to_owned();
        let engine = Engine::parse(&text).map_err(|(at, problem)| TemplateError::new(source, at, problem))?;
        let names = engine.check(&Values::shape()).map_err(|(at, problem)| TemplateError::new(source, at, problem))?;
        Ok(Self { source: source.clone(), text, engine, names })
    }

    /// The fields that the template names, also in blocks that are not rendered.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.names.used.iter().filter_map(|(name, _)| Field::of_name(name)).collect()
    }

    /// Renders the template and reads the result as one YAML mapping.
    ///
    /// # Errors
    /// A value that the template names is not known or cannot be computed with, or the result is no YAML, has a key
    /// twice, or is not one mapping: with the place in the template as written.
    pub fn render(&self, values: &Values) -> Result<Node, TemplateError> {
        let document = self.document(&self.tokens(values)?);
        yaml::parse(&document).map_err(|(at, problem)| TemplateError::new(&self.source, at, problem))
    }

    /// Renders the template as plain text.
    ///
    /// # Errors
    /// A value that the template names is not known or cannot be computed with.
    pub fn render_text(&self, values: &Values) -> Result<String, TemplateError> {
        Ok(plain(&self.text, self.tokens(values)?))
    }

    fn tokens(&self, values: &Values) -> Result<Vec<Token>, TemplateError> {
        for (name, location) in &self.names.used {
            let known = Field::of_name(name).map_or(Ok(()), |field| values.require(field));
            known.map_err(|unknown| TemplateError::new(&self.source, *location, unknown))?;
        }
        self.engine.render(values.to_json()).map_err(|(location, problem)| match (problem, &values.pod_name) {
            (RenderProblem::Missing { name, .. }, Some(pod)) if is_ordinal(&name) => {
                TemplateError::new(&self.source, location, UnknownValue::Ordinal(pod.clone()))
            }
            (problem, _) => TemplateError::new(&self.source, location, problem),
        })
    }

    /// Joins the tokens to a document that knows the place and origin of each of its characters.
    fn document(&self, tokens: &[Token]) -> Document {
        let lines = Lines::new(&self.text);
        let mut document = Document::default();
        let mut mustache = 0;
        let mut written_to = 0;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Text(start, length) => {
                    written_to = start + length;
                    document.push_written(&self.text[*start..written_to], lines.location(*start));
                }
                Token::Blank(blank) => {
                    if let Some(start) = self.find_blank(blank, written_to, &tokens[index + 1..]) {
                        written_to = start;
                    }
                    for character in blank.chars() {
                        document.push_written(character.encode_utf8(&mut [0; 4]), lines.location(written_to));
                        // Not beyond the template, where handlebars dropped some of the white space.
                        written_to = (written_to + character.len_utf8()).min(self.text.len());
                    }
                }
                Token::Mustache(index) => {
                    mustache = *index;
                    written_to = self.engine.end(mustache);
                }
                Token::Value(text) => {
                    let is_identity = matches!(
                        self.names.printed.get(&mustache).and_then(|name| Field::of_name(name)),
                        Some(Field::PodName | Field::PodUID)
                    );
                    let origin = if is_identity { Origin::Identity } else { Origin::Value };
                    document.push_value(text, origin, self.engine.location(mustache));
                }
                Token::Sum(sum) => {
                    document.push_value(&sum.to_string(), Origin::Sum, self.engine.location(mustache));
                }
            }
        }
        document
    }

    /// The byte where white space of the template begins, of which handlebars may have dropped the start or the end:
    /// behind the text before it or in front of the text behind it.
    fn find_blank(&self, blank: &str, written_to: usize, behind: &[Token]) -> Option<usize> {
        let next = behind.iter().find_map(|token| match token {
            Token::Text(start, _) => Some(*start),
            _ => None,
        });
        let before_next = next.and_then(|next| next.checked_sub(blank.len()));
        let is_here = |start: &usize| self.text.get(*start..).is_some_and(|text| text.starts_with(blank));
        Some(written_to).filter(is_here).or_else(|| before_next.filter(is_here))
    }
}

/// A template of a plain text from any context: the user's own output format.
#[derive(Debug)]
pub struct TextTemplate {
    source: Source,
    text: String,
    engine: Engine,
}

impl TextTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// The first mustache that cannot be read, with its place.
    pub fn parse(source: &Source, text: &str) -> Result<Self, TemplateError> {
        let text = without_mark(text).to_owned();
        let engine = Engine::parse(&text).map_err(|(at, problem)| TemplateError::new(source, at, problem))?;
        Ok(Self { source: source.clone(), text, engine })
    }

    /// Renders the template from a JSON object.
    ///
    /// # Errors
    /// The first name that is not in the context, or that stands for an object or a list where it is printed.
    pub fn render(&self, context: &Json) -> Result<String, TemplateError> {
        let shape = Shape::of_context(context);
        self.engine.check(&shape).map_err(|(at, problem)| TemplateError::new(&self.source, at, problem))?;
        let tokens = self.engine.render(context.clone());
        Ok(plain(&self.text, tokens.map_err(|(at, problem)| TemplateError::new(&self.source, at, problem))?))
    }
}

/// The template without the byte order mark that Windows' editors put before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// Whether a path is the ordinal's, from wherever it is named.
fn is_ordinal(path: &str) -> bool {
    path.trim_start_matches("../").trim_start_matches("@root.") == Field::Ordinal.name()
}

/// Joins the tokens to a text.
fn plain(template: &str, tokens: Vec<Token>) -> String {
    let piece = |token| match token {
        Token::Blank(text) | Token::Value(text) => Cow::Owned(text),
        Token::Text(start, length) => Cow::Borrowed(&template[start..start + length]),
        Token::Sum(sum) => Cow::Owned(sum.to_string()),
        Token::Mustache(_) => Cow::Borrowed(""),
    };
    tokens.into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests;
