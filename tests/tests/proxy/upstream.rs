//! The server behind the proxy: says what it was sent, or streams what the test gives it.

use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use cluster_tests::proxy::Identity;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, channel::Channel, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{net::TcpListener, sync::mpsc, task::AbortHandle};
use tokio_rustls::TlsAcceptor;

/// Its path answers with a stream; [`Upstream::watch`] has the writing end.
pub(crate) const WATCH: &str = "/watch";

/// Writes into an answer that is being streamed.
pub(crate) type Events = http_body_util::channel::Sender<Bytes>;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) identity: Identity,
    carried_out: Arc<Mutex<Vec<String>>>,
    watches: mpsc::UnboundedReceiver<Events>,
    accepting: AbortHandle,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let identity = Identity::generate().unwrap();
        let certificate = CertificateDer::from_pem_slice(identity.certificate_pem.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let carried_out = Arc::new(Mutex::default());
        let (watch, watches) = mpsc::unbounded_channel();
        let server = Server { carried_out: Arc::clone(&carried_out), watch };
        let accepting = tokio::spawn(server.accept(listener, TlsAcceptor::from(Arc::new(tls)))).abort_handle();
        Self { address, identity, carried_out, watches, accepting }
    }

    /// The requests that it has carried out, each as `METHOD path?query authorization body`.
    pub(crate) fn carried_out(&self) -> Vec<String> {
        self.carried_out.lock().unwrap().clone()
    }

    /// The writing end of the next streamed answer.
    pub(crate) async fn watch(&mut self) -> Events {
        crate::within("a watch at the upstream", self.watches.recv()).await.unwrap()
    }

    /// Takes no more connections.
    pub(crate) fn stop(&self) {
        self.accepting.abort();
    }
}

#[derive(Clone)]
struct Server {
    carried_out: Arc<Mutex<Vec<String>>>,
    watch: mpsc::UnboundedSender<Events>,
}

impl Server {
    async fn accept(self, listener: TcpListener, tls: TlsAcceptor) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (server, tls) = (self.clone(), tls.clone());
            tokio::spawn(async move {
                let stream = tls.accept(stream).await.unwrap();
                let service = service_fn(move |request| server.clone().answer(request));
                let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    }

    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let authorization = head.headers.get("authorization").map_or("-", |value| value.to_str().unwrap());
        let told = format!("{} {} {authorization} {body}", head.method, head.uri.path_and_query().unwrap());
        self.carried_out.lock().unwrap().push(told.clone());
        let mut response = if head.uri.path() == WATCH {
            let (events, stream) = Channel::new(8);
            self.watch.send(events).unwrap();
            Response::new(stream.boxed_unsync())
        } else {
            Response::new(Full::from(told).boxed_unsync())
        };
        if head.method == http::Method::POST {
            *response.status_mut() = StatusCode::CREATED;
        }
        response.headers_mut().insert("audit-id", "7".parse().unwrap());
        Ok(response)
    }
}
