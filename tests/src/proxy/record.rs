//! What the proxy has seen.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use http::{Method, StatusCode};

use super::rule::Seen;

/// A request that came, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The request.
    pub seen: Seen,
    /// The status that the apiserver or the rule answered, whether or not it was delivered. None while there is none.
    pub status: Option<StatusCode>,
}

/// The requests did not become what a test waited for.
#[derive(Debug, thiserror::Error)]
#[error("not seen within {within:?}; the requests were {requests:#?}")]
pub struct NotSeen {
    within: Duration,
    requests: Vec<Recorded>,
}

/// The list of requests, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Record {
    requests: Mutex<Vec<Recorded>>,
    changed: Condvar,
}

impl Record {
    /// Adds a request and gives it its index.
    pub(super) fn add(&self, method: Method, path_and_query: String, connection: usize) -> Seen {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Seen { index: requests.len(), method, path_and_query, connection };
        requests.push(Recorded { seen: seen.clone(), status: None });
        self.changed.notify_all();
        seen
    }

    pub(super) fn answered(&self, index: usize, status: StatusCode) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(request) = requests.get_mut(index) {
            request.status = Some(status);
        }
        self.changed.notify_all();
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn wait_until(
        &self,
        within: Duration,
        condition: impl Fn(&[Recorded]) -> bool,
    ) -> Result<Vec<Recorded>, NotSeen> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let (requests, waited) = self
            .changed
            .wait_timeout_while(requests, within, |requests| !condition(requests))
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() && !condition(&requests) {
            return Err(NotSeen { within, requests: requests.clone() });
        }
        Ok(requests.clone())
    }
}
