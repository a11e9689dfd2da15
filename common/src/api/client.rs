//! Sends calls and reads answers; what an answer means is decided in [`classify`](super::classify).

use std::{error::Error, fmt, time::Duration};

use http::header::RETRY_AFTER;
use serde::de::DeserializeOwned;

use super::{
    call::Call,
    classify::{Meaning, Refusal, missing_rule},
    retry::{Deadline, Patience, TimeIsUp},
};

/// How long one try may take. An API server under load answers within seconds; after this long, a new connection has
/// better chances than this one.
const ATTEMPT: Duration = Duration::from_secs(20);

/// The Kubernetes API, as one service account sees it.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
}

/// Whether a request without an answer can have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// No connection came about.
    Never,
    /// The answer is lost, the request may not be.
    Perhaps,
}

/// One call that did not succeed.
#[derive(Debug)]
pub enum CallError {
    /// The API said no.
    Refused {
        /// What was asked.
        call: Box<Call>,
        /// What was answered.
        refusal: Refusal,
    },
    /// The API said nothing that could be read.
    NoAnswer {
        /// What was asked.
        call: Box<Call>,
        /// Whether it can have been carried out.
        sent: Sent,
        /// What happened instead.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl CallError {
    /// What the answer means; `None` where there was none.
    #[must_use]
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.meaning()),
            Self::NoAnswer { .. } => None,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.meaning().is_none_or(Meaning::may_pass)
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { refusal, .. } => refusal.retry_after,
            Self::NoAnswer { .. } => None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { call, refusal } if refusal.meaning() == Meaning::Rbac => {
                write!(f, "cannot {call}: {}", missing_rule(call, refusal))
            }
            Self::Refused { call, refusal } if refusal.meaning() == Meaning::Unauthorized => write!(
                f,
                "cannot {call}: the API server does not accept the service account token (401); it may have expired, or the pod it is bound to may be gone"
            ),
            Self::Refused { call, refusal } => write!(f, "cannot {call}: {refusal}"),
            Self::NoAnswer { call, .. } => write!(f, "no answer to {call} from the API server"),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused { .. } => None,
            Self::NoAnswer { source, .. } => Some(source.as_ref()),
        }
    }
}

/// A call that was tried until there was no sense or no time left.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// Trying again would change nothing.
    #[error(transparent)]
    Final(CallError),
    /// The deadline came first.
    #[error("gave up at the timeout")]
    TimeIsUp(#[source] CallError),
}

impl Api {
    /// Speaks through a client that is connected already.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Sends one request, once.
    ///
    /// # Errors
    /// Where the API refuses it, or gives no readable answer in time.
    pub async fn once<T: DeserializeOwned>(&self, call: &Call, deadline: Deadline) -> Result<T, CallError> {
        let no_answer = |sent, source| CallError::NoAnswer { call: Box::new(call.clone()), sent, source };
        match tokio::time::timeout(ATTEMPT.min(deadline.remaining()), self.exchange(call)).await {
            Err(elapsed) => Err(no_answer(Sent::Perhaps, elapsed.into())),
            Ok(Err(error)) => Err(no_answer(sent(&error), error.into())),
            Ok(Ok(Exchanged::Refused(refusal))) => Err(CallError::Refused { call: Box::new(call.clone()), refusal }),
            Ok(Ok(Exchanged::Answered(body))) => {
                serde_json::from_slice(&body).map_err(|error| no_answer(Sent::Perhaps, error.into()))
            }
        }
    }

    /// Sends one request until it succeeds or cannot; only for requests that may be repeated blindly.
    ///
    /// # Errors
    /// Where the API refuses it for good, or the deadline passes.
    pub async fn persist<T: DeserializeOwned>(&self, call: &Call, deadline: Deadline) -> Result<T, PersistError> {
        let mut patience = Patience::until(deadline);
        loop {
            match self.once(call, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(error) if !error.may_pass() => return Err(PersistError::Final(error)),
                Err(error) => {
                    warn_of(&error);
                    if let Err(TimeIsUp) = patience.pause(error.retry_after()).await {
                        return Err(PersistError::TimeIsUp(error));
                    }
                }
            }
        }
    }

    /// Reads one object until there is an answer; `None` where it is not there.
    ///
    /// # Errors
    /// As [`persist`](Self::persist).
    pub async fn read<T: DeserializeOwned>(&self, call: &Call, deadline: Deadline) -> Result<Option<T>, PersistError> {
        match self.persist(call, deadline).await {
            Ok(object) => Ok(Some(object)),
            Err(PersistError::Final(error)) if error.meaning() == Some(Meaning::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn exchange(&self, call: &Call) -> Result<Exchanged, kube::Error> {
        let response = self.client.send(call.request().map_err(kube::Error::HttpError)?).await?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await?;
        if head.status.is_success() {
            return Ok(Exchanged::Answered(body.into()));
        }
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Ok(Exchanged::Refused(Refusal::read(head.status.as_u16(), retry_after, &body)))
    }
}

enum Exchanged {
    Answered(Vec<u8>),
    Refused(Refusal),
}

/// Tells of a failure that is going to be tried again.
pub fn warn_of(error: &CallError) {
    tracing::warn!(error = %chain(error), "the API did not do as asked; trying again");
}

/// An error with all its sources, as one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        // Wrappers that only repeat their source would say everything twice.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

fn sent(error: &kube::Error) -> Sent {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect)
        {
            return Sent::Never;
        }
        source = error.source();
    }
    Sent::Perhaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;

    #[derive(Debug, thiserror::Error)]
    #[error("wrapped: {0}")]
    struct Repeats(#[source] Inner);

    #[test]
    fn a_chain_says_each_thing_once() {
        assert_eq!(chain(&Outer(Inner)), "outer: inner");
        assert_eq!(chain(&Repeats(Inner)), "wrapped: inner");
    }
}
