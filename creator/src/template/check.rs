//! Checks every name in a template before anything is rendered.
//!
//! Handlebars' strict mode finds a missing name only where it is printed; a misspelt one in `{{#if …}}` is false to
//! it, and an object prints as `[object]`.

use std::collections::HashMap;

use handlebars::{
    Path, PathSeg,
    template::{BlockParam, HelperTemplate, Parameter, Template, TemplateElement},
};

use super::{
    problem::{NameProblem, most_similar},
    scan::Located,
    shape::Shape,
};
use crate::place::Location;

/// The helpers that print a value: our own `add`, and those of handlebars.
const HELPERS: [&str; 12] = ["add", "lookup", "len", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or", "not"];

/// What a template was found to name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Each top-level name that is used, with the place of each use.
    pub used: Vec<(String, Location)>,
    /// The mustaches that print a top-level name and nothing else, by their index.
    pub printed: HashMap<usize, String>,
}

/// Where the mustaches of a parsed template are.
pub(super) trait Places {
    /// The index of the mustache at handlebars' line and column.
    fn index(&self, line: usize, column: usize) -> Option<usize>;
    /// The place of the mustache in the template as written.
    fn location(&self, index: usize) -> Location;
}

/// Checks every name of the template.
///
/// # Errors
/// The first name that stands for nothing, or not for what its place wants.
pub(super) fn check(template: &Template, places: &dyn Places, root: &Shape) -> Result<Names, Located<NameProblem>> {
    let mut checker = Checker { places, root, scopes: Vec::new(), at: 0, names: Names::default() };
    checker.template(template).map_err(|problem| (places.location(checker.at), problem))?;
    Ok(checker.names)
}

struct Checker<'a> {
    places: &'a dyn Places,
    root: &'a Shape,
    /// The `{{#each}}` and `{{#with}}` around the current place, outermost first.
    scopes: Vec<Scope<'a>>,
    /// Index of the current mustache.
    at: usize,
    names: Names,
}

struct Scope<'a> {
    this: &'a Shape,
    /// The names between the bars of `as |value key|`.
    parameters: Vec<(String, &'a Shape)>,
}

impl<'a> Checker<'a> {
    fn template(&mut self, template: &Template) -> Result<(), NameProblem> {
        for (index, element) in template.elements.iter().enumerate() {
            // The block of an `else if` has no place of its own.
            let place = template.mapping.get(index).and_then(|place| self.places.index(place.0, place.1));
            self.at = place.unwrap_or(self.at);
            match element {
                TemplateElement::Expression(helper) => self.expression(helper)?,
                TemplateElement::HelperBlock(helper) => self.block(helper)?,
                // Scanning let nothing else pass.
                _ => {}
            }
        }
        Ok(())
    }

    fn expression(&mut self, expression: &HelperTemplate) -> Result<(), NameProblem> {
        let is_name = expression.params.is_empty() && expression.hash.is_empty();
        match &expression.name {
            Parameter::Path(path) if is_name && !HELPERS.contains(&written(path)) => {
                let shape = self.resolve(path)?;
                if !shape.is_printable() {
                    return Err(NameProblem::Set(written(path).to_owned()));
                }
                if let Some(name) = self.top_level_name(path) {
                    self.names.printed.insert(self.at, name);
                }
                Ok(())
            }
            Parameter::Subexpression(_) => Err(NameProblem::Parentheses),
            name => self.helper(name.as_name().unwrap_or_default(), expression),
        }
    }

    fn helper(&mut self, name: &str, call: &HelperTemplate) -> Result<(), NameProblem> {
        if !HELPERS.contains(&name) {
            return Err(match self.root {
                Shape::Object { fields, .. } if fields.contains_key(name) => {
                    NameProblem::TakesNoArguments(name.to_owned())
                }
                _ => NameProblem::Helper {
                    name: name.to_owned(),
                    similar: most_similar(name, HELPERS),
                    helpers: &HELPERS,
                },
            });
        }
        let count = if matches!(name, "len" | "not") { 1 } else { 2 };
        if call.params.len() < count {
            return Err(NameProblem::NeedsArguments { name: name.to_owned(), count });
        }
        self.arguments(call)
    }

