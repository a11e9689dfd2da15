//! Runs handlebars: from a template's text to tokens.

use std::collections::HashMap;

use handlebars::{
    Context, Handlebars, Path, PathSeg, RenderContext, RenderError, RenderErrorReason, Renderable,
    template::{Template, TemplateElement},
};
use serde_json::Value as Json;

use super::{
    check::{self, Names, Places},
    helpers::Add,
    problem::{NameProblem, RenderProblem, SyntaxProblem},
    scan::{Located, Mustache, scan},
    shape::Shape,
    token::{self, Token},
};
use crate::place::Location;

/// A template that handlebars has read.
#[derive(Debug)]
pub(super) struct Engine {
    template: Template,
    mustaches: Index,
}

/// The mustaches, and which of them handlebars means by a line and column.
#[derive(Debug)]
struct Index {
    mustaches: Vec<Mustache>,
    by_place: HashMap<(usize, usize), usize>,
}

impl Places for Index {
    fn index(&self, line: usize, column: usize) -> Option<usize> {
        self.by_place.get(&(line, column)).copied()
    }

    fn location(&self, index: usize) -> Location {
        self.mustaches.get(index).map_or(Location { line: 1, column: 1 }, |mustache| mustache.location)
    }
}

impl Engine {
    /// Reads the template's text, which begins with no byte order mark.
    ///
    /// # Errors
    /// The first mustache that cannot be read.
    pub(super) fn parse(text: &str) -> Result<Self, Located<SyntaxProblem>> {
        let scanned = scan(text)?;
        let by_place = scanned.mustaches.iter().enumerate().map(|(index, m)| (m.rewritten_at, index)).collect();
        let mustaches = Index { mustaches: scanned.mustaches, by_place };
        let mut template = Template::compile(&scanned.rewritten).map_err(|error| {
            // Handlebars points into or behind the mustache that it cannot read.
            let pointed_at = error.pos().unwrap_or((1, 1));
            let behind = mustaches.mustaches.partition_point(|m| m.rewritten_at <= pointed_at);
            let index = behind.saturating_sub(1);
            let written = mustaches.mustaches.get(index).map(|m| m.written.clone()).unwrap_or_default();
            (mustaches.location(index), SyntaxProblem::Unreadable(written))
        })?;
        mark(&mut template, &mustaches);
        Ok(Self { template, mustaches })
    }

    /// Checks every name of the template against what there is.
    ///
    /// # Errors
    /// The first name that stands for nothing, or not for what its place wants.
    pub(super) fn check(&self, shape: &Shape) -> Result<Names, Located<NameProblem>> {
        check::check(&self.template, &self.mustaches, shape)
    }

    /// The place of the mustache in the template as written.
    pub(super) fn location(&self, mustache: usize) -> Location {
        self.mustaches.location(mustache)
    }

    /// The byte of the template behind the mustache.
    pub(super) fn end(&self, mustache: usize) -> usize {
        self.mustaches.mustaches.get(mustache).map_or(0, |mustache| mustache.end)
    }

    /// Renders from the context.
    ///
    /// # Errors
    /// The first mustache that cannot be computed.
    pub(super) fn render(&self, context: Json) -> Result<Vec<Token>, Located<RenderProblem>> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(token::value);
        registry.register_helper("add", Box::new(Add));
        let context = Context::from(context);
        let output = self.template.renders(&registry, &context, &mut RenderContext::new(None));
        let output = output.map_err(|error| self.locate(error, context.data()))?;
        token::split(&output).ok_or_else(|| {
            let problem = RenderProblem::Other("handlebars printed what no value is".to_owned());
            (self.mustaches.location(0), problem)
        })
    }

    fn locate(&self, error: RenderError, context: &Json) -> Located<RenderProblem> {
        let place = error.line_no.zip(error.column_no).and_then(|(line, column)| self.mustaches.index(line, column));
        let index = place.unwrap_or_default();
        let problem = match RenderErrorReason::from(error) {
            RenderErrorReason::MissingVariable(Some(path)) => missing(&path, context),
            RenderErrorReason::MissingVariable(None) => {
                let written = self.mustaches.mustaches.get(index).map(|m| m.written.clone()).unwrap_or_default();
                RenderProblem::Missing { name: format!("what {written} looks for"), there: Vec::new() }
            }
            RenderErrorReason::NestedError(nested) => match nested.downcast::<RenderProblem>() {
                Ok(problem) => *problem,
                Err(other) => RenderProblem::Other(other.to_string()),
            },
            other => RenderProblem::Other(other.to_string()),
        };
        (self.mustaches.location(index), problem)
    }
}

/// Says of a missing path what there is in the object that lacks it.
fn missing(path: &str, context: &Json) -> RenderProblem {
    let mut lacking = context;
    if let Ok(Path::Relative((segments, _))) = Path::parse(path) {
        for segment in &segments {
            match segment {
                PathSeg::Named(name) if lacking.get(name).is_some() => lacking = &lacking[name],
                PathSeg::Named(_) => break,
                _ => {}
            }
        }
    }
    let there = lacking.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default();
    RenderProblem::Missing { name: path.to_owned(), there }
}

/// Puts a token before each mustache that prints, so that its value is known to come from there.
fn mark(template: &mut Template, places: &Index) {
    let elements = std::mem::take(&mut template.elements);
    let mut mapping = std::mem::take(&mut template.mapping).into_iter();
    for mut element in elements {
        let place = mapping.next();
        match &mut element {
            TemplateElement::Expression(_) => {
                if let Some(index) = place.as_ref().and_then(|place| places.index(place.0, place.1)) {
                    template.elements.push(TemplateElement::RawString(token::mustache(index)));
                    template.mapping.extend(place.clone());
                }
            }
            TemplateElement::HelperBlock(block) => {
                block.template.iter_mut().chain(&mut block.inverse).for_each(|inner| mark(inner, places));
            }
            _ => {}
        }
        template.elements.push(element);
        template.mapping.extend(place);
    }
}
