//! Requests and answers that wait for the test.

use cluster_tests::proxy::{Action, NothingHeld, Verdict, gate};
use http::StatusCode;

use crate::{
    DEADLINE, PROTOCOLS,
    client::{Client, Protocol, answer, text},
    start,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_held_request_is_done_only_when_released() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let (gate, arrivals) = gate(Verdict::Cut);
        proxy.set_rule(move |_| Action::HoldBefore(gate.clone()));
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));
        let held = arrivals.next(DEADLINE).unwrap();

        assert_eq!((held.seen.path_and_query.as_str(), held.status), ("/services", None));
        assert_eq!(upstream.carried_out().len(), 0);
        held.release(Verdict::Pass);
        assert_eq!(answer(pending).await.unwrap().status(), StatusCode::CREATED, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_held_answer_is_delivered_only_when_released() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let (gate, arrivals) = gate(Verdict::Cut);
        proxy.set_rule(move |_| Action::HoldAfter(gate.clone()));
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));
        let held = arrivals.next(DEADLINE).unwrap();

        assert_eq!(held.status, Some(StatusCode::CREATED));
        assert_eq!(upstream.carried_out().len(), 1);
        assert!(!pending.is_finished());
        held.release(Verdict::Pass);
        assert_eq!(text(answer(pending).await.unwrap()).await, "POST /services Bearer t {}", "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_test_chooses_the_order_of_release() {
    let (upstream, proxy) = start().await;
    let (gate, arrivals) = gate(Verdict::Cut);
    proxy.set_rule(move |_| Action::HoldBefore(gate.clone()));
    let mut client = Client::connect(&proxy, Protocol::Http2).await;
    let first = client.send("/first", None);
    let held_first = arrivals.next(DEADLINE).unwrap();
    let second = client.send("/second", None);
    let held_second = arrivals.next(DEADLINE).unwrap();

    held_second.release(Verdict::Pass);
    answer(second).await.unwrap();
    assert!(!first.is_finished());
    held_first.release(Verdict::Pass);
    answer(first).await.unwrap();

    assert_eq!(upstream.carried_out(), ["GET /second Bearer t ", "GET /first Bearer t "]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_dropped_goes_on_as_the_gate_was_told() {
    for protocol in PROTOCOLS {
        for (unless_told, done) in [(Verdict::Pass, 1), (Verdict::Cut, 0)] {
            let (upstream, proxy) = start().await;
            let (gate, arrivals) = gate(unless_told);
            proxy.set_rule(move |_| Action::HoldBefore(gate.clone()));
            let mut client = Client::connect(&proxy, protocol).await;

            let pending = client.send("/a", None);
            drop(arrivals.next(DEADLINE).unwrap());

            assert_eq!(answer(pending).await.is_ok(), unless_told == Verdict::Pass);
            assert_eq!(upstream.carried_out().len(), done, "{protocol:?} {unless_told:?}");

            drop(arrivals);
            let mut client = Client::connect(&proxy, protocol).await;
            let pending = client.send("/b", None);
            assert_eq!(answer(pending).await.is_ok(), unless_told == Verdict::Pass);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cut_answer_is_lost_with_its_connection() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let (gate, arrivals) = gate(Verdict::Pass);
        proxy.set_rule(move |_| Action::HoldAfter(gate.clone()));
        let mut client = Client::connect(&proxy, protocol).await;

        let pending = client.send("/services", Some("{}"));
        arrivals.next(DEADLINE).unwrap().release(Verdict::Cut);

        assert!(answer(pending).await.is_err());
        client.closed().await;
        assert_eq!(upstream.carried_out().len(), 1, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_held_request_outlives_its_client_if_the_test_wants_it() {
    for protocol in PROTOCOLS {
        let (upstream, proxy) = start().await;
        let (gate, arrivals) = gate(Verdict::Cut);
        proxy.set_rule(move |_| Action::HoldBefore(gate.clone()));
        let mut client = Client::connect(&proxy, protocol).await;
        let _pending = client.send("/services", Some("{}"));
        let held = arrivals.next(DEADLINE).unwrap();

        client.kill().await;
        held.release(Verdict::Pass);

        proxy.wait_until(DEADLINE, |requests| requests.iter().any(|request| request.status.is_some())).unwrap();
        assert_eq!(upstream.carried_out(), ["POST /services Bearer t {}"], "{protocol:?}");
    }
}

#[test]
fn waiting_for_what_cannot_come_ends() {
    let (gate, arrivals) = gate(Verdict::Pass);
    assert!(matches!(arrivals.next(std::time::Duration::ZERO), Err(NothingHeld::Late(_))));
    drop(gate);
    assert!(matches!(arrivals.next(DEADLINE), Err(NothingHeld::NoRule)));
}
