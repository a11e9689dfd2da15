//! The inside of a mustache, in Go's spelling or in handlebars'.
//!
//! The documented template says `{{.PodName}}`, as Go templates do. What both languages can say is taken in either
//! spelling; what only Go can say is refused with handlebars' way to say it.

use std::fmt;

use super::problem::SyntaxProblem;

/// What the mustache does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sigil {
    /// It prints a value, or is an `else`.
    None,
    /// It opens a block: `#`.
    Open,
    /// It closes a block: `/`.
    Close,
}

/// A mustache in handlebars' spelling.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub sigil: Sigil,
    /// What is behind the sigil.
    pub body: String,
    /// White space before the mustache is dropped: Go's `{{-`, handlebars' `{{~`.
    trims_before: bool,
    /// White space behind it is dropped.
    trims_behind: bool,
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sigil = match self.sigil {
            Sigil::None => "",
            Sigil::Open => "#",
            Sigil::Close => "/",
        };
        let tilde = |trims| if trims { "~" } else { "" };
        write!(f, "{{{{{}{sigil}{}{}}}}}", tilde(self.trims_before), self.body, tilde(self.trims_behind))
    }
}

/// The bytes before the braces that close the mustache. Braces inside quotes and brackets do not.
pub(super) fn length(rest: &str) -> Result<usize, SyntaxProblem> {
    if rest.trim_start_matches(['-', '~', ' ']).starts_with("/*") {
        return Err(SyntaxProblem::GoComment);
    }
    let mut at = 0;
    while let Some(character) = rest[at..].chars().next() {
        if rest[at..].starts_with("}}") {
            return Ok(at);
        }
        at += literal_length(&rest[at..])?.unwrap_or(character.len_utf8());
    }
    Err(SyntaxProblem::Unclosed)
}

/// The length of the quoted text or the bracketed name that the text begins with, if it begins with one.
fn literal_length(text: &str) -> Result<Option<usize>, SyntaxProblem> {
    let quote = match text.chars().next() {
        Some('[') => return Ok(text.find(']').map(|end| end + 1)),
        Some(quote @ ('"' | '\'')) => quote,
        _ => return Ok(None),
    };
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !escaped {
            return Ok(Some(at + 1));
        }
        escaped = character == '\\' && !escaped;
    }
    Err(SyntaxProblem::UnclosedQuote(quote))
}

/// Reads the text between the braces.
pub(super) fn parse(inner: &str) -> Result<Expression, SyntaxProblem> {
    let is_blank = |text: &str| text.is_empty() || text.starts_with(char::is_whitespace);
    let (trims_before, inner) = match (inner.strip_prefix('~'), inner.strip_prefix('-')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) if is_blank(rest) => (true, rest),
        _ => (false, inner),
    };
    let (trims_behind, inner) = match (inner.strip_suffix('~'), inner.strip_suffix('-')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) if rest.ends_with(char::is_whitespace) => (true, rest),
        _ => (false, inner),
    };
    let inner = inner.trim();
    let (sigil, body) = match (inner.chars().next(), inner.get(1..).unwrap_or_default()) {
        (None, _) => return Err(SyntaxProblem::Empty),
        (Some('{' | '&'), _) => return Err(SyntaxProblem::Unprotected),
        (Some('>'), _) => return Err(SyntaxProblem::Partial),
        (Some('#'), body) if body.starts_with('>') => return Err(SyntaxProblem::Partial),
        (Some('*'), _) => return Err(SyntaxProblem::Decorator),
        (Some('#'), body) if body.starts_with('*') => return Err(SyntaxProblem::Decorator),
        (Some('^'), "") => (Sigil::None, "else"),
        (Some('^'), _) => return Err(SyntaxProblem::Inverse),
        (Some('#'), body) => (Sigil::Open, body),
        (Some('/'), body) => (Sigil::Close, body),
        _ => (Sigil::None, inner),
    };
    let body = body.trim();
    if sigil == Sigil::None {
        refuse_foreign_word(body)?;
    }
    Ok(Expression { sigil, body: normalise(body)?, trims_before, trims_behind })
}

