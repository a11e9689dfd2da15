//! What one watch of a watcher reports, one thing at a time: a list, then the changes since, then perhaps another list.

use std::collections::VecDeque;

use watcher::{index::Change, watched::Watched};

use crate::server::{Kind, Store, Told};

/// Where a watch stands.
#[derive(Default)]
pub(crate) enum Stream<T> {
    /// It has to list.
    #[default]
    Begins,
    /// The list was asked for, and is not answered.
    Asks,
    /// The list was answered, and this of it is not reported.
    Lists { left: VecDeque<T>, version: u64, events: usize },
    /// It was listed when there were so many events, and so many are reported.
    Follows { listed: usize, reported: usize },
}

/// One thing that a watch reports: an object, or that a list begins or is complete.
pub(crate) struct Line<T> {
    /// The version of what is told.
    pub(crate) version: u64,
    pub(crate) object: Option<Told<T>>,
    is_end: bool,
}

impl<T: Kind> Stream<T> {
    /// The next thing, if there is one.
    pub(crate) fn next(&mut self, store: &Store<T>, selects: impl Fn(&T) -> bool) -> Option<Line<T>> {
        if let Self::Begins = self {
            *self = Self::Asks;
            return Some(Line { version: 0, object: None, is_end: false });
        }
        if let Self::Asks = self {
            let left = store.all().map(|(_, object)| object.clone()).filter(&selects).collect();
            *self = Self::Lists { left, version: store.version(), events: store.history().len() };
        }
        if let Self::Lists { left, version, events } = self {
            let (version, listed) = (*version, *events);
            return Some(if let Some(object) = left.pop_front() {
                Line { version, object: Some(Told::There(object)), is_end: false }
            } else {
                *self = Self::Follows { listed, reported: listed };
                Line { version, object: None, is_end: true }
            });
        }
        let Self::Follows { reported, .. } = self else { return None };
        loop {
            let version = store.history().get(*reported)?.version;
            let told = store.told(*reported, &selects);
            *reported += 1;
            if told.is_some() {
                return Some(Line { version, object: told, is_end: false });
            }
        }
    }

    /// The last events come once more.
    pub(crate) fn replay(&mut self, events: usize) {
        if let Self::Follows { listed, reported } = self {
            *reported = reported.saturating_sub(events).max(*listed);
        }
    }
}

impl<T> Line<T> {
    /// Whether a list begins.
    pub(crate) fn is_beginning(&self) -> bool {
        self.object.is_none() && !self.is_end
    }

    /// As the index takes it.
    pub(crate) fn change(
        &self,
        watched: Watched,
        there: impl FnOnce(&T) -> Change,
        gone: impl FnOnce(&T) -> Change,
    ) -> Change {
        match &self.object {
            Some(Told::There(object)) => there(object),
            Some(Told::Gone(object)) => gone(object),
            None if self.is_end => Change::Listed(watched),
            None => Change::Listing(watched),
        }
    }
}
