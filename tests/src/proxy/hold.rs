//! Requests and answers that wait until the test has done what it wants to do meanwhile.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use http::StatusCode;
use tokio::sync::oneshot;

use super::rule::Seen;

/// How a held request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As if it had not been held. A request is carried out even if its client is gone by now, as one that was under
    /// way in the network would be.
    Pass,
    /// Its connection is closed. A request that was held before the apiserver never gets there.
    Cut,
}

/// Where a rule puts what is to be held, in [`Action::HoldBefore`](super::Action::HoldBefore) or
/// [`Action::HoldAfter`](super::Action::HoldAfter). A clone is the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    arrivals: Sender<Held>,
    unless_told: Verdict,
}

/// The test's side of a gate: what arrives there.
#[derive(Debug)]
pub struct Arrivals(Receiver<Held>);

/// Nothing came to a gate in time.
#[derive(Debug, thiserror::Error)]
pub enum NothingHeld {
    /// No request met the rule, or its answer is still awaited.
    #[error("nothing was held within {0:?}")]
    Late(Duration),
    /// The rule that had the gate is gone, so nothing can come any more.
    #[error("no rule holds anything for this gate any more")]
    NoRule,
}

/// One request, or one answer, that waits. Dropped, it goes on as [`gate`] was told.
#[derive(Debug)]
pub struct Held {
    /// The request.
    pub seen: Seen,
    /// The status of the answer that is held; none where the request itself is.
    pub status: Option<StatusCode>,
    release: oneshot::Sender<Verdict>,
}

/// Makes a gate. `unless_told` is what happens to something held that the test drops, and to what comes once the test
/// has dropped the arrivals.
#[must_use]
pub fn gate(unless_told: Verdict) -> (Gate, Arrivals) {
    let (sender, receiver) = channel();
    (Gate { arrivals: sender, unless_told }, Arrivals(receiver))
}

impl Arrivals {
    /// The next that is held, in the order in which they came. Blocks the thread until then.
    ///
    /// # Errors
    /// When none came `within` this time.
    pub fn next(&self, within: Duration) -> Result<Held, NothingHeld> {
        self.0.recv_timeout(within).map_err(|error| match error {
            RecvTimeoutError::Timeout => NothingHeld::Late(within),
            RecvTimeoutError::Disconnected => NothingHeld::NoRule,
        })
    }
}

impl Held {
    /// Lets it go on, one way or the other.
    pub fn release(self, verdict: Verdict) {
        // The exchange it belonged to ends only with the proxy; then there is nobody to tell.
        let _ = self.release.send(verdict);
    }
}

impl Gate {
    /// Tells the test, and waits for what it decides.
    pub(super) async fn wait(self, seen: Seen, status: Option<StatusCode>) -> Verdict {
        let (release, verdict) = oneshot::channel();
        if self.arrivals.send(Held { seen, status, release }).is_err() {
            return self.unless_told;
        }
        verdict.await.unwrap_or(self.unless_told)
    }
}
