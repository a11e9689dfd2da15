//! Splits a template into text and mustaches, and rewrites it so that handlebars can read it.
//!
//! Handlebars sees only the mustaches and the white space around them, which it may trim. Every other run of text is
//! replaced by a token that says where it was; so a template's text can hold any character, and whatever is rendered
//! knows the line and column it came from.

use std::fmt::Write;

use super::{
    expression::{self, Sigil},
    problem::SyntaxProblem,
    token,
};
use crate::place::{Lines, Location};

/// A `{{…}}` of the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mustache {
    /// Where its first brace is.
    pub location: Location,
    /// The byte of the template behind its last brace.
    pub end: usize,
    /// Its text as written, braces included.
    pub written: String,
    /// Line and column in the rewritten text, as handlebars counts them.
    pub rewritten_at: (usize, usize),
}

/// A template as handlebars gets it.
#[derive(Debug)]
pub(super) struct Scanned {
    /// The template with its text replaced by tokens and its mustaches in handlebars' own syntax.
    pub rewritten: String,
    /// The mustaches in their order; comments are not among them.
    pub mustaches: Vec<Mustache>,
}

/// A problem and the place of the mustache that has it.
pub(super) type Located<E> = (Location, E);

/// Scans the template.
///
/// # Errors
/// The first mustache that handlebars cannot have, or whose syntax this program does not take.
pub(super) fn scan(text: &str) -> Result<Scanned, Located<SyntaxProblem>> {
    let mut scanner = Scanner {
        text,
        lines: Lines::new(text),
        rewritten: String::with_capacity(text.len()),
        mustaches: Vec::new(),
        blocks: Vec::new(),
        counted: (0, (1, 1)),
    };
    scanner.run()?;
    match scanner.blocks.pop() {
        Some((name, location)) => Err((location, SyntaxProblem::BlockOpen(name))),
        None => Ok(Scanned { rewritten: scanner.rewritten, mustaches: scanner.mustaches }),
    }
}

struct Scanner<'a> {
    text: &'a str,
    lines: Lines<'a>,
    rewritten: String,
    mustaches: Vec<Mustache>,
    /// The blocks that are open, outermost first.
    blocks: Vec<(String, Location)>,
    /// How far the rewritten text has been counted: its byte, and line and column there.
    counted: (usize, (usize, usize)),
}

/// How many blocks may be open at once: far more than any template needs.
const DEEPEST: usize = 32;

/// How many mustaches a template may have: far more than any needs. Handlebars' parser counts lines from the beginning for
/// each, so that many more would keep the program busy for seconds.
const MOST: usize = 1000;

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), Located<SyntaxProblem>> {
        let mut at = 0;
        while let Some(found) = self.text[at..].find("{{") {
            let brace = at + found;
            let backslashes = self.text[at..brace].bytes().rev().take_while(|b| *b == b'\\').count();
            // As handlebars has it: `\{{` is text, `\\{{x}}` a backslash and a value; one backslash goes either way.
            self.push_text(at, brace - backslashes.min(1));
            if backslashes == 1 {
                let end = brace + self.text[brace..].bytes().take_while(|b| *b == b'{').count().min(4);
                self.push_text(brace, end);
                at = end;
            } else {
                at = self.mustache(brace).map_err(|problem| (self.lines.location(brace), problem))?;
            }
        }
        self.push_text(at, self.text.len());
        Ok(())
    }

    /// Reads the mustache at this byte and returns where it ends.
    fn mustache(&mut self, start: usize) -> Result<usize, SyntaxProblem> {
        let rest = &self.text[start..];
        if rest.starts_with("{{{{") {
            return Err(SyntaxProblem::RawBlock);
        }
        if rest.starts_with("{{{") {
            return Err(SyntaxProblem::Unprotected);
        }
        if let Some(comment) = rest.strip_prefix("{{!") {
            let long = comment.strip_prefix("--").and_then(|c| Some(c.find("--}}")? + 2 + 4));
            let length = long.or_else(|| Some(comment.find("}}")? + 2)).ok_or(SyntaxProblem::Unclosed)?;
            self.rewritten.push_str("{{!}}");
            return Ok(start + 3 + length);
        }
        if self.mustaches.len() == MOST {
            return Err(SyntaxProblem::TooMany(MOST));
        }
        let length = expression::length(&rest[2..])?;
        let end = start + 2 + length + 2;
        let location = self.lines.location(start);
        let parsed = expression::parse(&rest[2..2 + length])?;
        self.check_nesting(&parsed.sigil, &parsed.body, location)?;
        let rewritten_at = self.position();
        // Writing to a String cannot fail.
        let _ = write!(self.rewritten, "{parsed}");
        let written = self.text[start..end].to_owned();
        self.mustaches.push(Mustache { location, end, written, rewritten_at });
        Ok(end)
    }

    /// Line and column of the rewritten text's end, both from 1 and in characters, as handlebars counts them.
    fn position(&mut self) -> (usize, usize) {
        let (from, (mut line, mut column)) = self.counted;
        for character in self.rewritten[from..].chars() {
            if character == '\n' {
                (line, column) = (line + 1, 1);
            } else {
                column += 1;
            }
        }
        self.counted = (self.rewritten.len(), (line, column));
        (line, column)
    }

    /// Follows the blocks, since handlebars' own words for one that is not closed name neither block nor place.
    fn check_nesting(&mut self, sigil: &Sigil, body: &str, location: Location) -> Result<(), SyntaxProblem> {
        let name = body.split_whitespace().next().unwrap_or_default();
        match sigil {
            // Handlebars renders blocks recursively, and so would run out of stack.
            Sigil::Open if self.blocks.len() == DEEPEST => return Err(SyntaxProblem::TooDeep(DEEPEST)),
            Sigil::Open => self.blocks.push((name.to_owned(), location)),
            Sigil::Close => match self.blocks.pop() {
                None => return Err(SyntaxProblem::NothingToClose(name.to_owned())),
                Some((open, at)) if open != name => {
                    return Err(SyntaxProblem::OtherBlockOpen { open, line: at.line, closing: name.to_owned() });
                }
                Some(_) => {}
            },
            Sigil::None if name == "else" && self.blocks.is_empty() => return Err(SyntaxProblem::ElseOutside),
            Sigil::None => {}
        }
        Ok(())
    }

    /// Adds the template's text between two bytes: a token for what a line holds, and its white space as it is.
    fn push_text(&mut self, start: usize, end: usize) {
        const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];
        let mut at = start;
        for line in self.text[start..end].split_inclusive('\n') {
            let content = line.trim_matches(BLANK);
            let from = at + line.len() - line.trim_start_matches(BLANK).len();
            if content.is_empty() {
                self.rewritten.push_str(line);
            } else {
                self.rewritten.push_str(&self.text[at..from]);
                self.rewritten.push_str(&token::text(from, content.len()));
                self.rewritten.push_str(&self.text[from + content.len()..at + line.len()]);
            }
            at += line.len();
        }
    }
}
