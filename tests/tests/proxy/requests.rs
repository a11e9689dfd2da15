//! What a rule does to a request.

use std::time::{Duration, Instant};

use cluster_tests::proxy::{Action, Answer, Proxy};
use http::{Method, StatusCode, header};

use crate::{
    DEADLINE, PROTOCOLS,
    client::{Client, answer, text},
    start,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn passes_requests_and_answers_unchanged() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let mut client = Client::connect(&proxy, protocol).await;

        assert_eq!(client.get("/a?b=c%2Fd").await, "GET /a?b=c%2Fd Bearer t ");
        let pending = client.send("/services", Some("{}"));
        let created = answer(pending).await.unwrap();

        assert_eq!(created.status(), StatusCode::CREATED);
        assert_eq!(created.headers()["audit-id"], "7");
        assert_eq!(text(created).await, "POST /services Bearer t {}");
        assert_eq!(upstream.carried_out().len(), 2, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn records_requests_in_order_with_connection_and_status() {
    let (_upstream, proxy) = start().await;
    for protocol in PROTOCOLS {
        let mut client = Client::connect(&proxy, protocol).await;
        client.get("/a").await;
        text(answer(client.send("/b?c", Some("{}"))).await.unwrap()).await;
    }

    let told: Vec<_> = proxy
        .requests()
        .into_iter()
        .map(|request| {
            let seen = request.seen;
            (seen.index, seen.connection, seen.method, seen.path_and_query, request.status)
        })
        .collect();
    assert_eq!(proxy.connection_count(), 2);
    assert_eq!(
        told,
        [
            (0, 0, Method::GET, "/a".to_owned(), Some(StatusCode::OK)),
            (1, 0, Method::POST, "/b?c".to_owned(), Some(StatusCode::CREATED)),
            (2, 1, Method::GET, "/a".to_owned(), Some(StatusCode::OK)),
            (3, 1, Method::POST, "/b?c".to_owned(), Some(StatusCode::CREATED)),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_in_the_apiservers_place() {
    let expired = r#"{"apiVersion":"v1","code":410,"kind":"Status","message":"too old","metadata":{},"reason":"Expired","status":"Failure"}"#;
    let table = [
        (Answer::too_many_requests(1), "Too many requests, please try again later.", Some("1"), Some("text/plain")),
        (Answer::failure(StatusCode::GONE, "Expired", "too old"), expired, None, Some("application/json")),
        (Answer::new(StatusCode::INTERNAL_SERVER_ERROR, "no"), "no", None, None),
        (Answer::new(StatusCode::UNAUTHORIZED, "who"), "who", None, None),
    ];
    let (upstream, proxy) = start().await;
    for protocol in PROTOCOLS {
        for (given, body, retry_after, content_type) in table.clone() {
            let status = given.status;
            proxy.set_rule(move |_| Action::Answer(given.clone()));
            let mut client = Client::connect(&proxy, protocol).await;

            let got = answer(client.send("/services", Some("{}"))).await.unwrap();

            let header = |name| got.headers().get(name).map(|value| value.to_str().unwrap());
            assert_eq!(got.status(), status);
            assert_eq!(header(header::RETRY_AFTER), retry_after);
            assert_eq!(header(header::CONTENT_TYPE), content_type);
            assert_eq!(header(header::CONTENT_LENGTH), Some(body.len().to_string().as_str()));
            assert_eq!(text(got).await, body);
            assert_eq!(proxy.requests().last().unwrap().status, Some(status));
        }
    }
    assert_eq!(upstream.carried_out(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn cut_before_closes_the_connection_and_nothing_is_done() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::CutBefore);
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));

        assert!(answer(pending).await.is_err());
        client.closed().await;
        assert_eq!(proxy.requests()[0].status, None);
        assert_eq!(upstream.carried_out().len(), 0, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn cut_after_closes_the_connection_and_it_is_done() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::CutAfter);
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));

        assert!(answer(pending).await.is_err());
        client.closed().await;
        assert_eq!(proxy.requests()[0].status, Some(StatusCode::CREATED));
        assert_eq!(upstream.carried_out(), ["POST /services Bearer t {}"], "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stall_before_leaves_the_connection_open_and_nothing_is_done() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        proxy.set_rule(|seen| if seen.index == 0 { Action::StallBefore } else { Action::Pass });
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));
        proxy.wait_until(DEADLINE, |requests| requests.len() == 1).unwrap();

        another_client_is_served(&proxy).await;
        assert!(!pending.is_finished() && client.is_open());
        assert_eq!(upstream.carried_out(), ["GET /other Bearer t "], "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn stall_after_leaves_the_connection_open_and_it_is_done() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        proxy.set_rule(|seen| if seen.index == 0 { Action::StallAfter } else { Action::Pass });
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));
        proxy.wait_until(DEADLINE, |requests| requests.iter().any(|request| request.status.is_some())).unwrap();

        another_client_is_served(&proxy).await;
        assert!(!pending.is_finished() && client.is_open());
        assert_eq!(upstream.carried_out()[0], "POST /services Bearer t {}", "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stalled_request_does_not_stop_others_on_its_http2_connection() {
    let (_upstream, proxy) = start().await;
    proxy.set_rule(|seen| if seen.path_and_query == "/stall" { Action::StallBefore } else { Action::Pass });
    let mut client = Client::connect(&proxy, crate::client::Protocol::Http2).await;

    let pending = client.send("/stall", None);
    proxy.wait_until(DEADLINE, |requests| !requests.is_empty()).unwrap();

    assert_eq!(client.get("/pass").await, "GET /pass Bearer t ");
    assert!(!pending.is_finished());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn delay_passes_later() {
    const DELAY: Duration = Duration::from_millis(50);
    for protocol in PROTOCOLS {
        let (_upstream, proxy) = start().await;
        proxy.set_rule(|_| Action::Delay(DELAY));
        let mut client = Client::connect(&proxy, protocol).await;

        let before = Instant::now();
        let body = client.get("/a").await;

        assert_eq!(body, "GET /a Bearer t ");
        assert!(before.elapsed() >= DELAY, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_dead_apiserver_looks_like_a_closed_connection() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        upstream.stop();
        drop(upstream);
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/a", None);

        assert!(answer(pending).await.is_err());
        client.closed().await;
    }
}

/// What makes "still no answer" more than a glance: a whole handshake and exchange have gone by meanwhile.
async fn another_client_is_served(proxy: &Proxy) {
    let mut other = Client::connect(proxy, crate::client::Protocol::Http2).await;
    assert_eq!(other.get("/other").await, "GET /other Bearer t ");
}
