//! Decides how long to wait between tries; what is tried is the caller's.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use tokio::time::Instant;

/// The first pause: an API server that restarts refuses connections for less than a second.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause: a pod should start within seconds of the API's return, and a thousand pods that wait with this
/// pause ask 200 times a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest Retry-After that a program without a deadline heeds.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// When all trying ends. One for the whole run, so that the sum of all waiting is bounded.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
}

impl Deadline {
    /// From now.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        // A timeout too large for the clock is no timeout in practice.
        const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        Self { at: Instant::now() + timeout.min(FOREVER) }
    }

    /// What is left; zero once it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// The deadline does not allow another try.
#[derive(Debug, PartialEq, Eq)]
pub struct TimeIsUp;

/// Exponential backoff with jitter and without an end, for a program that runs for ever.
#[derive(Debug)]
pub struct Backoff {
    longest: Duration,
    tries: u32,
}

impl Backoff {
    /// Starts with the shortest pause; none is longer than `longest`, but where the server asks for it.
    #[must_use]
    pub fn up_to(longest: Duration) -> Self {
        Self { longest, tries: 0 }
    }

    /// The next pause: longer each time, and at least as long as the server asks (Retry-After), within reason: the page
    /// of a load balancer may ask for hours, and the API server be back in a second.
    pub fn pause(&mut self, asked: Option<Duration>) -> Duration {
        let own = own_pause(self.tries, self.longest, jitter());
        self.tries = self.tries.saturating_add(1);
        asked_pause(asked.map(|asked| asked.min(LONGEST_ASKED)), own, jitter())
    }

    /// How often [`pause`](Self::pause) was asked since the last success.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// After a success: the next pause is the shortest again.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}

/// Exponential backoff with jitter, up to a deadline.
#[derive(Debug)]
pub struct Patience {
    deadline: Deadline,
    tries: u32,
}

impl Patience {
    /// Starts with the shortest pause.
    #[must_use]
    pub fn until(deadline: Deadline) -> Self {
        Self { deadline, tries: 0 }
    }

    /// When it ends.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Waits before the next try: longer each time, and at least as long as the server asks (Retry-After).
    ///
    /// # Errors
    /// Where the deadline leaves no room for another try.
    pub async fn pause(&mut self, asked: Option<Duration>) -> Result<(), TimeIsUp> {
        let pause = next_pause(self.tries, asked, self.deadline.remaining(), jitter()).ok_or(TimeIsUp)?;
        self.tries = self.tries.saturating_add(1);
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// The pause before try number `tries + 1`; `jitter` is between 0 and 1.
///
/// Towards the deadline the pauses halve what is left, so that the last tries fall close to it.
fn next_pause(tries: u32, asked: Option<Duration>, remaining: Duration, jitter: f64) -> Option<Duration> {
    if remaining < FIRST_PAUSE {
        return None;
    }
    let own = own_pause(tries, LONGEST_PAUSE, jitter).min(remaining / 2);
    let pause = asked_pause(asked, own, jitter);
    (pause < remaining).then_some(pause)
}

fn own_pause(tries: u32, longest: Duration, jitter: f64) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(tries)).min(longest).mul_f64(0.5 + jitter / 2.0)
}

/// Everybody was told the same number: spread the return over half of it more. It may be 0, which is no leave to ask
/// without pause.
fn asked_pause(asked: Option<Duration>, own: Duration, jitter: f64) -> Duration {
    asked.map_or(own, |asked| asked.mul_f64(1.0 + jitter / 2.0).max(own))
}

/// A number between 0 and 1. Only needs to differ between pods: the standard library's hash keys are random.
fn jitter() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<u128> =
            (0..10).map(|tries| next_pause(tries, None, MINUTE, 1.0).unwrap().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(next_pause(u32::MAX, None, MINUTE, 0.0), Some(LONGEST_PAUSE / 2));
    }

    #[test]
    fn a_server_that_asks_for_no_pause_still_gets_one() {
        for tries in 0..10 {
            assert_eq!(next_pause(tries, Some(Duration::ZERO), MINUTE, 0.5), next_pause(tries, None, MINUTE, 0.5));
        }
    }

    #[test]
    fn the_server_decides_where_it_asks_for_more() {
        let asked = Duration::from_secs(7);
        assert_eq!(next_pause(0, Some(asked), MINUTE, 0.0), Some(asked));
        assert_eq!(next_pause(0, Some(asked), MINUTE, 1.0), Some(Duration::from_millis(10_500)));
        assert_eq!(next_pause(0, Some(asked), Duration::from_secs(5), 0.0), None, "there would be no time left to ask");
    }

    #[test]
    fn the_last_tries_fall_close_to_the_deadline() {
        let mut remaining = Duration::from_secs(3);
        let mut tries = 0;
        while let Some(pause) = next_pause(20, None, remaining, 1.0) {
            remaining -= pause;
            tries += 1;
        }
        assert!(remaining < FIRST_PAUSE && tries < 10, "{remaining:?} left after {tries} tries");
    }

    #[test]
    fn without_a_deadline_pauses_grow_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::up_to(Duration::from_secs(30));
        let pauses: Vec<_> = (0..12).map(|_| backoff.pause(None)).collect();
        assert!(pauses[0] <= FIRST_PAUSE && pauses[0] >= FIRST_PAUSE / 2, "{pauses:?}");
        assert!(pauses[11] >= Duration::from_secs(15) && pauses[11] <= Duration::from_secs(30), "{pauses:?}");
        assert_eq!(backoff.tries(), 12);
        backoff.reset();
        assert!(backoff.pause(None) <= FIRST_PAUSE);
        assert!(backoff.pause(Some(Duration::from_secs(7))) >= Duration::from_secs(7), "the server asks for more");
        assert!(backoff.pause(Some(Duration::from_secs(3600))) <= Duration::from_secs(90), "beyond all reason");
    }

    #[test]
    fn jitter_stays_in_its_range_and_varies() {
        let values: Vec<f64> = (0..100).map(|_| jitter()).collect();
        assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
        assert!(values.iter().any(|value| (value - values[0]).abs() > f64::EPSILON));
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_at_the_deadline() {
        let start = Instant::now();
        let mut patience = Patience::until(Deadline::after(MINUTE));
        while patience.pause(None).await.is_ok() {}
        let spent = start.elapsed();
        assert!(spent > MINUTE - FIRST_PAUSE && spent <= MINUTE, "{spent:?}");
    }
}
