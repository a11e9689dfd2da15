//! What one part of the benchmark has found.

use std::fmt;

use crate::{bound::Bound, table::Table};

/// Tables with what they show, and the bounds.
#[derive(Debug, Default)]
pub(crate) struct Report {
    tables: Vec<(String, Table)>,
    notes: Vec<String>,
    bounds: Vec<Bound>,
}

impl Report {
    /// Adds a table under a heading.
    pub(crate) fn table(&mut self, heading: impl Into<String>, table: Table) {
        self.tables.push((heading.into(), table));
    }

    /// Adds a sentence below the tables.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a bound.
    pub(crate) fn bound(&mut self, bound: Bound) {
        self.bounds.push(bound);
    }

    /// Whether all bounds are kept.
    pub(crate) fn is_met(&self) -> bool {
        self.bounds.iter().all(Bound::is_met)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (heading, table) in &self.tables {
            writeln!(f, "{heading}\n\n{table}")?;
        }
        for note in &self.notes {
            writeln!(f, "{note}\n")?;
        }
        write!(f, "{}", Bound::table(&self.bounds))
    }
}
