//! Serves health and metrics over HTTP; what they say is decided elsewhere.
//!
//! Anyone who reaches the port may connect, so what a client can hold is bounded: one request a connection, a short time
//! for it, a small buffer, and few connections at once, of which a new one displaces the oldest, so that clients that
//! say nothing cannot keep out the kubelet's probe.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io::{self, ErrorKind},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE},
};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use crate::{health::Health, metrics::Metrics};

/// What clients can hold.
#[derive(Clone, Copy)]
struct Limits {
    connections: usize,
    header: Duration,
    connection: Duration,
}

const LIMITS: Limits = Limits {
    // Two probes and a scraper or two are at work; the rest is for bursts.
    connections: 64,
    // To send the header of a request.
    header: Duration::from_secs(5),
    // To send and read everything: scrapers give up earlier.
    connection: Duration::from_secs(30),
};

/// The most of a request that is kept: hyper takes no less.
const BUFFER: usize = 8 * 1024;

/// The pause after a failure to accept that is not the client's, such as no file descriptor left.
const PAUSE: Duration = Duration::from_secs(1);

/// <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers on `/livez`, `/readyz` and `/metrics` for as long as it is polled.
pub async fn serve(listener: TcpListener, health: Health, metrics: Metrics) {
    serve_within(LIMITS, listener, health, metrics).await;
}

async fn serve_within(limits: Limits, listener: TcpListener, health: Health, metrics: Metrics) {
    // With port 0 only this says where.
    tracing::debug!(address = ?listener.local_addr().ok(), "serving health and metrics");
    let mut connections = Connections(VecDeque::new());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.make_room(limits.connections);
                let connection = connection(limits, stream, health.clone(), metrics.clone());
                connections.0.push_back(tokio::spawn(connection).abort_handle());
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// The open connections, the oldest first.
struct Connections(VecDeque<AbortHandle>);

impl Connections {
    fn make_room(&mut self, limit: usize) {
        self.0.retain(|connection| !connection.is_finished());
        if self.0.len() >= limit
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}

async fn connection(limits: Limits, stream: TcpStream, health: Health, metrics: Metrics) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), &health, &metrics);
        async { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(BUFFER)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    match tokio::time::timeout(limits.connection, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection has failed"),
        Err(_) => tracing::debug!("a connection has lasted too long"),
    }
}

/// hyper leaves out the body of an answer to HEAD.
fn answer(method: &Method, path: &str, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match path {
        "/livez" | "/readyz" | "/metrics" if !is_read => {
            let mut answer = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n".to_owned());
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            answer
        }
        "/livez" => response(StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/readyz" => {
            let readiness = health.ready();
            let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            response(status, TEXT, readiness.to_string())
        }
        "/metrics" => {
            metrics.watches(&health.ready());
            if let Some(shown) = health.net_services() {
                metrics.net_services(&shown);
            }
            response(StatusCode::OK, OPEN_METRICS, metrics.encode())
        }
        _ => response(StatusCode::NOT_FOUND, TEXT, "there are /livez, /readyz and /metrics\n".to_owned()),
    }
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
