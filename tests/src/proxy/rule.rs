//! What a rule sees of a request, and what it can do to it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::{hold::Gate, tap::Tap};

/// A request as a rule sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many requests the proxy had seen before this one, on all connections.
    pub index: usize,
    /// The request's method.
    pub method: Method,
    /// Path and query, as the client wrote them.
    pub path_and_query: String,
    /// Which connection it came on: how many the proxy had accepted before that one.
    pub connection: usize,
}

/// What happens to a request.
#[derive(Debug)]
pub enum Action {
    /// Hand it to the apiserver, and its answer to the client.
    Pass,
    /// Answer without the apiserver.
    Answer(Answer),
    /// Close the connection; the apiserver never sees the request.
    CutBefore,
    /// Have the apiserver carry it out, then close the connection: the lost answer.
    CutAfter,
    /// Keep the connection open and never answer; the apiserver never sees the request.
    StallBefore,
    /// Have the apiserver carry it out, keep the connection open and never answer.
    StallAfter,
    /// Wait, then pass.
    Delay(Duration),
    /// Wait for the test before the apiserver sees the request.
    HoldBefore(Gate),
    /// Have the apiserver carry it out, and wait for the test before the client sees the answer.
    HoldAfter(Gate),
    /// Pass the answer's head and half of its body, then close the connection. The half is that of the length that the
    /// answer declares; of a streamed answer it is that of the first piece, so a watch breaks within an event.
    Truncate,
    /// Pass the answer in pieces of this many bytes: no boundary of a piece is one of a line.
    InPieces(usize),
    /// Pass a watch's lines, and each once more after the one that follows it: events come twice, and late.
    Replay,
    /// Pass the answer's head, and let the test write into its body.
    Tap(Tap),
}

/// An answer that a rule gives in the apiserver's place.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The headers; Content-Length is added.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// An answer without headers of its own.
    pub fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, headers: HeaderMap::new(), body: body.into() }
    }

    /// The same answer with one more header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The 429 of API priority and fairness: plain text, not a Status (observed on 1.36).
    #[must_use]
    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests, please try again later.")
            .with(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"))
            .with(header::RETRY_AFTER, retry_after_seconds.into())
    }

    /// A failure as the apiserver words its own: a Status object with `reason`, such as `Expired`.
    #[must_use]
    pub fn failure(status: StatusCode, reason: &str, message: &str) -> Self {
        let object = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status.as_u16(),
        });
        Self::new(status, object.to_string()).with(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }
}

/// A rule: so many of these requests suffer, all others pass.
pub fn times(
    is: impl Fn(&Seen) -> bool + Send + 'static,
    mut left: usize,
    action: impl Fn() -> Action + Send + 'static,
) -> impl FnMut(&Seen) -> Action + Send + 'static {
    move |seen| {
        if left == 0 || !is(seen) {
            return Action::Pass;
        }
        left -= 1;
        action()
    }
}
