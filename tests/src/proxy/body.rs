//! Bodies of answers.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::connection::Connection;

/// What a client is answered with: the apiserver's stream, part of it, or a rule's own text.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, hyper::Error>;

pub(super) fn text(body: Bytes) -> AnswerBody {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

pub(super) fn stream(body: Incoming) -> AnswerBody {
    body.boxed_unsync()
}

pub(super) fn half(body: Incoming, connection: Arc<Connection>) -> AnswerBody {
    let left = body.size_hint().exact().map(|length| length / 2);
    Half { body, left, connection }.boxed_unsync()
}

pub(super) fn in_pieces(body: Incoming, size: usize) -> AnswerBody {
    InPieces { body, size: size.max(1), rest: Bytes::new() }.boxed_unsync()
}

/// A body in small pieces.
struct InPieces {
    body: Incoming,
    size: usize,
    /// What was read and not yet given.
    rest: Bytes,
}

impl Body for InPieces {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        while self.rest.is_empty() {
            let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) else { return Poll::Pending };
            match next.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(Err(_))) | None => return Poll::Ready(None),
            }
        }
        let size = self.size.min(self.rest.len());
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(size)))))
    }
}

/// Half of a body; where it ends, so does the connection.
struct Half {
    body: Incoming,
    /// Bytes still to give. None until the first piece of a streamed body tells.
    left: Option<u64>,
    connection: Arc<Connection>,
}

impl Body for Half {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.left == Some(0) {
            self.connection.cut();
            return Poll::Pending;
        }
        let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) else { return Poll::Pending };
        match next.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(mut data))) => {
                let length = data.len() as u64;
                let given = self.left.unwrap_or(length / 2).min(length);
                self.left = Some(self.left.unwrap_or(given) - given);
                data.truncate(usize::try_from(given).unwrap_or(usize::MAX));
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            // An empty body, or trailers: nothing is left that could be cut in half.
            Some(Ok(Err(_))) | None => {
                self.connection.cut();
                Poll::Pending
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
