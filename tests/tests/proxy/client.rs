//! A client with exactly one connection, so that what happens to that connection shows.

use std::sync::Arc;

use bytes::Bytes;
use cluster_tests::proxy::{Proxy, client_config};
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// The token that every request carries.
pub(crate) const AUTHORIZATION: &str = "Bearer t";

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

pub(crate) struct Client {
    sender: Sender,
    connection: JoinHandle<()>,
}

/// A request under way.
pub(crate) type Pending = JoinHandle<hyper::Result<Response<Incoming>>>;

/// TCP to the proxy and the TLS handshake.
pub(crate) async fn handshake(proxy: &Proxy, protocol: Protocol) -> std::io::Result<TlsStream<TcpStream>> {
    let mut tls = client_config(&crate::IDENTITY.ca_pem).unwrap();
    tls.alpn_protocols = match protocol {
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    let stream = TcpStream::connect(proxy.address()).await?;
    let name = ServerName::from(proxy.address().ip());
    let stream = TlsConnector::from(Arc::new(tls.clone())).connect(name, stream).await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), tls.alpn_protocols.first().map(Vec::as_slice));
    Ok(stream)
}

impl Client {
    pub(crate) async fn connect(proxy: &Proxy, protocol: Protocol) -> Self {
        let io = TokioIo::new(crate::within("a TLS handshake", handshake(proxy, protocol)).await.unwrap());
        match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(io).await.unwrap();
                Self { sender: Sender::Http1(sender), connection: tokio::spawn(async { drop(connection.await) }) }
            }
            Protocol::Http2 => {
                let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
                Self { sender: Sender::Http2(sender), connection: tokio::spawn(async { drop(connection.await) }) }
            }
        }
    }

    /// Sends a request; a body makes it a POST.
    pub(crate) fn send(&mut self, path_and_query: &str, body: Option<&'static str>) -> Pending {
        let request = Request::builder()
            .method(if body.is_some() { Method::POST } else { Method::GET })
            .uri(match self.sender {
                Sender::Http1(_) => path_and_query.to_owned(),
                Sender::Http2(_) => format!("https://proxy{path_and_query}"),
            })
            .header(header::AUTHORIZATION, AUTHORIZATION)
            .body(Full::from(body.unwrap_or_default()))
            .unwrap();
        match &mut self.sender {
            Sender::Http1(sender) => tokio::spawn(sender.send_request(request)),
            Sender::Http2(sender) => tokio::spawn(sender.send_request(request)),
        }
    }

    /// Sends a GET and returns the answer's body.
    pub(crate) async fn get(&mut self, path_and_query: &str) -> String {
        let pending = self.send(path_and_query, None);
        text(answer(pending).await.unwrap()).await
    }

    /// Waits until the other side has closed the connection.
    pub(crate) async fn closed(&mut self) {
        crate::within("the end of the connection", &mut self.connection).await.unwrap();
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.connection.is_finished()
    }

    /// Closes the connection at once, as a killed process does.
    pub(crate) async fn kill(self) {
        self.connection.abort();
        let _ = self.connection.await;
    }
}

pub(crate) async fn answer(pending: Pending) -> hyper::Result<Response<Incoming>> {
    crate::within("an answer", pending).await.unwrap()
}

pub(crate) async fn text(answer: Response<Incoming>) -> String {
    let body = crate::within("a body", answer.into_body().collect()).await.unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}
