//! What happens to connections as a whole.

use std::io;

use cluster_tests::proxy::{Identity, NewConnections, Proxy};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    PROTOCOLS,
    client::{Client, Protocol, answer, handshake, text},
    start, within,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn refuses_and_serves_again_on_the_same_port() {
    let (_upstream, proxy) = start().await;
    let address = proxy.address();
    let mut earlier = Client::connect(&proxy, Protocol::Http2).await;

    for _ in 0..3 {
        proxy.set_new_connections(NewConnections::Refuse).unwrap();
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(earlier.get("/earlier").await, "GET /earlier Bearer t ", "existing connections stay");

        proxy.set_new_connections(NewConnections::Serve).unwrap();
        assert_eq!(proxy.address(), address);
        assert_eq!(Client::connect(&proxy, Protocol::Http1).await.get("/new").await, "GET /new Bearer t ");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn cuts_during_the_tls_handshake() {
    let (_upstream, proxy) = start().await;
    proxy.set_new_connections(NewConnections::CutHandshake).unwrap();

    let error = within("the end of the handshake", handshake(&proxy, Protocol::Http2)).await.unwrap_err();

    let kinds = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
    assert!(kinds.contains(&error.kind()), "{error:?}");
    assert_eq!(proxy.connection_count(), 0);
    proxy.set_new_connections(NewConnections::Serve).unwrap();
    Client::connect(&proxy, Protocol::Http2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_black_hole_accepts_and_stays_silent() {
    let (_upstream, proxy) = start().await;
    proxy.set_new_connections(NewConnections::BlackHole).unwrap();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(b"anything").await.unwrap();

    proxy.set_new_connections(NewConnections::Serve).unwrap();
    assert_eq!(Client::connect(&proxy, Protocol::Http2).await.get("/a").await, "GET /a Bearer t ");

    let silence = stream.try_read(&mut [0]).unwrap_err();
    assert_eq!(silence.kind(), io::ErrorKind::WouldBlock, "neither a byte nor an end came");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_frozen_connection_delivers_nothing_until_it_thaws() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let mut client = Client::connect(&proxy, protocol).await;
        client.get("/before").await;

        proxy.freeze_connections();
        let pending = client.send("/services", Some("{}"));
        let mut other = Client::connect(&proxy, protocol).await;
        assert_eq!(other.get("/other").await, "GET /other Bearer t ", "new connections are not frozen");
        assert_eq!(upstream.carried_out(), ["GET /before Bearer t ", "GET /other Bearer t "]);
        assert!(!pending.is_finished() && client.is_open());

        proxy.thaw_connections();
        assert_eq!(text(answer(pending).await.unwrap()).await, "POST /services Bearer t {}", "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn cuts_all_connections_at_once_frozen_or_not() {
    let (_upstream, proxy) = start().await;
    let mut frozen = Client::connect(&proxy, Protocol::Http1).await;
    frozen.get("/a").await;
    proxy.freeze_connections();
    let mut idle = Client::connect(&proxy, Protocol::Http2).await;
    idle.get("/a").await;

    proxy.cut_connections();

    frozen.closed().await;
    idle.closed().await;
    Client::connect(&proxy, Protocol::Http2).await.get("/a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn ends_with_all_its_connections_when_dropped() {
    let (_upstream, proxy) = start().await;
    let address = proxy.address();
    let mut client = Client::connect(&proxy, Protocol::Http2).await;
    client.get("/a").await;

    drop(proxy);

    client.closed().await;
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn says_which_pem_is_none() {
    let identity = Identity::generate().unwrap();
    let nowhere = (std::net::Ipv4Addr::LOCALHOST, 1).into();
    let error = Proxy::start(nowhere, "no PEM", &identity).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "the apiserver's CA is not usable: no items found");
    let error = Proxy::start(nowhere, &identity.ca_pem, &Identity { key_pem: String::new(), ..identity.clone() });
    assert_eq!(
        error.map(drop).unwrap_err().to_string(),
        "the proxy's certificate or key is not usable: no items found"
    );
}
