//! What a test asks of etcd itself, past the apiserver.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};

/// Forgets all revisions before the newest: what the apiserver does every five minutes with those five minutes old.
///
/// # Panics
/// When etcd does not do it.
pub(super) async fn compact(url: &str) {
    // Base64 of any key: the answer's header has the store's revision.
    let newest = ask(url, "/v3/kv/range", &json!({"key": "AA=="})).await;
    let revision =
        newest["header"]["revision"].as_str().unwrap_or_else(|| panic!("no revision in {newest}")).to_owned();
    ask(url, "/v3/kv/compaction", &json!({"revision": revision, "physical": true})).await;
}

/// etcd's gRPC gateway: the calls of its API as JSON over HTTP/1.1.
async fn ask(url: &str, path: &str, body: &Value) -> Value {
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("{url}{path}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Full::from(body.to_string()))
        .unwrap_or_else(|error| panic!("{url}{path} is no URL: {error}"));
    let answer = client.request(request).await.unwrap_or_else(|error| panic!("etcd does not answer: {error}"));
    let status = answer.status();
    let text = answer.into_body().collect().await.unwrap_or_else(|error| panic!("etcd breaks off: {error}")).to_bytes();
    assert!(status.is_success(), "etcd answers {path} with {status}: {}", String::from_utf8_lossy(&text));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("etcd answers {path} with no JSON: {error}"))
}
