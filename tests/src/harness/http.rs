//! What a program under test serves over plain HTTP.

use std::error::Error;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The header Content-Type; empty for none.
    pub content_type: String,
    /// The body.
    pub body: String,
}

/// Asks once.
pub(super) async fn get(stream: TcpStream, path: &str) -> Result<Reply, Box<dyn Error + Send + Sync>> {
    let host = stream.peer_addr()?.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the sender.
    tokio::spawn(connection);
    let request = Request::get(path).header(header::HOST, host).body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    let content_type = answer.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().map(str::to_owned));
    let content_type = content_type.transpose()?.unwrap_or_default();
    let body = String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?;
    Ok(Reply { status, content_type, body })
}
