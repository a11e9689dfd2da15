//! What can be wrong with a template, and what to write instead.

use crate::{
    place::{Location, Place, Source},
    values::UnknownValue,
    yaml::YamlProblem,
};

/// A template cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct TemplateError {
    /// Where in which template.
    pub place: Box<Place>,
    /// What is wrong there.
    pub problem: Problem,
}

impl TemplateError {
    pub(super) fn new(template: &Source, location: Location, problem: impl Into<Problem>) -> Self {
        let place = Box::new(Place { template: template.clone(), location });
        Self { place, problem: problem.into() }
    }
}

/// What is wrong with a template.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A mustache is not written as it must be.
    #[error(transparent)]
    Syntax(#[from] SyntaxProblem),
    /// A mustache names what there is not.
    #[error(transparent)]
    Name(#[from] NameProblem),
    /// A value that the template names is not known.
    #[error(transparent)]
    Unknown(#[from] UnknownValue),
    /// A mustache cannot be computed from the values there are.
    #[error(transparent)]
    Render(#[from] RenderProblem),
    /// What was rendered is not the YAML that is wanted.
    #[error(transparent)]
    Yaml(#[from] YamlProblem),
}

/// A mustache is not written as it must be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// No closing braces.
    #[error("{{{{ is not closed: write }}}} behind the name, or \\{{{{ where the braces are text")]
    Unclosed,
    /// A quote without its partner.
    #[error("the quote {0} inside {{{{ is not closed")]
    UnclosedQuote(char),
    /// Nothing between the braces.
    #[error("{{{{}}}} names nothing: write the name of a value, as in {{{{PodName}}}}")]
    Empty,
    /// Handlebars cannot read it.
    #[error("{0} cannot be read: write {{{{NAME}}}}, {{{{HELPER ARGUMENT …}}}} or {{{{#if NAME}}}} … {{{{/if}}}}")]
    Unreadable(String),
    /// A single brace between the braces.
    #[error("a brace inside {{{{ }}}} outside quotes: write {{{{NAME}}}}")]
    Brace,
    /// `{{{x}}}` or `{{&x}}`.
    #[error("values are never printed raw: write {{{{NAME}}}}, which keeps any value one text in the YAML")]
    Unprotected,
    /// `{{{{raw}}}}`.
    #[error("raw blocks are not supported: write \\{{{{ where braces are text")]
    RawBlock,
    /// `{{> x}}`.
    #[error("a template cannot include another: write the text itself here")]
    Partial,
    /// `{{* x}}`.
    #[error("decorators are not supported: write the text itself here")]
    Decorator,
    /// `{{^x}}`.
    #[error("{{{{^NAME}}}} is not supported: write {{{{#unless NAME}}}} … {{{{/unless}}}}")]
    Inverse,
    /// `{{/* x */}}`.
    #[error("this is Go's comment: write {{{{! … }}}}")]
    GoComment,
    /// `{{.PodName | lower}}`.
    #[error("Go's pipelines are not supported: write {{{{NAME}}}} alone; any value stays one text without quoting")]
    GoPipeline,
    /// `{{$x := 1}}` or `{{$.PodName}}`.
    #[error("Go's variables are not supported: write {{{{NAME}}}}, with ../ before the name inside a block")]
    GoVariable,
    /// A word of Go's, or one of handlebars' that does nothing here.
    #[error("{{{{{word}}}}} is not supported: {instead}")]
    ForeignWord {
        /// The word.
        word: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// Too many mustaches.
    #[error("more than {0} mustaches are in the template: it is no Service's")]
    TooMany(usize),
    /// Too many blocks within each other.
    #[error("more than {0} blocks are open: close some, or take the condition out of the template")]
    TooDeep(usize),
    /// `{{else}}` in no block.
    #[error("{{{{else}}}} is in no block: write {{{{#if NAME}}}} before it")]
    ElseOutside,
    /// A block is closed that is not open.
    #[error("{{{{/{0}}}}} closes nothing: no block is open")]
    NothingToClose(String),
    /// Another block is open.
    #[error("{{{{/{closing}}}}} closes {{{{#{open}}}}} of line {line}: write {{{{/{open}}}}}")]
    OtherBlockOpen {
        /// The name of the open block.
        open: String,
        /// Where it was opened.
        line: usize,
        /// The name it is closed with.
        closing: String,
    },
    /// A block is never closed.
    #[error("{{{{#{0}}}}} is not closed: write {{{{/{0}}}}} where it ends")]
    BlockOpen(String),
}

/// A mustache names what there is not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// No such value.
    #[error("there is no value {name}{}; there are {}", did_you_mean(similar.as_deref()), names.join(", "))]
    Value {
        /// The name as written.
        name: String,
        /// The name that was probably meant.
        similar: Option<String>,
        /// All names.
        names: Vec<String>,
    },
    /// Something inside a text.
    #[error("{outer} is text and holds nothing called {inner}; a key with dots or slashes is written labels.[a.b/c]")]
    Inside {
        /// The path of the text.
        outer: String,
        /// What is looked for in it.
        inner: String,
    },
    /// `this` at the top.
    #[error("{0} stands for all values at once: name one of them")]
    Everything(String),
    /// A set or list where one text is wanted.
    #[error("{0} is not one value: name one of it, as in {{{{labels.app}}}}, or go through it with {{{{#each {0}}}}}")]
    Set(String),
    /// More `../` than blocks.
    #[error("{0} leads out of the template: fewer ../")]
    TooFarUp(String),
    /// No such helper.
    #[error("there is no helper {name}{}; there are {}", did_you_mean(similar.as_deref()), helpers.join(", "))]
    Helper {
        /// The name as written.
        name: String,
        /// The name that was probably meant.
        similar: Option<String>,
        /// All helpers.
        helpers: &'static [&'static str],
    },
    /// A value with arguments.
    #[error("{0} is a value and takes no arguments: write {{{{{0}}}}}")]
    TakesNoArguments(String),
    /// A helper or block without all its arguments.
    #[error("{name} takes {} at least", if *count == 1 { "an argument".to_owned() } else { format!("{count} arguments") })]
    NeedsArguments {
        /// The helper or block.
        name: String,
        /// How many arguments it takes at least.
        count: usize,
    },
    /// `{{#each PodName}}`.
    #[error("{0} is one value: {{{{#each}}}} goes through labels or annotations")]
    NotASet(String),
    /// No such block.
    #[error(
        "there is no block {{{{#{0}}}}}: there are {{{{#if NAME}}}}, {{{{#unless NAME}}}}, {{{{#each NAME}}}}, {{{{#with NAME}}}}"
    )]
    Block(String),
    /// A helper's result is the mustache's name.
    #[error("parentheses are for a helper inside another: write {{{{lookup labels \"KEY\"}}}} without them")]
    Parentheses,
    /// `{{#if Ordinal}}`.
    #[error("Ordinal 0 would count as false: write {{{{#{0} Ordinal includeZero=true}}}}")]
    OrdinalZero(String),
}

/// A mustache cannot be computed from the values there are.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderProblem {
    /// A label, an annotation or a key of the context is not there.
    #[error("{name} is not there{}{}", if there.is_empty() { "" } else { "; there are " }, there.join(", "))]
    Missing {
        /// What is looked for.
        name: String,
        /// What there is beside it.
        there: Vec<String>,
    },
    /// An argument of `add` is no integer.
    #[error("add takes integers, and {0} is none")]
    NotAnInteger(String),
    /// The sum has more than 64 bits.
    #[error("the sum does not fit 64 bits")]
    Overflow,
    /// Whatever else handlebars says.
    #[error("{0}")]
    Other(String),
}

fn did_you_mean(similar: Option<&str>) -> String {
    similar.map(|similar| format!(" (did you mean {similar}?)")).unwrap_or_default()
}

/// Names less alike than this have little in common: the share of characters that need no edit.
const ALIKE: f64 = 0.6;

/// The candidate that reads most like the name, if any reads alike.
pub(super) fn most_similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let folded = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&folded, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate.to_owned())
}
