//! A label selector as Kubernetes reads it; it selects nothing itself.
//!
//! The grammar is that of `Parse` in k8s.io/apimachinery/pkg/labels. It is checked here because the API would refuse a
//! wrong one only after the start, and kube makes the text of a selector but does not read it.

use std::{fmt, str::FromStr};

use common::names::{is_dns_subdomain, is_label_value};

/// A label selector that Kubernetes accepts, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    text: String,
    excluding: Option<String>,
}

impl LabelSelector {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A requirement that exactly the objects meet that this selector does not select; only where the selector is a
    /// single `key=value`.
    #[must_use]
    pub fn excluding(&self) -> Option<String> {
        self.excluding.clone()
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text is no label selector, or one that selects everything.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    /// There is nothing, which Kubernetes takes to select everything.
    #[error("expected a label selector such as product=ipfv2, app in (a, b) or !canary")]
    Empty,
    /// Two commas with nothing between, or one at an end.
    #[error("a comma has no requirement on one side")]
    Missing,
    /// One requirement is wrong.
    #[error("in `{requirement}` {problem}")]
    Requirement {
        /// The requirement, as it was written.
        requirement: String,
        /// What is wrong in it.
        problem: Problem,
    },
}

/// What is wrong in one requirement.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Something else stands there than must.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What must stand there.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// No label has this key (`IsQualifiedName` in k8s.io/apimachinery/pkg/util/validation).
    #[error(
        "`{0}` is no label key: at most 63 letters, digits, -, _ and ., a letter or digit first and last, and before \
         it perhaps a DNS name and a slash"
    )]
    Key(String),
    /// No label has this value.
    #[error("`{0}` is no label value: at most 63 letters, digits, -, _ and ., a letter or digit first and last")]
    Value(String),
    /// Kubernetes compares whole numbers of 64 bits.
    #[error("`{0}` is no whole number")]
    Number(String),
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim_matches(is_space).is_empty() {
            return Err(InvalidSelector::Empty);
        }
        let mut excluding = Vec::new();
        for requirement in requirements(text) {
            if requirement.is_empty() {
                return Err(InvalidSelector::Missing);
            }
            let in_requirement =
                |problem| InvalidSelector::Requirement { requirement: requirement.to_owned(), problem };
            excluding.push(excluding_of(requirement).map_err(in_requirement)?);
        }
        let excluding = if excluding.len() == 1 { excluding.remove(0) } else { None };
        Ok(Self { text: text.to_owned(), excluding })
    }
}

/// What stands between the commas outside of parentheses.
fn requirements(text: &str) -> impl Iterator<Item = &str> {
    let mut in_parentheses = false;
    let pieces = text.split(move |character| {
        match character {
            '(' => in_parentheses = true,
            ')' => in_parentheses = false,
            _ => {}
        }
        character == ',' && !in_parentheses
    });
    pieces.map(|piece| piece.trim_matches(is_space))
}

/// Reads one requirement; answers with its opposite where it is `key=value`.
fn excluding_of(requirement: &str) -> Result<Option<String>, Problem> {
    let mut tokens = Tokens(requirement);
    let is_negated = tokens.take("!");
    let key = tokens.word("a label key")?;
    if !is_label_key(key) {
        return Err(Problem::Key(key.to_owned()));
    }
    if is_negated {
        return tokens.end("nothing after the key").map(|()| None);
    }
    let excluding = match tokens.next() {
        "" => None,
        "=" | "==" => {
            let value = last_value(&mut tokens)?;
            Some(format!("{key}!={value}"))
        }
        "!=" => last_value(&mut tokens).map(|_| None)?,
        "in" | "notin" => values(&mut tokens).map(|()| None)?,
        ">" | "<" => {
            let value = last_value(&mut tokens)?;
            value.parse::<i64>().map_err(|_| Problem::Number(value.to_owned()))?;
            None
        }
        found => return Err(expected("=, ==, !=, in, notin, > or <", found)),
    };
    tokens.end("nothing more, or a comma").map(|()| excluding)
}

/// The one value behind an operator; none is the empty value.
fn last_value<'t>(tokens: &mut Tokens<'t>) -> Result<&'t str, Problem> {
    if tokens.is_at_end() {
        return Ok("");
    }
    tokens.word("a label value").and_then(label_value)
}

/// Values in parentheses; between two commas there is the empty value.
fn values(tokens: &mut Tokens<'_>) -> Result<(), Problem> {
    if !tokens.take("(") {
        return Err(expected("(", tokens.next()));
    }
    let mut is_after_value = false;
    loop {
        match tokens.next() {
            ")" => return Ok(()),
            "," => is_after_value = false,
            found if is_after_value || is_end_or_symbol(found) => return Err(expected(", or )", found)),
            value => {
                label_value(value)?;
                is_after_value = true;
            }
        }
    }
}

fn label_value(text: &str) -> Result<&str, Problem> {
    if is_label_value(text) { Ok(text) } else { Err(Problem::Value(text.to_owned())) }
}

fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}

fn expected(expected: &'static str, found: &str) -> Problem {
    let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
    Problem::Expected { expected, found }
}

/// Words and symbols, one after the other; an empty one is the end.
struct Tokens<'t>(&'t str);

impl<'t> Tokens<'t> {
    fn next(&mut self) -> &'t str {
        self.0 = self.0.trim_start_matches(is_space);
        let length = match self.0.chars().next() {
            Some(symbol) if is_symbol(symbol) => {
                if self.0.starts_with("==") || self.0.starts_with("!=") {
                    2
                } else {
                    1
                }
            }
            _ => self.0.find(|character| is_symbol(character) || is_space(character)).unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        token
    }

    /// Whether this token comes next; if so, it is passed.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.0;
        let is_next = self.next() == token;
        if !is_next {
            self.0 = rest;
        }
        is_next
    }

    fn word(&mut self, wanted: &'static str) -> Result<&'t str, Problem> {
        match self.next() {
            found if is_end_or_symbol(found) => Err(expected(wanted, found)),
            word => Ok(word),
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.take("")
    }

    fn end(&mut self, wanted: &'static str) -> Result<(), Problem> {
        match self.next() {
            "" => Ok(()),
            found => Err(expected(wanted, found)),
        }
    }
}

fn is_end_or_symbol(token: &str) -> bool {
    token.chars().next().is_none_or(is_symbol)
}

fn is_symbol(character: char) -> bool {
    "=!<>(),".contains(character)
}

fn is_space(character: char) -> bool {
    " \t\r\n".contains(character)
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
