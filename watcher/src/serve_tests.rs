//! What clients get over a real connection, and what they cannot do.

use common::api::resource::{Resource, Verb};
use openmetrics_parser::{
    MetricFamily, MetricsExposition, OpenMetricsType, OpenMetricsValue, openmetrics::parse_openmetrics,
};
use std::{net::SocketAddr, time::Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    metrics::{Held, ScanResult},
    orphan::Reason,
    watched::Watched,
};

use super::*;

async fn start(limits: Limits) -> (SocketAddr, Health, Metrics) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (health, metrics) = (Health::new().with_cleanup(), Metrics::new());
    tokio::spawn(serve_within(limits, listener, health.clone(), metrics.clone()));
    (address, health, metrics)
}

async fn connect(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What comes until the other side closes; nothing where it does so without care for what it had not read.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await;
    let _ = read.expect("the server closes the connection");
    text
}

/// Status, header and body of an answer.
async fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let text = rest(connect(address, &format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n")).await).await;
    let (header, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: {text:?}"));
    (header.split(' ').nth(1).unwrap().parse().unwrap(), header.to_lowercase(), body.to_owned())
}

#[tokio::test]
async fn each_path_has_its_answer() {
    let (address, health, _) = start(LIMITS).await;
    for (request, expected, body) in [
        ("GET /livez", 200, "ok\n"),
        ("HEAD /livez", 200, ""),
        ("GET /livez?verbose", 200, "ok\n"),
        ("POST /livez", 405, "only GET and HEAD\n"),
        ("GET /", 404, "there are /livez, /readyz and /metrics\n"),
        ("GET /metrics/x", 404, "there are /livez, /readyz and /metrics\n"),
    ] {
        let (status, _, text) = ask(address, request).await;
        assert_eq!((status, text.as_str()), (expected, body), "{request}");
    }

    let (status, _, body) = ask(address, "GET /readyz").await;
    assert_eq!(status, 503);
    assert_eq!(body, "[-]pods watch has not listed yet\n[-]services watch has not listed yet\nnot ready\n");
    Watched::ALL.iter().for_each(|watched| health.watch_up(*watched));
    let (status, header, body) = ask(address, "GET /readyz").await;
    assert_eq!((status, body.as_str()), (200, "[+]pods watch ok\n[+]services watch ok\nready\n"));
    assert!(header.contains("\r\ncontent-type: text/plain; charset=utf-8"), "{header}");
    let (status, header, body) = ask(address, "HEAD /readyz").await;
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(header.contains("\r\ncontent-length: 44"), "{header}");
}

/// The parser takes no unit of a histogram, which OpenMetrics allows: only of Info and StateSet "it MUST be empty".
fn parse(text: &str) -> MetricsExposition<OpenMetricsType, OpenMetricsValue> {
    let is_read = |line: &&str| !(line.starts_with("# UNIT ") && line.contains("_duration_seconds "));
    let text: String = text.lines().filter(is_read).flat_map(|line| [line, "\n"]).collect();
    parse_openmetrics(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[tokio::test]
async fn metrics_are_read_back_by_a_parser_of_open_metrics() {
    let (address, health, metrics) = start(LIMITS).await;
    health.watch_up(Watched::Pods);
    metrics.deleted(Reason::PodGone, Duration::from_millis(40));
    metrics.scanned(ScanResult::Success, Duration::from_millis(40));
    metrics.watch_restarted(Watched::Services, common::api::watch::Cause::Expired);
    metrics.requested(Verb::Delete, Resource::Services, Some(200));
    metrics.requested(Verb::Get, Resource::Pods, None);
    metrics.holds(&Held { services: 3, ..Held::default() });
    let (status, header, body) = ask(address, "GET /metrics").await;
    assert_eq!(status, 200);
    let content_type = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(header.contains(content_type), "{header}");
    assert!(body.ends_with("\n# EOF\n"), "{body}");

    let families = parse(&body).families;
    let of = |family: &MetricFamily<_, _>| (family.family_name.clone(), format!("{:?}", family.family_type));
    let mut types: Vec<_> = families.values().map(of).collect();
    types.sort();
    let expected = [
        ("api_requests", "Counter"),
        ("deletion_duration_seconds", "Histogram"),
        ("deletions", "Counter"),
        ("last_scan_timestamp_seconds", "Gauge"),
        ("pods_without_service", "Gauge"),
        ("scan_duration_seconds", "Histogram"),
        ("scans", "Counter"),
        ("services", "Gauge"),
        ("services_left_alone", "Gauge"),
        ("suspects", "Gauge"),
        ("watch_restarts", "Counter"),
        ("watch_up", "Gauge"),
    ];
    let expected = expected.map(|(name, kind)| (format!("ipf_dynamic_nodeport_watcher_{name}"), kind.to_owned()));
    assert_eq!(types, expected);

    let up = &families["ipf_dynamic_nodeport_watcher_watch_up"];
    let value = |resource: &str| format!("{:?}", up.get_sample_by_label_values(&[resource.to_owned()]).unwrap().value);
    assert_eq!((value("pods").as_str(), value("services").as_str()), ("Gauge(Int(1))", "Gauge(Int(0))"));
}

#[tokio::test]
async fn a_slow_or_silent_client_is_cut_off() {
    let limits = Limits { header: Duration::from_millis(200), ..LIMITS };
    let (address, _, _) = start(limits).await;
    for text in ["", "GET /livez HTTP/1.1\r\nhost: x\r\n"] {
        let begin = Instant::now();
        assert_eq!(rest(connect(address, text).await).await, "");
        assert!(begin.elapsed() >= limits.header, "{text:?}");
    }
    // A drop at a time does not help it.
    let mut stream = connect(address, "GET /livez HTTP/1.1\r\n").await;
    let begin = Instant::now();
    while begin.elapsed() < limits.header * 20 && stream.write_all(b"x-a: b\r\n").await.is_ok() {
        tokio::time::sleep(limits.header / 4).await;
    }
    assert!(begin.elapsed() < limits.header * 20, "it was served for {:?}", begin.elapsed());

    let limits = Limits { connection: Duration::from_millis(200), ..LIMITS };
    let (address, _, _) = start(limits).await;
    assert_eq!(rest(connect(address, "").await).await, "");
}

#[tokio::test]
async fn a_header_without_end_fills_no_memory() {
    let (address, _, _) = start(LIMITS).await;
    let mut stream = connect(address, "GET /livez HTTP/1.1\r\nx: ").await;
    let piece = vec![b'x'; BUFFER];
    let mut sent = 0;
    while sent < 1000 && stream.write_all(&piece).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 1000, "the server went on reading");
}

#[tokio::test]
async fn silent_clients_do_not_keep_out_a_probe() {
    let (address, _, _) = start(Limits { connections: 8, ..LIMITS }).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(connect(address, "").await);
        let (status, _, _) = ask(address, "GET /livez").await;
        assert_eq!(status, 200);
    }
    let mut open = 0;
    for stream in &mut silent {
        let mut byte = [0];
        let read = tokio::time::timeout(Duration::from_millis(1), stream.read(&mut byte)).await;
        open += usize::from(read.is_err());
    }
    assert!((1..=8).contains(&open), "{open} are open");
}

#[tokio::test]
async fn nothing_is_served_any_more_once_it_is_dropped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(listener, Health::new().with_cleanup(), Metrics::new()));
    let stream = connect(address, "").await;
    assert_eq!(ask(address, "GET /livez").await.0, 200);
    serving.abort();
    assert_eq!(rest(stream).await, "");
}
