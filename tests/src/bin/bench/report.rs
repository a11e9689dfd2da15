//! What one part of the benchmark has found.

use std::fmt;

use crate::{bound::Bound, table::Table};

/// Tables with what they show, and the bounds.
#[derive(Debug, Default)]
pub(crate) struct Report {
    tables: Vec<(String, Table)>,
    bounds: Vec<Bound>,
}

impl Report {
    /// Adds a table under a heading.
    pub(crate) fn table(&mut self, heading: impl Into<String>, table: Table) {
        self.tables.push((heading.into(), table));
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
        write!(f, "{}", Bound::table(&self.bounds))
    }
}
