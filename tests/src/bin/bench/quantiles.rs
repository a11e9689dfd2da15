//! The middle and the edges of a sample.

/// Quantiles by nearest rank: each is a value that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantiles {
    /// A tenth is not above it.
    pub(crate) p10: f64,
    /// Half is not above it.
    pub(crate) median: f64,
    /// Nine tenths are not above it.
    pub(crate) p90: f64,
}

impl Quantiles {
    /// Those of `values`; none when there are no values.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let rank = |percent: usize| values.get((values.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        Some(Self { p10: rank(10)?, median: rank(50)?, p90: rank(90)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_values_of_the_sample() {
        let ten = (1..=10).rev().map(f64::from).collect();
        let table = [
            (vec![], None),
            (vec![7.0], Some(Quantiles { p10: 7.0, median: 7.0, p90: 7.0 })),
            (vec![3.0, 1.0, 2.0], Some(Quantiles { p10: 1.0, median: 2.0, p90: 3.0 })),
            (ten, Some(Quantiles { p10: 1.0, median: 5.0, p90: 9.0 })),
        ];
        for (values, quantiles) in table {
            assert_eq!(Quantiles::of(values), quantiles);
        }
    }
}
