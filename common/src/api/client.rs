//! Sends calls and reads answers; what an answer means is decided in [`classify`](super::classify).

use std::{
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::header::RETRY_AFTER;
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

pub use super::call_error::{CallError, Sent};
use super::{
    call::Call,
    call_error::{ATTEMPT, Silence},
    classify::{Meaning, Refusal},
    lines::Lines,
    retry::{Deadline, Patience, TimeIsUp},
};

/// Is told of each request and of the HTTP status that answered it, if one did.
pub type Observer = dyn Fn(&Call, Option<u16>) + Send + Sync;

/// The Kubernetes API, as one service account sees it.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    outage: Arc<Mutex<Option<Instant>>>,
    observer: Option<Arc<Observer>>,
}

/// How long after the last silence an API server may refuse what RBAC allows, because it has just started and has not
/// read all roles yet (seen on Kubernetes 1.36). Longer than the longest pause between two tries.
const SETTLING: Duration = Duration::from_secs(10);

/// Whether a refusal may come from an API server that has just started.
fn is_unsettled(meaning: Meaning, since_outage: Option<Duration>) -> bool {
    meaning == Meaning::Rbac && since_outage.is_some_and(|since| since < SETTLING)
}

/// A call that was tried until there was no sense or no time left.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// Trying again would change nothing.
    #[error(transparent)]
    Final(CallError),
    /// The deadline came first.
    #[error("gave up at the timeout, which --timeout sets")]
    TimeIsUp(#[source] CallError),
}

