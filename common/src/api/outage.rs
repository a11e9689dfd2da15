//! Decides which failures in a row are worth a line in the log: the first, and each that is of another kind than the one
//! before; it logs nothing.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use super::{classify::Meaning, client::CallError};

/// Failures in a row of one thing that is tried again and again.
#[derive(Debug, Default)]
pub struct Outage {
    current: Option<(Instant, Option<Meaning>)>,
}

impl Outage {
    /// It failed. Whether that is news.
    pub fn failed(&mut self, error: &(dyn Error + 'static), now: Instant) -> bool {
        let meaning = error.downcast_ref().and_then(CallError::meaning);
        let (since, is_news) = match self.current {
            None => (now, true),
            Some((since, before)) => (since, before != meaning),
        };
        self.current = Some((since, meaning));
        is_news
    }

    /// Whether it has failed since the last success.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// It succeeded. For how long it had not.
    pub fn ended(&mut self, now: Instant) -> Option<Duration> {
        self.current.take().map(|(since, _)| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{call::Call, classify::Refusal, resource::Resource};

    #[test]
    fn only_news_is_told() {
        let now = Instant::now();
        let refused = |code| CallError::Refused {
            call: Box::new(Call::get(Resource::Pods, "ns", "app-0")),
            refusal: Refusal::read(code, None, b""),
        };
        let silent: Box<dyn Error> = "connection refused".into();
        let mut outage = Outage::default();
        assert_eq!((outage.ended(now), outage.is_on()), (None, false));
        assert!(outage.failed(silent.as_ref(), now));
        assert!(!outage.failed(silent.as_ref(), now));
        assert!(outage.failed(&refused(403), now + Duration::from_secs(1)));
        assert!(!outage.failed(&refused(403), now + Duration::from_secs(2)));
        assert!(outage.failed(&refused(503), now + Duration::from_secs(3)));
        assert!(!outage.failed(&refused(504), now + Duration::from_secs(3)), "both mean the same");
        assert_eq!(outage.ended(now + Duration::from_secs(4)), Some(Duration::from_secs(4)));
        assert!(outage.failed(silent.as_ref(), now), "a new one");
    }
}
