//! The way to the real apiserver.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, Uri, Version, header, uri::PathAndQuery};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use super::tls::{TlsError, client_config};

/// Headers that concern one connection and not the request (RFC 9110, section 7.6.1). HTTP/2 forbids them, and Host
/// names the proxy there.
const HOP_BY_HOP: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::HOST];

/// The request did not get to the apiserver, or its answer not from there.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForwardError {
    #[error("the client did not send its whole request: {0}")]
    Request(#[from] hyper::Error),
    #[error("the apiserver's address cannot be written as a URI: {0}")]
    Uri(#[from] http::Error),
    #[error("the apiserver did not answer: {0}")]
    Upstream(#[from] hyper_util::client::legacy::Error),
}

/// The apiserver, reached over HTTP/2 whatever the client speaks.
#[derive(Clone)]
pub(super) struct Upstream {
    address: SocketAddr,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Upstream {
    pub(super) fn new(address: SocketAddr, ca_pem: &str) -> Result<Self, TlsError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(client_config(ca_pem)?)
            .https_only()
            .enable_all_versions()
            .wrap_connector(tcp);
        Ok(Self { address, client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    /// Has the apiserver carry out `request`. The answer is there when its head is; its body follows as it comes.
    pub(super) async fn send(&self, request: Request<Bytes>) -> Result<Response<Incoming>, ForwardError> {
        let (mut head, body) = request.into_parts();
        head.uri = Uri::builder()
            .scheme("https")
            .authority(self.address.to_string())
            .path_and_query(head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")))
            .build()?;
        head.version = Version::HTTP_11;
        remove_hop_by_hop(&mut head.headers);
        let mut answer = self.client.request(Request::from_parts(head, Full::new(body))).await?;
        *answer.version_mut() = Version::HTTP_11;
        remove_hop_by_hop(answer.headers_mut());
        Ok(answer)
    }
}

/// The whole of a client's request. Kubernetes' requests are single objects, which the apiserver too reads whole; and
/// a request that is held or lost must not depend on its client any more.
pub(super) async fn whole(request: Request<Incoming>) -> Result<Request<Bytes>, ForwardError> {
    let (head, body) = request.into_parts();
    Ok(Request::from_parts(head, body.collect().await?.to_bytes()))
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}
