//! Builds the tree from the parser's events.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{
    document::Document,
    node::{Entry, Node, Value},
    problem::YamlProblem,
    scalar,
    text::Text,
};
use crate::place::Location;

/// The most values of a document, those of aliases included: many times what any Service has, and little memory.
const MAX_NODES: usize = 10_000;

/// A problem and its place in the template.
type Located = (Location, YamlProblem);

/// Reads the document as one mapping.
///
/// # Errors
/// The first thing that is no YAML, or that a Service cannot have.
pub(crate) fn parse(document: &Document) -> Result<Node, Located> {
    let mut builder =
        Builder { document, parser: Parser::new_from_str(document.text()), anchors: HashMap::new(), nodes: 0 };
    let root = builder.root()?;
    match root.value {
        Value::Map(_) => Ok(root),
        Value::Null => Err((root.location, YamlProblem::Empty)),
        value => Err((root.location, YamlProblem::NoMapping(value.kind()))),
    }
}

struct Builder<'a> {
    document: &'a Document,
    parser: Parser<'a, StrInput<'a>>,
    /// What each anchor stands for; nothing while it is being read.
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> Builder<'a> {
    fn root(&mut self) -> Result<Node, Located> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => {
                    return root.ok_or((Location { line: 1, column: 1 }, YamlProblem::Empty));
                }
                Event::DocumentStart(..) if root.is_some() => {
                    return Err((self.location(&span), YamlProblem::SecondDocument));
                }
                event if event.is_node() => root = Some(self.node(event, &span)?),
                _ => {}
            }
        }
    }

    /// The next event that is no comment.
    fn next(&mut self) -> Result<(Event<'a>, Span), Located> {
        loop {
            match self.parser.next_event() {
                Some(Ok((event, span))) if is_structure(&event) => return Ok((event, span)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(self.syntax(&error)),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, Located> {
        let location = self.location(span);
        self.count(1, location)?;
        let anchor = event.anchor_id();
        if let Some(tag) = event.tag() {
            self.check_tag(tag, &event, span)?;
        }
        let value = match event {
            Event::Alias(id) => return self.alias(id, location),
            Event::Scalar(read, style, _, tag) => {
                let text = self.document.decode(&read);
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                match (is_plain, Document::has_values(&read)) {
                    (true, false) => scalar::resolve(text).map_err(|problem| (location, problem))?,
                    // A sum has the digits of an i64.
                    (true, true) if text.is_sum() => text.as_str().parse().map_or(Value::Text(text), Value::Integer),
                    _ => Value::Text(text),
                }
            }
            Event::SequenceStart(..) => Value::List(self.list()?),
            Event::MappingStart(..) => Value::Map(self.map()?),
            _ => Value::Null,
        };
        let node = Node { location, value };
        if let Some(id) = anchor {
            self.anchors.insert(id, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self) -> Result<Vec<Node>, Located> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, &span)?),
            }
        }
    }

    fn map(&mut self) -> Result<Vec<Entry>, Located> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                break;
            }
            let key_location = self.location(&span);
            self.count(1, key_location)?;
            let is_merge = matches!(&event, Event::Scalar(key, ScalarStyle::Plain, ..) if key == "<<");
            let key = self.key(event, key_location)?;
            let (event, span) = self.next()?;
            let node = self.node(event, &span)?;
            if is_merge {
                merge(node, &mut merged)?;
            } else if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let problem = YamlProblem::DuplicateKey { key: key.as_str().to_owned(), first: first.key_location };
                return Err((key_location, problem));
            } else {
                entries.push(Entry { key, key_location, node });
            }
        }
        // What the mapping says itself wins over what it merges.
        for entry in merged {
            if entries.iter().all(|known| known.key != entry.key) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    /// A key is the text as written: JSON has no other keys.
    fn key(&self, event: Event<'a>, location: Location) -> Result<Text, Located> {
        match event {
            Event::Scalar(read, ..) => Ok(self.document.decode(&read)),
            Event::Alias(id) => match self.anchors.get(&id).map(|node| &node.value) {
                Some(Value::Text(text)) => Ok(text.clone()),
                _ => Err((location, YamlProblem::KeyNotText)),
            },
            _ => Err((location, YamlProblem::KeyNotText)),
        }
    }

    /// An alias is a copy, at the alias' own place.
    fn alias(&mut self, id: usize, location: Location) -> Result<Node, Located> {
        let node = self.anchors.get(&id).cloned().ok_or((location, YamlProblem::Cycle))?;
        self.count(size(&node), location)?;
        Ok(Node { location, ..node })
    }

    fn count(&mut self, more: usize, location: Location) -> Result<(), Located> {
        self.nodes += more;
        if self.nodes > MAX_NODES { Err((location, YamlProblem::TooLarge(MAX_NODES))) } else { Ok(()) }
    }

    /// Text may be tagged as text, and a list or mapping as what it is anyway.
    fn check_tag(&self, tag: &Tag, event: &Event<'_>, span: &Span) -> Result<(), Located> {
        let own = match event {
            Event::Scalar(..) => "str",
            Event::SequenceStart(..) => "seq",
            _ => "map",
        };
        if tag.core_suffix() == Some(own) || tag.original() == "!" {
            return Ok(());
        }
        let start = span.tag_start().unwrap_or(span.start);
        Err((self.document.location(start.index()), YamlProblem::Tag(tag.original())))
    }

    fn location(&self, span: &Span) -> Location {
        self.document.location(span.start.index())
    }

    fn syntax(&self, error: &ScanError) -> Located {
        let mut index = error.marker().index();
        let problem = match error.kind() {
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar => {
                // The parser may point behind the tab.
                let before = self.document.text().chars().take(index + 1).collect::<Vec<_>>();
                index = before.iter().rposition(|character| *character == '\t').unwrap_or(index);
                YamlProblem::Tab
            }
            kind => YamlProblem::Syntax(kind.to_string()),
        };
        (self.document.location(index), problem)
    }
}

/// Whether the event is not a comment or other decoration.
fn is_structure(event: &Event<'_>) -> bool {
    event.is_node()
        || matches!(event, Event::StreamEnd | Event::DocumentStart(..) | Event::SequenceEnd | Event::MappingEnd)
}

/// Adds the entries that a merge key brings; of several mappings the first wins.
fn merge(node: Node, into: &mut Vec<Entry>) -> Result<(), Located> {
    match node.value {
        Value::Map(entries) => into.extend(entries),
        Value::List(items) => {
            for item in items {
                match item.value {
                    Value::Map(entries) => into.extend(entries),
                    _ => return Err((item.location, YamlProblem::Merge)),
                }
            }
        }
        _ => return Err((node.location, YamlProblem::Merge)),
    }
    Ok(())
}

/// How many values a node holds.
fn size(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|entry| 1 + size(&entry.node)).sum::<usize>(),
        _ => 1,
    }
}