/// Refuses what Go says with a word, and handlebars' block helpers without `#`, which would print nothing.
fn refuse_foreign_word(body: &str) -> Result<(), SyntaxProblem> {
    let word = body.split_whitespace().next().unwrap_or_default();
    let instead = match word {
        "if" => "write {{#if NAME}} … {{/if}}",
        "unless" => "write {{#unless NAME}} … {{/unless}}",
        "with" => "write {{#with NAME}} … {{/with}}",
        "range" | "each" => "write {{#each labels}} … {{/each}}",
        "end" => "write {{/if}}, {{/each}} or {{/with}}, whichever ends here",
        "printf" | "print" | "println" => "write text and values side by side, as in app-{{PodName}}",
        "index" => "write {{lookup labels \"KEY\"}}",
        "define" | "template" | "block" | "include" => "write the text itself here",
        "log" => "leave it out",
        _ => return Ok(()),
    };
    Err(SyntaxProblem::ForeignWord { word: word.to_owned(), instead })
}

/// Takes Go's dots off the names and refuses Go's pipelines and variables.
fn normalise(body: &str) -> Result<String, SyntaxProblem> {
    let mut normal = String::with_capacity(body.len());
    let mut rest = body;
    let mut starts_word = true;
    let mut in_block_parameters = false;
    while let Some(character) = rest.chars().next() {
        let (piece, behind) = rest.split_at(literal_length(rest)?.unwrap_or(character.len_utf8()));
        match character {
            '|' if in_block_parameters => in_block_parameters = false,
            '|' if normal.trim_end().ends_with(" as") => in_block_parameters = true,
            '{' | '}' => return Err(SyntaxProblem::Brace),
            '|' => return Err(SyntaxProblem::GoPipeline),
            '$' if starts_word => return Err(SyntaxProblem::GoVariable),
            ':' if behind.starts_with('=') => return Err(SyntaxProblem::GoVariable),
            _ => {}
        }
        match character {
            '.' if starts_word => normal.push_str(leading_dot(normal.is_empty(), behind)),
            _ => normal.push_str(piece),
        }
        starts_word = character.is_whitespace() || matches!(character, '(' | '=');
        rest = behind;
    }
    Ok(normal)
}

/// What a dot at the start of a word is in handlebars: nothing where Go's field name follows, the documented
/// `{{. PodName}}` included; the start of `./` or `../`; else `this`.
fn leading_dot(begins_body: bool, behind: &str) -> &'static str {
    let is_name = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '['));
    if is_name(behind) || (begins_body && is_name(behind.trim_start())) {
        ""
    } else if behind.starts_with(['.', '/']) {
        "."
    } else {
        "this"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_taken() {
        for (inner, expected) in [
            (".PodName", "{{PodName}}"),
            (" .PodName ", "{{PodName}}"),
            (". PodName", "{{ PodName}}"),
            ("- .PodName -", "{{~PodName~}}"),
            ("- . PodName -", "{{~ PodName~}}"),
            ("~PodName~", "{{~PodName~}}"),
            ("PodName", "{{PodName}}"),
            (".labels.app", "{{labels.app}}"),
            ("labels.[a.b/c }}]", "{{labels.[a.b/c }}]}}"),
            ("add 31000 .Ordinal", "{{add 31000 Ordinal}}"),
            ("#if (eq .PodName \".x | }}\")", "{{#if (eq PodName \".x | }}\")}}"),
            ("- #if .Ordinal includeZero=true -", "{{~#if Ordinal includeZero=true~}}"),
            ("#each labels as |value key|", "{{#each labels as |value key|}}"),
            ("/if", "{{/if}}"),
            ("else if .Ordinal", "{{else if Ordinal}}"),
            ("^", "{{else}}"),
            (".", "{{this}}"),
            ("../PodName", "{{../PodName}}"),
            ("./PodName", "{{./PodName}}"),
            ("lookup . \"x\"", "{{lookup this \"x\"}}"),
        ] {
            assert_eq!(parse(inner).map(|e| e.to_string()), Ok(expected.to_owned()), "of {inner:?}");
        }
    }

    #[test]
    fn the_end_is_outside_quotes_and_brackets() {
        for (rest, expected) in [
            ("PodName}} }}", Ok(7)),
            ("eq a \"}}\\\"\"}}", Ok(11)),
            ("labels.[}}]}}", Ok(11)),
            ("PodName}", Err(SyntaxProblem::Unclosed)),
            ("it's}}", Err(SyntaxProblem::UnclosedQuote('\''))),
        ] {
            assert_eq!(length(rest), expected, "of {rest:?}");
        }
    }
}
