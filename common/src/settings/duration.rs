//! Value parsers of durations: humantime's, and a bare integer is seconds.

use std::time::Duration;

/// The longest duration that is taken: adding one to the present time must not overflow any clock.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// The text is not a duration that the option takes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDuration {
    /// Not a duration at all, or a negative one.
    #[error("expected a duration such as 30 (seconds), 90s, 5m or 1h30m")]
    NotADuration,
    /// Zero, where that means nothing.
    #[error("must be longer than 0s")]
    Zero,
    /// Longer than anyone waits.
    #[error("must not be longer than 100 years")]
    TooLong,
}

/// Reads a duration; zero is one.
///
/// # Errors
/// The text is no duration, a negative one, or one of more than 100 years.
pub fn duration(text: &str) -> Result<Duration, InvalidDuration> {
    let duration = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(text.parse().map_err(|_| InvalidDuration::TooLong)?)
    } else {
        humantime::parse_duration(text).map_err(|error| match error {
            humantime::DurationError::NumberOverflow => InvalidDuration::TooLong,
            _ => InvalidDuration::NotADuration,
        })?
    };
    if duration > LONGEST { Err(InvalidDuration::TooLong) } else { Ok(duration) }
}

/// Reads a duration of more than nothing.
///
/// # Errors
/// As [`duration`], and for zero.
pub fn positive_duration(text: &str) -> Result<Duration, InvalidDuration> {
    duration(text).and_then(|duration| if duration.is_zero() { Err(InvalidDuration::Zero) } else { Ok(duration) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_seconds_and_the_rest_is_humantime() {
        for (text, seconds) in [
            ("1", 1),
            ("0", 0),
            ("0s", 0),
            ("007", 7),
            ("1s", 1),
            ("1m", 60),
            ("1h", 3600),
            ("1h30m", 5400),
            ("2m 5s", 125),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text:?}");
        }
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        use InvalidDuration::{NotADuration, TooLong};
        for (text, error) in [
            ("", NotADuration),
            (" ", NotADuration),
            ("-1", NotADuration),
            ("-5s", NotADuration),
            ("+5", NotADuration),
            ("soon", NotADuration),
            ("5 parsecs", NotADuration),
            ("1e3", NotADuration),
            ("0x10", NotADuration),
            ("101y", TooLong),
            ("18446744073709551615", TooLong),
            ("18446744073709551616", TooLong),
            ("99999999999999999999999s", TooLong),
        ] {
            assert_eq!(duration(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn zero_is_refused_where_it_means_nothing() {
        assert_eq!(positive_duration("1"), Ok(Duration::from_secs(1)));
        for text in ["0", "0s", "0h0m"] {
            assert_eq!(positive_duration(text), Err(InvalidDuration::Zero), "{text:?}");
        }
    }
}
