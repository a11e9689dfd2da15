//! What a controller says, and that it does not say it without end.

use cluster_tests::harness::{Running, eventually};
use serde_json::Value;

/// It has not complained in more than so many lines.
#[track_caller]
pub(crate) fn few_complaints(running: &Running, limit: usize) {
    let lines = complaints(running);
    assert!(lines.len() <= limit, "{} lines, a flood: {lines:#?}", lines.len());
}

/// Waits until a warning or an error holds this text.
pub(crate) async fn complains(running: &Running, text: &str) {
    eventually(crate::DEADLINE, &format!("it says {text:?}"), async || {
        let found = complaints(running).iter().any(|line| line["error"].as_str().unwrap_or_default().contains(text));
        if found { Ok(()) } else { Err(running.stderr()) }
    })
    .await;
}

fn complaints(running: &Running) -> Vec<Value> {
    running.log().into_iter().filter(|line| line["level"] != "INFO").collect()
}