    fn arguments(&mut self, call: &HelperTemplate) -> Result<(), NameProblem> {
        for argument in call.params.iter().chain(call.hash.values()) {
            match argument {
                Parameter::Path(path) => {
                    self.resolve(path)?;
                }
                Parameter::Subexpression(inner) => {
                    if let TemplateElement::Expression(call) = inner.as_element() {
                        self.helper(inner.name(), call)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &HelperTemplate) -> Result<(), NameProblem> {
        let name = block.name.as_name().unwrap_or_default().to_owned();
        if !matches!(name.as_str(), "if" | "unless" | "each" | "with") {
            return Err(NameProblem::Block(name));
        }
        let Some(subject) = block.params.first() else {
            return Err(NameProblem::NeedsArguments { name: format!("{{{{#{name}}}}}"), count: 1 });
        };
        self.arguments(block)?;
        let subject = match subject {
            Parameter::Path(path) => {
                let shape = self.resolve(path)?;
                if name == "each" && matches!(shape, Shape::Text | Shape::Number) {
                    return Err(NameProblem::NotASet(written(path).to_owned()));
                }
                shape
            }
            _ => &Shape::Any,
        };
        let scope = match name.as_str() {
            "each" => Some(subject.item()),
            "with" => Some(subject),
            _ if *subject == Shape::Number && !block.hash.contains_key("includeZero") => {
                return Err(NameProblem::OrdinalZero(name));
            }
            _ => None,
        };
        if let Some(this) = scope {
            self.scopes.push(Scope { this, parameters: block_parameters(block, this) });
        }
        if let Some(template) = &block.template {
            self.template(template)?;
        }
        if scope.is_some() {
            self.scopes.pop();
        }
        block.inverse.as_ref().map_or(Ok(()), |inverse| self.template(inverse))
    }

    /// What the path stands for here.
    fn resolve(&mut self, path: &Path) -> Result<&'a Shape, NameProblem> {
        let (segments, written) = match path {
            Path::Relative(relative) => (&relative.0, &relative.1),
            Path::Local((_, name, written)) if name == "root" => return Err(NameProblem::Everything(written.clone())),
            // @key, @index, @first and @last; strict mode refuses others.
            Path::Local(_) => return Ok(&Shape::Any),
        };
        let names = names(segments);
        let is_from_root = written.starts_with("@root");
        let ups = segments.len() - names.len() - usize::from(is_from_root);
        let parameters = self.scopes.iter().rev().flat_map(|scope| &scope.parameters);
        let parameter = parameters.into_iter().find(|(name, _)| ups == 0 && names.first() == Some(&name.as_str()));
        if let Some((_, shape)) = parameter {
            return shape.descend(&names[1..]);
        }
        let depth = self.scopes.len().checked_sub(ups).ok_or_else(|| NameProblem::TooFarUp(written.clone()))?;
        let scope = if is_from_root { None } else { depth.checked_sub(1) };
        match scope {
            Some(index) => self.scopes[index].this.descend(&names),
            None => {
                let Some(first) = names.first() else {
                    return Err(NameProblem::Everything(written.clone()));
                };
                let shape = self.root.descend(&names)?;
                self.names.used.push(((*first).to_owned(), self.places.location(self.at)));
                Ok(shape)
            }
        }
    }

    /// The name, where the path is a single one of the top level.
    fn top_level_name(&self, path: &Path) -> Option<String> {
        match path {
            Path::Relative((segments, written)) if self.scopes.is_empty() || written.starts_with("@root") => {
                match names(segments)[..] {
                    [name] => Some(name.to_owned()),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The names of a path without its `@root` and `..`.
fn names(segments: &[PathSeg]) -> Vec<&str> {
    segments
        .iter()
        .filter_map(|segment| match segment {
            PathSeg::Named(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

/// A path as it is in the template.
fn written(path: &Path) -> &str {
    match path {
        Path::Relative((_, written)) | Path::Local((_, _, written)) => written,
    }
}

fn block_parameters<'a>(block: &HelperTemplate, this: &'a Shape) -> Vec<(String, &'a Shape)> {
    let name = |parameter: &Parameter| parameter.as_name().unwrap_or_default().to_owned();
    match &block.block_param {
        None => Vec::new(),
        Some(BlockParam::Single(value)) => vec![(name(value), this)],
        Some(BlockParam::Pair((value, key))) => vec![(name(value), this), (name(key), &Shape::Text)],
        Some(_) => Vec::new(),
    }
}
