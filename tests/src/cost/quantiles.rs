//! The middle and the edges of a sample.

/// Quantiles by nearest rank: each is a value that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// A tenth is not above it.
    pub p10: f64,
    /// Half is not above it.
    pub median: f64,
    /// Nine tenths are not above it.
    pub p90: f64,
    /// 99 of 100 are not above it.
    pub p99: f64,
    /// None is above it.
    pub max: f64,
}

impl Quantiles {
    /// Those of `values`; none when there are no values.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let rank = |percent: usize| values.get((values.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        Some(Self { p10: rank(10)?, median: rank(50)?, p90: rank(90)?, p99: rank(99)?, max: rank(100)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_values_of_the_sample() {
        let ten = (1..=10).rev().map(f64::from).collect();
        let two_hundred = (1..=200).rev().map(f64::from).collect();
        let table = [
            (vec![], None),
            (vec![7.0], Some(Quantiles { p10: 7.0, median: 7.0, p90: 7.0, p99: 7.0, max: 7.0 })),
            (vec![3.0, 1.0, 2.0], Some(Quantiles { p10: 1.0, median: 2.0, p90: 3.0, p99: 3.0, max: 3.0 })),
            (ten, Some(Quantiles { p10: 1.0, median: 5.0, p90: 9.0, p99: 10.0, max: 10.0 })),
            (two_hundred, Some(Quantiles { p10: 20.0, median: 100.0, p90: 180.0, p99: 198.0, max: 200.0 })),
        ];
        for (values, quantiles) in table {
            assert_eq!(Quantiles::of(values), quantiles);
        }
    }
}
