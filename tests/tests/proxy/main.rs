//! The fault proxy, as its clients see it, over HTTP/1.1 and HTTP/2, in front of a small server of the test's own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

mod client;
mod connections;
mod holds;
mod requests;
mod streams;
mod taps;
mod upstream;

use std::{sync::LazyLock, time::Duration};

use cluster_tests::proxy::{Identity, Proxy};

use crate::{client::Protocol, upstream::Upstream};

/// Long enough for any step here on a busy machine; only a failing test waits that long.
const DEADLINE: Duration = Duration::from_secs(20);

const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

/// What the proxy is to all clients here.
static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity::generate().unwrap());

async fn start() -> (Upstream, Proxy) {
    let upstream = Upstream::start().await;
    let proxy = Proxy::start(upstream.address, &upstream.identity.ca_pem, &IDENTITY).unwrap();
    (upstream, proxy)
}

/// What `future` gives, or a failure that says what was waited for.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {DEADLINE:?}"),
    }
}
