//! What a program under test serves over plain HTTP.

use std::{error::Error, net::SocketAddr};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Empty};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};

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

/// Asks once, on a connection of its own.
pub(super) async fn get(address: SocketAddr, path: &str) -> Result<Reply, Box<dyn Error + Send + Sync>> {
    let client = Client::builder(TokioExecutor::new()).timer(TokioTimer::new()).build_http::<Empty<Bytes>>();
    let request = Request::get(format!("http://{address}{path}")).header(header::CONNECTION, "close");
    let answer = client.request(request.body(Empty::new())?).await?;
    let status = answer.status().as_u16();
    let content_type = answer.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().map(str::to_owned));
    let content_type = content_type.transpose()?.unwrap_or_default();
    let body = String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?;
    Ok(Reply { status, content_type, body })
}
