//! A watch whose events come twice, and late.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};

use super::body::AnswerBody;

pub(super) fn twice(watch: Incoming) -> AnswerBody {
    Twice { watch, begun: BytesMut::new(), lines: Lines::default() }.boxed_unsync()
}

struct Twice {
    watch: Incoming,
    /// A line that is not whole yet.
    begun: BytesMut,
    lines: Lines,
}

/// Lines in the order in which they are given: each again after the next one.
#[derive(Default)]
struct Lines {
    due: VecDeque<Bytes>,
    last: Option<Bytes>,
}

impl Lines {
    fn add(&mut self, line: Bytes) {
        self.due.push_back(line.clone());
        self.due.extend(self.last.replace(line));
    }
}

impl Body for Twice {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            if let Some(line) = self.lines.due.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(line))));
            }
            let Poll::Ready(next) = Pin::new(&mut self.watch).poll_frame(context) else { return Poll::Pending };
            match next.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.begun.extend_from_slice(&data),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(Err(_))) | None => return Poll::Ready(None),
            }
            while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line = self.begun.split_to(end + 1).freeze();
                self.lines.add(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_comes_again_after_the_next() {
        let mut lines = Lines::default();
        for line in ["one", "two", "three"] {
            lines.add(Bytes::from_static(line.as_bytes()));
        }
        assert_eq!(lines.due, ["one", "two", "one", "three", "two"]);
    }
}
