//! What a watcher says, and that it does not say it without end.

use cluster_tests::harness::{Running, eventually};
use serde_json::Value;

/// Waits until it watches and has scanned once: from now on it acts by what the watches say.
pub(crate) async fn watching(running: &Running) {
    running.logged("scanned", |_| true).await;
}

/// The text of a line's field.
pub(crate) fn field<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_default()
}

/// The lines that are not about one Service: what an operator reads while something is wrong.
pub(crate) fn others(running: &Running) -> Vec<Value> {
    let log = running.log().into_iter();
    log.filter(|line| !["Service deleted", "scanned"].contains(&field(line, "message"))).collect()
}

/// It has not said more than so many lines, beside those about single Services.
#[track_caller]
pub(crate) fn few_lines(running: &Running, limit: usize) {
    let lines = others(running);
    assert!(lines.len() <= limit, "{} lines, a flood: {lines:#?}", lines.len());
}

/// Waits until a warning or an error holds this text.
pub(crate) async fn complains(running: &Running, text: &str) {
    eventually(crate::DEADLINE, &format!("it says {text:?}"), async || {
        let found = running.log().iter().any(|line| field(line, "level") != "INFO" && line.to_string().contains(text));
        if found { Ok(()) } else { Err(running.stderr()) }
    })
    .await;
}
