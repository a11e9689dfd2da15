//! Answers into which the test writes while they are streamed: what a watch says, and when it says nothing.

use std::{
    pin::Pin,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use tokio::sync::mpsc;

use super::{body::AnswerBody, connection::Connection, hold::NothingHeld, rule::Seen};

/// Where a rule puts the answers that the test writes into, in [`Action::Tap`](super::Action::Tap).
/// A clone is the same tap.
#[derive(Clone, Debug)]
pub struct Tap(Sender<Tapped>);

/// The test's side of a tap: the answers that have begun.
#[derive(Debug)]
pub struct Taps(Receiver<Tapped>);

/// One answer. Dropped, it goes on as the apiserver has it, unless it is mute.
#[derive(Debug)]
pub struct Tapped {
    /// The request.
    pub seen: Seen,
    orders: mpsc::UnboundedSender<Order>,
}

#[derive(Debug)]
enum Order {
    Write(Bytes),
    Mute,
    End,
    Cut,
}

/// Makes a tap.
#[must_use]
pub fn tap() -> (Tap, Taps) {
    let (sender, receiver) = channel();
    (Tap(sender), Taps(receiver))
}

impl Taps {
    /// The next answer, in the order in which they began. Blocks the thread until then.
    ///
    /// # Errors
    /// When none began `within` this time.
    pub fn next(&self, within: Duration) -> Result<Tapped, NothingHeld> {
        self.0.recv_timeout(within).map_err(|error| match error {
            RecvTimeoutError::Timeout => NothingHeld::Late(within),
            RecvTimeoutError::Disconnected => NothingHeld::NoRule,
        })
    }
}

impl Tapped {
    /// Whether somebody still receives it. It is over when it has ended, when its connection has, or when the client wants no
    /// more of it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.orders.is_closed()
    }

    /// Writes these bytes into the body, between two of the apiserver's pieces. An event of a watch is one piece.
    pub fn write(&self, bytes: impl Into<Bytes>) {
        self.order(Order::Write(bytes.into()));
    }

    /// From now on nothing that the apiserver says gets through, not even its end.
    pub fn mute(&self) {
        self.order(Order::Mute);
    }

    /// Ends the body, as if it were complete.
    pub fn end(self) {
        self.order(Order::End);
    }

    /// Closes the connection when what was written before is delivered.
    pub fn cut(self) {
        self.order(Order::Cut);
    }

    fn order(&self, order: Order) {
        // The client is gone; then there is nobody to tell.
        let _ = self.orders.send(order);
    }
}

impl Tap {
    /// Tells the test, and returns the body that it writes into.
    pub(super) fn body(&self, seen: Seen, answer: Incoming, connection: Arc<Connection>) -> AnswerBody {
        let (orders, received) = mpsc::unbounded_channel();
        // A test that looks no more leaves the answer as it is.
        let _ = self.0.send(Tapped { seen, orders });
        Written { answer, orders: received, mute: false, connection }.boxed_unsync()
    }
}

/// The apiserver's body with what the test writes.
struct Written {
    answer: Incoming,
    orders: mpsc::UnboundedReceiver<Order>,
    mute: bool,
    connection: Arc<Connection>,
}

impl Body for Written {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        while let Poll::Ready(Some(order)) = self.orders.poll_recv(context) {
            match order {
                Order::Write(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Order::Mute => self.mute = true,
                Order::End => return Poll::Ready(None),
                Order::Cut => {
                    self.connection.cut();
                    self.mute = true;
                }
            }
        }
        if self.mute {
            return Poll::Pending;
        }
        Pin::new(&mut self.answer).poll_frame(context)
    }
}
