//! Remembers what the API refuses to one NetService, until it is to be asked again; when that is, is decided elsewhere.

use std::{collections::BTreeMap, time::Instant};

use crate::net_service::Edition;

/// What the API can refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The Service.
    Service,
    /// A slice.
    Slices,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of what.
    pub what: What,
    /// What the API says.
    pub text: String,
    /// To whom.
    pub edition: Edition,
}

/// What is refused to one NetService: each thing by itself, or the one would be asked for again because of the other.
#[derive(Debug, Default)]
pub struct Refusals {
    held: BTreeMap<What, (Refusal, Instant)>,
    /// What was told last, until it is over.
    told: BTreeMap<What, String>,
}

impl Refusals {
    /// Remembers one until `again`. Whether it is news.
    pub fn add(&mut self, refusal: Refusal, again: Instant) -> bool {
        let told = self.told.insert(refusal.what, refusal.text.clone());
        let is_news = told.as_ref() != Some(&refusal.text);
        self.held.insert(refusal.what, (refusal, again));
        is_news
    }

    /// Forgets those that are to be asked for again now.
    pub fn expire(&mut self, now: Instant) {
        self.held.retain(|_, (_, again)| *again > now);
    }

    /// Asks again at this time at the latest. Whether that is earlier for any.
    pub fn hasten(&mut self, soon: Instant) -> bool {
        let mut later = self.held.values_mut().map(|(_, again)| again).filter(|again| **again > soon).peekable();
        let is_earlier = later.peek().is_some();
        later.for_each(|again| *again = soon);
        is_earlier
    }

    /// When the next is to be asked for again.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.held.values().map(|(_, again)| *again).min()
    }

    /// What is refused to this one, and what the API says.
    #[must_use]
    pub fn of(&self, edition: &Edition) -> Vec<(What, &str)> {
        let all = self.held.values().filter(|(refusal, _)| refusal.edition == *edition);
        all.map(|(refusal, _)| (refusal.what, refusal.text.as_str())).collect()
    }

    /// Nothing failed. Whether that is because nothing is refused: then it is over, and would be news again.
    pub fn are_over(&mut self) -> bool {
        let are_over = self.held.is_empty();
        if are_over {
            self.told.clear();
        }
        are_over
    }
}
