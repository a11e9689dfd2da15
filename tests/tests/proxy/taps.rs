//! Answers that the test writes into while they are streamed.

use std::{future::Future, task::Poll};

use bytes::Bytes;
use cluster_tests::proxy::{Action, Protocols, Proxy, Tapped, tap};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    DEADLINE, IDENTITY, PROTOCOLS,
    client::{Client, Protocol, answer, handshake},
    start,
    upstream::{Events, Upstream, WATCH},
    within,
};

async fn write(events: &mut Events, text: &'static str) {
    within("room for an event", events.send_data(Bytes::from_static(text.as_bytes()))).await.unwrap();
}

async fn piece(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    let frame = within("a piece of the body", body.frame()).await?;
    Some(frame.map(|frame| frame.into_data().unwrap()))
}

async fn is_silent(body: &mut Incoming) -> bool {
    let mut next = std::pin::pin!(body.frame());
    std::future::poll_fn(|context| Poll::Ready(next.as_mut().poll(context).is_pending())).await
}

/// A watch through a proxy that taps it.
struct Watch {
    _upstream: Upstream,
    _proxy: Proxy,
    client: Client,
    events: Events,
    body: Incoming,
    tapped: Tapped,
}

async fn watch(protocol: Protocol) -> Watch {
    let (mut upstream, proxy) = start().await;
    let (tap, taps) = tap();
    proxy.set_rule(move |_| Action::Tap(tap.clone()));
    let mut client = Client::connect(&proxy, protocol).await;
    let pending = client.send(WATCH, None);
    let events = upstream.watch().await;
    let body = answer(pending).await.unwrap().into_body();
    let tapped = taps.next(DEADLINE).unwrap();
    assert_eq!(tapped.seen.path_and_query, WATCH);
    Watch { _upstream: upstream, _proxy: proxy, client, events, body, tapped }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_test_writes_between_the_events() {
    for protocol in PROTOCOLS {
        let mut watch = watch(protocol).await;
        write(&mut watch.events, "one\n").await;
        assert_eq!(piece(&mut watch.body).await.unwrap().unwrap(), "one\n", "{protocol:?}");
        watch.tapped.write("two\n");
        assert_eq!(piece(&mut watch.body).await.unwrap().unwrap(), "two\n");
        write(&mut watch.events, "three\n").await;
        assert_eq!(piece(&mut watch.body).await.unwrap().unwrap(), "three\n");
        assert!(watch.client.is_open());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_mute_answer_is_open_and_silent() {
    for protocol in PROTOCOLS {
        let mut watch = watch(protocol).await;
        watch.tapped.mute();
        watch.tapped.write("last\n");
        assert_eq!(piece(&mut watch.body).await.unwrap().unwrap(), "last\n", "{protocol:?}");
        write(&mut watch.events, "one\n").await;
        drop((watch.events, watch.tapped));
        assert!(is_silent(&mut watch.body).await && watch.client.is_open());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_test_ends_an_answer_well_or_badly() {
    for protocol in PROTOCOLS {
        let whole = watch(protocol).await;
        whole.tapped.write("half");
        whole.tapped.end();
        let rest = within("the end", whole.body.collect()).await.unwrap().to_bytes();
        assert_eq!(rest, "half", "{protocol:?}");
        assert!(whole.client.is_open());

        let mut broken = watch(protocol).await;
        broken.tapped.write("half");
        broken.tapped.cut();
        assert_eq!(piece(&mut broken.body).await.unwrap().unwrap(), "half");
        assert!(piece(&mut broken.body).await.unwrap().is_err());
        broken.client.closed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_in_pieces_is_the_same_answer() {
    for protocol in PROTOCOLS {
        let (_upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::InPieces(3));
        let mut client = Client::connect(&proxy, protocol).await;
        assert_eq!(client.get("/0123456").await, "GET /0123456 Bearer t ", "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_proxy_of_http_1_refuses_http_2() {
    let upstream = Upstream::start().await;
    let proxy =
        Proxy::start_speaking(Protocols::Http1, upstream.address, &upstream.identity.ca_pem, &IDENTITY).unwrap();
    assert!(handshake(&proxy, Protocol::Http2).await.is_err());
    assert_eq!(Client::connect(&proxy, Protocol::Http1).await.get("/a").await, "GET /a Bearer t ");
}
