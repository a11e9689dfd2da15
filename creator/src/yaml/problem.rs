//! What can be wrong with the YAML.

use crate::place::Location;

/// The rendered template is not the YAML that is wanted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlProblem {
    /// The parser cannot read it.
    #[error("not YAML: {0}")]
    Syntax(String),
    /// A tab where YAML wants spaces.
    #[error("a tab cannot indent YAML: write spaces")]
    Tab,
    /// Nothing, or only comments.
    #[error("the template is empty: write one Service")]
    Empty,
    /// A list or a single value.
    #[error("the template is {0}: write one Service, which begins with apiVersion: v1")]
    NoMapping(&'static str),
    /// Another document follows.
    #[error("a second document begins here: a template is one Service")]
    SecondDocument,
    /// A key twice in one mapping.
    #[error("the key {key} is already at {first}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it is first.
        first: Location,
    },
    /// A list or mapping as a key.
    #[error("a key must be text")]
    KeyNotText,
    /// `<<` of something else.
    #[error("<< merges a mapping, or a list of them, by alias")]
    Merge,
    /// An alias inside of what it stands for.
    #[error("the alias stands for something that holds the alias itself")]
    Cycle,
    /// Aliases of aliases.
    #[error("the aliases expand to more than {0} values")]
    TooLarge(usize),
    /// A tag.
    #[error("the tag {0} means nothing to Kubernetes: leave it out")]
    Tag(String),
    /// `0123`.
    #[error("{0} is octal to one YAML parser and decimal to another: write it without the leading zero, or quote it")]
    LeadingZero(String),
    /// An integer beyond 64 bits.
    #[error("{0} does not fit 64 bits: quote it where it is meant as text")]
    TooBig(String),
    /// `.inf` or `.nan`.
    #[error("{0} is no number in JSON, which Kubernetes speaks: quote it where it is meant as text")]
    NotFinite(String),
}
