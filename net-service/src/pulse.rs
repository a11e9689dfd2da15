//! Shows how the controller is: to those who ask for its health and its metrics. It decides nothing.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use common::api::watch::Cause;

use crate::watched::Watched;

/// How much is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// NetServices.
    pub net_services: usize,
    /// Those that are not ready.
    pub not_ready: usize,
    /// Ready endpoints of all of them.
    pub endpoints: usize,
}

/// How one watch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It has not listed yet.
    #[default]
    NotListed,
    /// It hears what changes.
    Up,
    /// It hears nothing since then.
    Down(Instant),
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Whether this one leads, and how its watches are; none where another one does.
    pub leading: Option<BTreeMap<Watched, State>>,
    /// How much is held.
    pub held: Held,
    /// How often watches were started again, by what ended the one before.
    pub restarts: BTreeMap<(Watched, &'static str), u64>,
}

/// Shared by the controller and those who ask.
#[derive(Clone, Debug, Default)]
pub struct Pulse {
    shown: Arc<Mutex<Shown>>,
}

impl Pulse {
    /// What there is to see.
    #[must_use]
    pub fn shown(&self) -> Shown {
        self.lock().clone()
    }

    pub(crate) fn leads(&self) {
        let watches = Watched::all().map(|watched| (watched, State::default())).collect();
        self.lock().leading = Some(watches);
    }

    pub(crate) fn stands_by(&self) {
        let mut shown = self.lock();
        (shown.leading, shown.held) = (None, Held::default());
    }

    pub(crate) fn holds(&self, held: Held) {
        self.lock().held = held;
    }

    pub(crate) fn up(&self, watched: Watched) {
        self.set(watched, |_| State::Up);
    }

    pub(crate) fn down(&self, watched: Watched) {
        self.set(watched, |state| if state == State::Up { State::Down(Instant::now()) } else { state });
    }

    pub(crate) fn restarted(&self, watched: Watched, cause: Cause) {
        *self.lock().restarts.entry((watched, cause.as_str())).or_default() += 1;
    }

    fn set(&self, watched: Watched, state: impl FnOnce(State) -> State) {
        if let Some(watches) = &mut self.lock().leading {
            let before = watches.entry(watched).or_default();
            *before = state(*before);
        }
    }

    /// A panic while it was held cannot have left it half written.
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
