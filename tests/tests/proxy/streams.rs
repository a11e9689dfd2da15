//! Answers that have no end, and answers that end too early.

use bytes::Bytes;
use cluster_tests::proxy::Action;
use http::header;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    PROTOCOLS,
    client::{Client, answer},
    start,
    upstream::{Events, WATCH},
    within,
};

async fn write(events: &mut Events, text: &'static str) {
    within("room for an event", events.send_data(Bytes::from_static(text.as_bytes()))).await.unwrap();
}

/// The next piece of a body: none at its end, an error where it breaks.
async fn piece(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    let frame = within("a piece of the body", body.frame()).await?;
    Some(frame.map(|frame| frame.into_data().unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_watch_is_delivered_event_by_event() {
    for protocol in PROTOCOLS {
        let (mut upstream, proxy) = start().await;
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send(WATCH, None);
        let mut events = upstream.watch().await;
        let mut body = answer(pending).await.unwrap().into_body();
        for event in ["one\n", "two\n", "three\n"] {
            write(&mut events, event).await;
            assert_eq!(piece(&mut body).await.unwrap().unwrap(), event, "{protocol:?}");
        }
        drop(events);

        let rest = within("the end", body.collect()).await.unwrap().to_bytes();
        assert!(rest.is_empty(), "the end arrives too");
        assert!(client.is_open());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_watch_ends_at_the_apiserver_when_its_client_goes() {
    for protocol in PROTOCOLS {
        let (mut upstream, proxy) = start().await;
        let mut client = Client::connect(&proxy, protocol).await;
        let pending = client.send(WATCH, None);
        let mut events = upstream.watch().await;
        let body = answer(pending).await.unwrap().into_body();

        drop(body);
        client.kill().await;

        within("the watch's end", async { while events.send_data(Bytes::from_static(b"event\n")).await.is_ok() {} })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn truncate_delivers_the_head_and_half_of_the_declared_length() {
    for protocol in PROTOCOLS {
        let (_upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::Truncate);
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/0123456", None);
        let got = answer(pending).await.unwrap();

        assert_eq!(got.headers()[header::CONTENT_LENGTH], "22");
        let mut body = got.into_body();
        assert_eq!(piece(&mut body).await.unwrap().unwrap(), "GET /012345", "{protocol:?}");
        assert!(piece(&mut body).await.unwrap().is_err());
        client.closed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn truncate_breaks_a_watch_within_its_first_event() {
    for protocol in PROTOCOLS {
        let (mut upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::Truncate);
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send(WATCH, None);
        let mut events = upstream.watch().await;
        write(&mut events, "halfhalf").await;
        let mut body = answer(pending).await.unwrap().into_body();

        assert_eq!(piece(&mut body).await.unwrap().unwrap(), "half", "{protocol:?}");
        assert!(piece(&mut body).await.unwrap().is_err());
        client.closed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_frozen_watch_is_silent_until_it_thaws_and_loses_nothing() {
    for protocol in PROTOCOLS {
        let (mut upstream, proxy) = start().await;
        let mut client = Client::connect(&proxy, protocol).await;
        let pending = client.send(WATCH, None);
        let mut events = upstream.watch().await;
        let mut body = answer(pending).await.unwrap().into_body();
        write(&mut events, "one\n").await;
        assert_eq!(piece(&mut body).await.unwrap().unwrap(), "one\n");

        proxy.freeze_connections();
        write(&mut events, "two\n").await;
        assert_eq!(Client::connect(&proxy, protocol).await.get("/a").await, "GET /a Bearer t ");
        let early = {
            let mut next = std::pin::pin!(piece(&mut body));
            std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context).is_ready())).await
        };
        assert!(!early && client.is_open(), "{protocol:?}");

        proxy.thaw_connections();
        write(&mut events, "three\n").await;
        drop(events);
        let rest = within("the rest", body.collect()).await.unwrap().to_bytes();
        assert_eq!(rest, "two\nthree\n");
    }
}
