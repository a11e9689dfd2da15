//! One request and its answer: what the rule wants is done here.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use super::{
    body::{self, AnswerBody},
    connection::Connection,
    forward::{ForwardError, Upstream, whole},
    hold::Verdict,
    record::Record,
    replay,
    rule::{Action, Answer, Seen},
};

/// What the client gets.
pub(super) enum Outcome {
    Answer(Response<AnswerBody>),
    Cut,
    Stall,
}

/// A request under way. It does not end with its client: what has left a client is carried out.
pub(super) struct Exchange {
    pub(super) seen: Seen,
    pub(super) upstream: Upstream,
    pub(super) record: Arc<Record>,
    pub(super) connection: Arc<Connection>,
}

impl Exchange {
    /// Does what the rule wants. An apiserver that does not answer looks to the client as it would without the proxy:
    /// the connection ends.
    pub(super) async fn carry_out(self, request: Request<Incoming>, action: Action) -> Outcome {
        self.try_carry_out(request, action).await.unwrap_or(Outcome::Cut)
    }

    async fn try_carry_out(self, request: Request<Incoming>, action: Action) -> Result<Outcome, ForwardError> {
        let request = whole(request).await?;
        match action {
            Action::Pass => {}
            Action::Answer(answer) => return Ok(self.answer(answer)),
            Action::CutBefore => return Ok(Outcome::Cut),
            Action::StallBefore => return Ok(Outcome::Stall),
            Action::Delay(duration) => tokio::time::sleep(duration).await,
            Action::HoldBefore(gate) => {
                if gate.wait(self.seen.clone(), None).await == Verdict::Cut {
                    return Ok(Outcome::Cut);
                }
            }
            Action::CutAfter => {
                self.send(request).await?;
                return Ok(Outcome::Cut);
            }
            Action::StallAfter => {
                self.send(request).await?;
                return Ok(Outcome::Stall);
            }
            Action::HoldAfter(gate) => {
                let answer = self.send(request).await?;
                return Ok(match gate.wait(self.seen, Some(answer.status())).await {
                    Verdict::Pass => Outcome::Answer(answer.map(body::stream)),
                    Verdict::Cut => Outcome::Cut,
                });
            }
            Action::Truncate => {
                let answer = self.send(request).await?;
                return Ok(Outcome::Answer(answer.map(|whole| body::half(whole, self.connection))));
            }
            Action::InPieces(size) => {
                let answer = self.send(request).await?;
                return Ok(Outcome::Answer(answer.map(|whole| body::in_pieces(whole, size))));
            }
            Action::Replay => {
                return Ok(Outcome::Answer(self.send(request).await?.map(replay::twice)));
            }
            Action::Tap(tap) => {
                let answer = self.send(request).await?;
                return Ok(Outcome::Answer(answer.map(|whole| tap.body(self.seen, whole, self.connection))));
            }
        }
        Ok(Outcome::Answer(self.send(request).await?.map(body::stream)))
    }

    async fn send(&self, request: Request<bytes::Bytes>) -> Result<Response<Incoming>, ForwardError> {
        let answer = self.upstream.send(request).await?;
        self.record.answered(self.seen.index, answer.status());
        Ok(answer)
    }

    fn answer(&self, answer: Answer) -> Outcome {
        self.record.answered(self.seen.index, answer.status);
        let mut response = Response::new(body::text(answer.body));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Outcome::Answer(response)
    }
}
