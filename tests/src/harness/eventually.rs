//! Waiting for something to become true, instead of sleeping.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

/// How long to pause between two looks: short beside anything that tests measure, long beside a request.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until `look` succeeds, and returns what it found.
///
/// `what` completes "timed out waiting until …"; the error of `look` says what was seen instead.
///
/// # Panics
/// When `deadline` has passed: the message says what was last seen.
pub async fn eventually<T, E: Display>(
    deadline: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let started = Instant::now();
    loop {
        let seen = match look().await {
            Ok(found) => return found,
            Err(seen) => seen,
        };
        assert!(started.elapsed() < deadline, "timed out after {deadline:?} waiting until {what}; last seen: {seen}");
        tokio::time::sleep(PAUSE).await;
    }
}
