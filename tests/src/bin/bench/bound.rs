//! A bound that the creator keeps or misses.

use std::fmt;

/// A number and the most that it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// What the number is.
    pub(crate) what: &'static str,
    /// What was measured.
    pub(crate) seen: f64,
    /// What is asked.
    pub(crate) at_most: f64,
}

impl Bound {
    /// Whether it is kept. What was not measured (no number) is not.
    pub(crate) fn is_met(&self) -> bool {
        self.seen <= self.at_most
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, seen, at_most } = self;
        let verdict = if self.is_met() { "ok" } else { "MISSED" };
        write!(f, "{what:24} {seen:>10.2}  at most {at_most:>5.2}  {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_met_up_to_and_with_the_limit() {
        for (seen, met) in [(0.0, true), (1.5, true), (1.501, false), (f64::NAN, false)] {
            assert_eq!(Bound { what: "", seen, at_most: 1.5 }.is_met(), met, "{seen}");
        }
    }

    #[test]
    fn says_number_limit_and_verdict() {
        let bound = Bound { what: "requests", seen: 4.0, at_most: 3.0 };
        assert_eq!(bound.to_string(), "requests                       4.00  at most  3.00  MISSED");
    }
}
