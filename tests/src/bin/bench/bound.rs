//! A bound that a program keeps or misses.

use crate::table::Table;

/// A number and the most that it may be.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// What the number is, with its unit.
    pub(crate) what: String,
    /// What was measured.
    pub(crate) seen: f64,
    /// What is asked.
    pub(crate) at_most: f64,
}

impl Bound {
    /// A bound on what was measured.
    pub(crate) fn new(what: impl Into<String>, seen: f64, at_most: f64) -> Self {
        Self { what: what.into(), seen, at_most }
    }

    /// Whether it is kept. What was not measured (no number) is not.
    pub(crate) fn is_met(&self) -> bool {
        self.seen <= self.at_most
    }

    /// All of them as a table.
    pub(crate) fn table(bounds: &[Self]) -> Table {
        let mut table = Table::new(["asked", "seen", "at most", "verdict"]);
        for bound in bounds {
            let verdict = if bound.is_met() { "ok" } else { "MISSED" };
            table.row([
                bound.what.clone(),
                format!("{:.2}", bound.seen),
                format!("{:.2}", bound.at_most),
                verdict.to_owned(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_met_up_to_and_with_the_limit() {
        for (seen, met) in [(0.0, true), (1.5, true), (1.501, false), (f64::NAN, false)] {
            assert_eq!(Bound::new("", seen, 1.5).is_met(), met, "{seen}");
        }
    }

    #[test]
    fn says_number_limit_and_verdict() {
        let table = Bound::table(&[Bound::new("requests", 4.0, 3.0)]).to_string();
        assert_eq!(table.lines().last(), Some("| requests | 4.00 |    3.00 | MISSED  |"));
    }
}
