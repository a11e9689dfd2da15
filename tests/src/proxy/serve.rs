//! Serving one connection.

use std::{
    future::{Future, pending, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
};

use http::{Request, Response, uri::PathAndQuery};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::{
    body::AnswerBody,
    connection::{Connection, Connections, Socket},
    exchange::{Exchange, Outcome},
    forward::Upstream,
    record::Record,
    rule::{Action, Seen},
};

/// Decides what happens to each request.
pub(super) type Rule = Box<dyn FnMut(&Seen) -> Action + Send>;

/// What all connections share.
pub(super) struct Shared {
    pub(super) rule: Mutex<Rule>,
    pub(super) record: Arc<Record>,
    pub(super) connections: Connections,
    pub(super) upstream: Upstream,
    pub(super) tls: TlsAcceptor,
}

/// Serves a connection until its client, or a cut, ends it.
pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream, connection: Arc<Connection>) {
    // Without it each answer could wait for the acknowledgement of the one before; a failure costs only time.
    let _ = stream.set_nodelay(true);
    let socket = Socket { stream, connection: Arc::clone(&connection) };
    let mut served = pin!(speak(shared, socket, Arc::clone(&connection)));
    poll_fn(|context| {
        // Asked before the poll, so that what was given for writing before the cut is written by it.
        let cut = connection.is_cut(context);
        match served.as_mut().poll(context) {
            Poll::Pending if !cut => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
    .await;
}

/// TLS and HTTP on one connection. How either fails is the client's affair: it is what the tests look at.
async fn speak(shared: Arc<Shared>, socket: Socket, connection: Arc<Connection>) {
    let Ok(stream) = shared.tls.accept(socket).await else { return };
    let service = service_fn(move |request| answer(Arc::clone(&shared), Arc::clone(&connection), request));
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// Answers one request. An error can only be that of a rule that panicked; it ends the connection.
async fn answer(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, tokio::task::JoinError> {
    let path_and_query = request.uri().path_and_query().map_or_else(String::new, PathAndQuery::to_string);
    let seen = shared.record.add(request.method().clone(), path_and_query, connection.index);
    let action = (shared.rule.lock().unwrap_or_else(PoisonError::into_inner))(&seen);
    let exchange = Exchange {
        seen,
        upstream: shared.upstream.clone(),
        record: Arc::clone(&shared.record),
        connection: Arc::clone(&connection),
    };
    // A task of its own: hyper drops this future when the client goes, the exchange goes on.
    match tokio::spawn(exchange.carry_out(request, action)).await? {
        Outcome::Answer(response) => Ok(response),
        Outcome::Cut => {
            connection.cut();
            pending().await
        }
        Outcome::Stall => pending().await,
    }
}
