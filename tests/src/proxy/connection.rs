//! One client's connection: bytes that can be frozen, and a way to close it from anywhere.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// The handle of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// How many connections were accepted before it.
    pub(super) index: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    frozen: bool,
    cut: bool,
    /// One is enough: a connection's bytes and its end are all polled by the task that serves it.
    waker: Option<Waker>,
}

impl Connection {
    /// Closes the connection. What was already given to it for writing is written first.
    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.cut = true;
        wake(&mut state);
    }

    /// Whether [`Self::cut`] was called; if not, the task is woken when it is.
    pub(super) fn is_cut(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
        state.waker = Some(context.waker().clone());
        state.cut
    }

    fn set_frozen(&self, frozen: bool) {
        let mut state = self.state();
        state.frozen = frozen;
        wake(&mut state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(state: &mut State) {
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

/// All connections of a proxy.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<Vec<Weak<Connection>>>);

impl Connections {
    pub(super) fn add(&self) -> Arc<Connection> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Arc::new(Connection { index: all.len(), state: Mutex::default() });
        all.push(Arc::downgrade(&connection));
        connection
    }

    /// How many there have been.
    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn freeze(&self) {
        self.for_each(|connection| connection.set_frozen(true));
    }

    pub(super) fn thaw(&self) {
        self.for_each(|connection| connection.set_frozen(false));
    }

    pub(super) fn cut(&self) {
        self.for_each(Connection::cut);
    }

    fn for_each(&self, act: impl Fn(&Connection)) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).for_each(|connection| act(&connection));
    }
}

/// The bytes of a connection, beneath TLS. While it is frozen nothing is read and nothing written. The lock is held
/// during each read and write, so that none is under way any more when a freeze has returned.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) connection: Arc<Connection>,
}

impl Socket {
    fn unless_frozen<T>(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        act: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let socket = self.get_mut();
        let mut state = socket.connection.state();
        if state.frozen {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        act(Pin::new(&mut socket.stream), context)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(context, |stream, context| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_frozen(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_frozen(context, AsyncWrite::poll_shutdown)
    }
}
