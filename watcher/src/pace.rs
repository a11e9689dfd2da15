//! Decides how many suspects are examined at a time, and when to stop asking an API that does not answer or refuses; it asks
//! nothing itself.

use std::time::{Duration, Instant};

use common::api::retry::Backoff;

/// Suspects that are examined at the same time: enough to keep the connection busy, few beside an API server's limits
/// (400 requests in flight by default).
const AT_ONCE: usize = 16;

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The pace of examinations.
#[derive(Debug)]
pub struct Pace {
    backoff: Backoff,
    paused_until: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { backoff: Backoff::up_to(LONGEST_PAUSE), paused_until: None }
    }
}

impl Pace {
    /// How many more may be examined now, while so many are.
    #[must_use]
    pub fn room(&self, examined: usize, now: Instant) -> usize {
        let most = match self.paused_until {
            None => AT_ONCE,
            // After a pause one asks first.
            Some(until) if now >= until => 1,
            Some(_) => 0,
        };
        most.saturating_sub(examined)
    }

    /// When there is room again, if there is none for a time.
    #[must_use]
    pub fn resumes(&self) -> Option<Instant> {
        self.paused_until
    }

    /// An examination failed for a reason that concerns all: what was begun at the same time fails too, and counts once.
    pub fn failed(&mut self, asked: Option<Duration>, now: Instant) {
        if self.paused_until.is_none_or(|until| now >= until) {
            self.paused_until = Some(now + self.backoff.pause(asked));
        }
    }

    /// An examination came to its end. Whether there is no pause any more; one that was begun before a pause does not end
    /// it.
    pub fn succeeded(&mut self, now: Instant) -> bool {
        if self.paused_until.is_some_and(|until| now < until) {
            return false;
        }
        self.backoff.reset();
        self.paused_until = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_one_asks_first() {
        let now = Instant::now();
        let mut pace = Pace::default();
        assert_eq!((pace.room(0, now), pace.room(10, now), pace.room(20, now)), (16, 6, 0));
        pace.failed(None, now);
        pace.failed(Some(Duration::from_secs(7)), now);
        assert_eq!(pace.room(0, now), 0);
        let resumes = pace.resumes().unwrap();
        assert!(resumes > now && resumes <= now + Duration::from_millis(50), "those that failed together count once");
        assert_eq!((pace.room(0, resumes), pace.room(1, resumes)), (1, 0));
        pace.failed(Some(Duration::from_secs(7)), resumes);
        assert!(pace.resumes().unwrap() >= resumes + Duration::from_secs(7));
        assert!(!pace.succeeded(resumes + Duration::from_secs(6)), "it was begun before the pause");
        assert_eq!(pace.room(0, resumes + Duration::from_secs(6)), 0);
        assert!(pace.succeeded(resumes + Duration::from_secs(11)));
        assert_eq!((pace.room(0, now), pace.resumes()), (16, None));
    }
}
