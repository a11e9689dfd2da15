//! A proxy in front of a real kube-apiserver that goes wrong on demand.
//!
//! To its clients it is an HTTPS server on 127.0.0.1, HTTP/2 or HTTP/1.1 as they like, as the [`Identity`] it is given:
//! the apiserver's own, or one that no client can take for it. What they send goes to the apiserver with all its headers, so with the client's own
//! token; client certificates and protocol upgrades (`exec`, `port-forward`) do not pass. Answers are streamed as they
//! come, watches included.
//!
//! A rule decides what happens to each request ([`Action`]); the connections themselves are refused, cut, left unheard
//! or frozen by methods of [`Proxy`]. Everything may be changed at any time, from any thread.

mod body;
mod connection;
mod exchange;
mod forward;
mod hold;
mod listener;
mod record;
mod replay;
mod rule;
mod serve;
mod tap;
mod tls;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, mpsc as blocking},
    thread::JoinHandle,
    time::Duration,
};

use tokio::{runtime, sync::mpsc};
use tokio_rustls::TlsAcceptor;

use self::{
    connection::Connections,
    forward::Upstream,
    listener::{Door, Port},
    record::Record,
    serve::{Shared, serve},
};
pub use self::{
    hold::{Arrivals, Gate, Held, NothingHeld, Verdict, gate},
    listener::NewConnections,
    record::{NotSeen, Recorded},
    rule::{Action, Answer, Seen, times},
    tap::{Tap, Tapped, Taps, tap},
    tls::{Identity, Protocols, TlsError, client_config},
};

/// The proxy could not start, or its port not be opened again.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// TLS could not be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The port or the thread could not be had.
    #[error("the fault proxy cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// The proxy's thread is gone, which only a panic there does.
    #[error("the fault proxy has ended; its thread's panic message says why")]
    Ended,
}

/// Asks for a change of who may connect, and says where to report it done.
type DoorChange = (NewConnections, blocking::Sender<io::Result<()>>);

/// A running proxy. It ends, with all its connections, when dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// None once the thread was told to end.
    door: Option<mpsc::UnboundedSender<DoorChange>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that passes everything to the apiserver at `upstream`, whose certificate one of the CAs in
    /// `upstream_ca_pem` signed for that address. `identity` is what the proxy's own clients see.
    ///
    /// # Errors
    /// When a PEM is none, or no port or thread is to be had.
    pub fn start(upstream: SocketAddr, upstream_ca_pem: &str, identity: &Identity) -> Result<Self, ProxyError> {
        Self::start_speaking(Protocols::Both, upstream, upstream_ca_pem, identity)
    }

    /// The same, speaking only these protocols.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_speaking(
        protocols: Protocols,
        upstream: SocketAddr,
        upstream_ca_pem: &str,
        identity: &Identity,
    ) -> Result<Self, ProxyError> {
        let shared = Arc::new(Shared {
            rule: Mutex::new(Box::new(|_| Action::Pass)),
            record: Arc::new(Record::default()),
            connections: Connections::default(),
            upstream: Upstream::new(upstream, upstream_ca_pem)?,
            tls: TlsAcceptor::from(Arc::new(identity.server_config(protocols)?)),
        });
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let port = Port::reserve()?;
        let address = port.address();
        let door = {
            let _inside = runtime.enter();
            Door::open(port)?
        };
        let (changes, received) = mpsc::unbounded_channel();
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || runtime.block_on(accept(accepting, door, received)))?;
        Ok(Self { address, shared, door: Some(changes), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as the URL of an API: `https://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Replaces the rule. Requests that are under way go on as the earlier one had it. The rule runs on the proxy's
    /// thread and must not block.
    pub fn set_rule(&self, rule: impl FnMut(&Seen) -> Action + Send + 'static) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// Changes what happens to clients that connect from now on; those that are connected stay so.
    ///
    /// # Errors
    /// When the port cannot be opened again.
    pub fn set_new_connections(&self, mode: NewConnections) -> Result<(), ProxyError> {
        let (done, is_done) = blocking::channel();
        self.door.as_ref().and_then(|door| door.send((mode, done)).ok()).ok_or(ProxyError::Ended)?;
        Ok(is_done.recv().map_err(|_| ProxyError::Ended)??)
    }

    /// Stalls all connections that there are: nothing is read, nothing written, none closed. New ones are not touched.
    pub fn freeze_connections(&self) {
        self.shared.connections.freeze();
    }

    /// Ends [`Self::freeze_connections`]: what waited on both sides is delivered.
    pub fn thaw_connections(&self) {
        self.shared.connections.thaw();
    }

    /// Closes all connections that there are.
    pub fn cut_connections(&self) {
        self.shared.connections.cut();
    }

    /// How many connections there have been that were served.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.shared.connections.count()
    }

    /// All requests so far, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.record.requests()
    }

    /// Waits until the requests are what `condition` wants, and returns them.
    ///
    /// # Errors
    /// When they are not `within` this time; it lists what they were then.
    pub fn wait_until(
        &self,
        within: Duration,
        condition: impl Fn(&[Recorded]) -> bool,
    ) -> Result<Vec<Recorded>, NotSeen> {
        self.shared.record.wait_until(within, condition)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.door = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was already printed, and a second one while dropping would abort the test.
            let _ = thread.join();
        }
    }
}

/// Accepts connections until the [`Proxy`] is dropped. The runtime ends with this, and takes all connections along.
async fn accept(shared: Arc<Shared>, mut door: Door, mut changes: mpsc::UnboundedReceiver<DoorChange>) {
    loop {
        tokio::select! {
            // Changes first: a client that connects after one must not meet the earlier mode.
            biased;
            change = changes.recv() => {
                let Some((mode, done)) = change else { return };
                // Nobody listens any more only if the asking thread is gone.
                let _ = done.send(door.set(mode));
            }
            stream = door.next() => {
                let connection = shared.connections.add();
                tokio::spawn(serve(Arc::clone(&shared), stream, connection));
            }
        }
    }
}
