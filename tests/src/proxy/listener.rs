//! The port: who may connect, and how that goes wrong.

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpSocket, TcpStream},
};

/// What happens to a client that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewConnections {
    /// It is served.
    Serve,
    /// It is refused: nothing listens on the port.
    Refuse,
    /// It is accepted, and closed when its first bytes (the TLS ClientHello) have come.
    CutHandshake,
    /// It is accepted and never hears anything: no byte, no FIN. It stays so whatever is set later.
    BlackHole,
}

/// Connections that the kernel queues while the proxy is busy: more than any test opens at once.
const BACKLOG: u32 = 1024;

/// A port of 127.0.0.1 that stays the proxy's own, also while nothing listens there.
pub(super) struct Port {
    /// Bound, never listening: it keeps the kernel from giving the number to anyone else.
    _reserved: TcpSocket,
    address: SocketAddr,
}

impl Port {
    /// Takes a free port.
    pub(super) fn reserve() -> io::Result<Self> {
        let reserved = bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = reserved.local_addr()?;
        Ok(Self { _reserved: reserved, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to listen.
    fn listen(&self) -> io::Result<Listener> {
        let socket = bind(self.address)?.listen(BACKLOG)?.into_std()?;
        Ok(Listener { now: socket.try_clone()?, events: TcpListener::from_std(socket)? })
    }
}

/// One listening socket, twice: tokio's side only knows of clients that its event loop has told it of.
struct Listener {
    events: TcpListener,
    now: std::net::TcpListener,
}

impl Listener {
    /// Who has connected and was not accepted yet.
    fn backlog(&self) -> impl Iterator<Item = TcpStream> {
        self.now.incoming().map_while(Result::ok).filter_map(|stream| {
            stream.set_nonblocking(true).ok()?;
            TcpStream::from_std(stream).ok()
        })
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Two sockets may be bound to one port only if both say so, and neither listens at that moment.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// The port and who may connect to it now.
pub(super) struct Door {
    port: Port,
    listener: Option<Listener>,
    mode: NewConnections,
    /// Connections to serve that had come before the mode changed.
    waiting: VecDeque<TcpStream>,
    /// Connections that nobody speaks to; kept, for closing them would be a FIN.
    black_hole: Vec<TcpStream>,
}

impl Door {
    pub(super) fn open(port: Port) -> io::Result<Self> {
        let listener = Some(port.listen()?);
        Ok(Self { port, listener, mode: NewConnections::Serve, waiting: VecDeque::new(), black_hole: Vec::new() })
    }

    /// Changes who may connect. When it returns, the port is closed or open; who had connected before is treated as
    /// was said before.
    pub(super) fn set(&mut self, mode: NewConnections) -> io::Result<()> {
        for stream in self.listener.iter().flat_map(Listener::backlog).collect::<Vec<_>>() {
            let waiting = self.admit(stream);
            self.waiting.extend(waiting);
        }
        self.mode = mode;
        if mode == NewConnections::Refuse {
            self.listener = None;
        } else if self.listener.is_none() {
            self.listener = Some(self.port.listen()?);
        }
        Ok(())
    }

    /// The next connection that is to be served. Safe to drop at any point: none is lost.
    pub(super) async fn next(&mut self) -> TcpStream {
        loop {
            if let Some(stream) = self.waiting.pop_front() {
                return stream;
            }
            let Some(listener) = &self.listener else { return std::future::pending().await };
            // An accept that fails concerns a client that has already gone.
            let Ok((stream, _)) = listener.events.accept().await else { continue };
            if let Some(stream) = self.admit(stream) {
                return stream;
            }
        }
    }

    /// The connection, if it is to be served.
    fn admit(&mut self, stream: TcpStream) -> Option<TcpStream> {
        match self.mode {
            NewConnections::Serve => return Some(stream),
            NewConnections::CutHandshake => {
                tokio::spawn(cut_at_first_bytes(stream));
            }
            NewConnections::Refuse | NewConnections::BlackHole => self.black_hole.push(stream),
        }
        None
    }
}

/// Reads what has come and closes. Bytes left unread would make it a reset instead of an end; both happen.
async fn cut_at_first_bytes(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 16 * 1024]).await;
}