impl Api {
    /// Speaks through a client that is connected already.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        Self { client, outage: Arc::default(), observer: None }
    }

    /// The same API, with somebody who is told of every request from now on.
    #[must_use]
    pub fn observed(self, observer: Arc<Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Sends one request, once.
    ///
    /// # Errors
    /// Where the API refuses it, or gives no readable answer in time.
    pub async fn once<T: DeserializeOwned>(&self, call: &Call, deadline: Deadline) -> Result<T, CallError> {
        let answered = self.attempt(call, deadline, self.exchange(call)).await?;
        serde_json::from_slice(&answered)
            .map_err(|error| CallError::Unreadable { call: Box::new(call.clone()), source: error.into() })
    }

    /// Sends one request whose answer goes on and on, once; waits only for its beginning.
    ///
    /// # Errors
    /// Where the API refuses it, or does not begin to answer in time.
    pub async fn open(&self, call: &Call, deadline: Deadline) -> Result<Lines, CallError> {
        self.attempt(call, deadline, self.stream(call)).await
    }

    /// Gives one try its time, and notes what becomes of it.
    async fn attempt<T>(
        &self,
        call: &Call,
        deadline: Deadline,
        exchange: impl Future<Output = Result<Exchanged<T>, kube::Error>>,
    ) -> Result<T, CallError> {
        let answer = tokio::time::timeout(ATTEMPT.min(deadline.remaining()), exchange).await;
        if let Some(observer) = &self.observer {
            observer(call, answer.as_ref().ok().and_then(|answer| answer.as_ref().ok()).map(Exchanged::code));
        }
        let no_answer = |sent, source| CallError::NoAnswer { call: Box::new(call.clone()), sent, source };
        let error = match answer {
            Err(_) if deadline.remaining().is_zero() => no_answer(Sent::Perhaps, Silence::Deadline.into()),
            Err(_) => no_answer(Sent::Perhaps, Silence::Attempt.into()),
            Ok(Err(error)) => no_answer(sent(&error), unwrapped(error)),
            Ok(Ok(Exchanged::Refused(refusal))) => {
                let call = Box::new(call.clone());
                let since = self.outage().map(|outage| outage.elapsed());
                match is_unsettled(refusal.meaning(), since) {
                    true => CallError::Unsettled { call, refusal },
                    false => CallError::Refused { call, refusal },
                }
            }
            Ok(Ok(Exchanged::Answered { answer, .. })) => return Ok(answer),
        };
        if error.may_pass() && !matches!(error, CallError::Unsettled { .. }) {
            *self.outage() = Some(Instant::now());
        }
        Err(error)
    }

    /// Sends one request until it succeeds or cannot; only for requests that may be repeated blindly.
    ///
    /// # Errors
    /// Where the API refuses it for good, or the deadline passes.
    pub async fn persist<T: DeserializeOwned>(&self, call: &Call, deadline: Deadline) -> Result<T, PersistError> {
        let mut patience = Patience::until(deadline);
        let mut earlier = None;
        loop {
            match self.once(call, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(error) if !error.may_pass() => return Err(PersistError::Final(error)),
                Err(error) if error.cut_short() => return Err(PersistError::TimeIsUp(earlier.unwrap_or(error))),
                Err(error) => {
                    warn_of(&error);
                    if let Err(TimeIsUp) = patience.pause(error.retry_after()).await {
                        return Err(PersistError::TimeIsUp(error));
                    }
                    earlier = Some(error);
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

    /// When the API last could not answer. A panic while it was held cannot have left it half written.
    fn outage(&self) -> MutexGuard<'_, Option<Instant>> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole answer.
    async fn exchange(&self, call: &Call) -> Result<Exchanged<Vec<u8>>, kube::Error> {
        match self.send(call).await? {
            Exchanged::Refused(refusal) => Ok(Exchanged::Refused(refusal)),
            Exchanged::Answered { code, answer } => {
                Ok(Exchanged::Answered { code, answer: answer.collect_bytes().await?.into() })
            }
        }
    }

    /// An answer that has only begun.
    async fn stream(&self, call: &Call) -> Result<Exchanged<Lines>, kube::Error> {
        Ok(match self.send(call).await? {
            Exchanged::Refused(refusal) => Exchanged::Refused(refusal),
            Exchanged::Answered { code, answer } => Exchanged::Answered { code, answer: Lines::of(answer) },
        })
    }

    async fn send(&self, call: &Call) -> Result<Exchanged<Body>, kube::Error> {
        let response = self.client.send(call.request().map_err(kube::Error::HttpError)?).await?;
        let (head, body) = response.into_parts();
        let code = head.status.as_u16();
        if head.status.is_success() {
            return Ok(Exchanged::Answered { code, answer: body });
        }
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Ok(Exchanged::Refused(Refusal::read(code, retry_after, &body.collect_bytes().await?)))
    }
}

enum Exchanged<T> {
    Answered { code: u16, answer: T },
    Refused(Refusal),
}

impl<T> Exchanged<T> {
    fn code(&self) -> u16 {
        match self {
            Self::Answered { code, .. } => *code,
            Self::Refused(refusal) => refusal.code,
        }
    }
}

/// Tells of a failure that is going to be tried again.
pub fn warn_of(error: &CallError) {
    tracing::warn!(error = %chain(error), "no success yet; trying again");
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

/// The error of the connection, without the name of the layer that passed it on.
fn unwrapped(error: kube::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        kube::Error::Service(inner) => inner,
        other => other.into(),
    }
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
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use http::{Request, Response};
    use kube::client::Body;

    use super::{
        super::{call::MetadataOnly, resource::Resource},
        *,
    };

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;

    #[derive(Debug, thiserror::Error)]
    #[error("wrapped: {0}")]
    struct Repeats(#[source] Inner);

    const FORBIDDEN: &[u8] = br#"User "u" cannot get resource "services" in API group "" in the namespace "ns""#;

    /// An API that gives these answers, and then none any more.
    fn api(mut statuses: Vec<u16>) -> Api {
        statuses.reverse();
        let statuses = Arc::new(Mutex::new(statuses));
        let service = tower::service_fn(move |_: Request<Body>| {
            let status = statuses.lock().unwrap().pop();
            async move {
                match status {
                    Some(403) => Response::builder().status(403).body(Body::from(FORBIDDEN.to_vec())),
                    Some(status) => Response::builder().status(status).body(Body::from(b"why".to_vec())),
                    None => std::future::pending().await,
                }
            }
        });
        Api::new(kube::Client::new(service, "default"))
    }

    #[tokio::test(start_paused = true)]
    async fn what_only_the_deadline_cut_short_does_not_hide_what_was_said_before() {
        let call = Call::get(Resource::Services, "ns", "app-0");
        for (statuses, expected) in [
            (vec![429, 503], "cannot get Service ns/app-0: why (503)"),
            (vec![], "no answer to get Service ns/app-0 from the API server: nothing came before the timeout"),
        ] {
            let deadline = Deadline::after(Duration::from_secs(5));
            let error = api(statuses).persist::<MetadataOnly>(&call, deadline).await.unwrap_err();
            assert_eq!(chain(&error), format!("gave up at the timeout, which --timeout sets: {expected}"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_is_too_slow_is_not_the_last() {
        let call = Call::get(Resource::Services, "ns", "app-0");
        let deadline = Deadline::after(Duration::from_secs(30));
        let error = api(vec![]).persist::<MetadataOnly>(&call, deadline).await.unwrap_err();
        assert!(chain(&error).ends_with("nothing came within 20 s"), "{error}");
        assert_eq!(deadline.remaining(), Duration::ZERO);
    }

    #[tokio::test]
    async fn what_was_turned_away_unread_was_not_done() {
        let call = Call::get(Resource::Services, "ns", "app-0");
        for (status, never_done) in [(401, true), (429, true), (500, false), (503, false), (504, false)] {
            let deadline = Deadline::after(Duration::from_secs(5));
            let error = api(vec![status]).once::<MetadataOnly>(&call, deadline).await.unwrap_err();
            assert_eq!(error.never_done(), never_done, "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_that_comes_back_may_forbid_for_a_moment_what_is_allowed() {
        let call = Call::get(Resource::Services, "ns", "app-0");
        for (statuses, gives_up_after) in [(vec![403; 90], 0), ([vec![503], vec![403; 90]].concat(), 10)] {
            let begin = Instant::now();
            let deadline = Deadline::after(Duration::from_secs(60));
            let error = api(statuses).persist::<MetadataOnly>(&call, deadline).await.unwrap_err();
            assert!(matches!(error, PersistError::Final(_)), "{error:?}");
            let spent = begin.elapsed().as_secs();
            assert!((gives_up_after..=gives_up_after * 2).contains(&spent), "{spent} s");
        }
    }

    #[test]
    fn only_rbac_and_only_right_after_an_outage_is_not_believed() {
        let (soon, late) = (Some(Duration::from_secs(1)), Some(SETTLING));
        assert!(is_unsettled(Meaning::Rbac, soon));
        assert!(!is_unsettled(Meaning::Rbac, late));
        assert!(!is_unsettled(Meaning::Rbac, None));
        assert!(!is_unsettled(Meaning::Policy, soon));
    }

    #[test]
    fn a_chain_says_each_thing_once() {
        assert_eq!(chain(&Outer(Inner)), "outer: inner");
        assert_eq!(chain(&Repeats(Inner)), "wrapped: inner");
    }
}
