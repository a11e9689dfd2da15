//! The watchers of a sequence, and what lies between each and the API.

use std::time::Duration;

use cluster_tests::{
    harness::{Namespace, Run, Running, Signal},
    proxy::{Action, Answer, NewConnections, Proxy, Seen},
    random::Random,
};
use http::{Method, StatusCode};

use crate::operation::Weather;

/// A place for a watcher, with a proxy of its own.
pub(crate) struct Place<'a> {
    namespace: &'a Namespace<'a>,
    proxy: Proxy,
    args: Vec<String>,
    running: Option<Running>,
    random: Random,
    /// What those before it have logged.
    logs: String,
}

impl<'a> Place<'a> {
    pub(crate) fn new(namespace: &'a Namespace<'a>, args: Vec<String>, random: Random) -> Self {
        let proxy = namespace.control_plane().proxy();
        Self { namespace, proxy, args, running: None, random, logs: String::new() }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Where one runs, it goes on.
    pub(crate) async fn start(&mut self) {
        if self.running.is_none() {
            let run = Run::watcher(self.namespace).await.server(&self.proxy.url());
            self.running = Some(run.args(self.args.iter().map(String::as_str)).spawn());
        }
    }

    pub(crate) async fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal(Signal::Kill);
            let outcome = running.wait().await;
            assert_eq!(outcome.code(), None, "it had ended by itself:\n{}", outcome.stderr);
            self.logs.push_str(&outcome.stderr);
        }
    }

    /// With SIGTERM. It ends well, whatever the weather.
    pub(crate) async fn end(&mut self) {
        if let Some(running) = self.running.take() {
            let outcome = running.terminate().await;
            self.logs.push_str(&outcome.stderr);
            // A signal that comes before the program has set up its handlers ends it as any other.
            let is_early = outcome.code().is_none() && outcome.stderr.is_empty();
            assert!(outcome.code() == Some(0) || is_early, "{:?}\n{}", outcome.exit, outcome.stderr);
        }
    }

    /// All that those who ran here have logged.
    pub(crate) fn logs(&self) -> String {
        let now = self.running.as_ref().map(Running::stderr).unwrap_or_default();
        format!("{}{now}", self.logs)
    }

    pub(crate) fn weather(&mut self, weather: Weather) {
        let mut random = self.random.split();
        let still = weather == Weather::Frozen;
        let door = if matches!(weather, Weather::Away) { NewConnections::Refuse } else { NewConnections::Serve };
        self.proxy.set_new_connections(door).unwrap();
        if matches!(weather, Weather::Cut | Weather::Away) {
            self.proxy.cut_connections();
        }
        if still {
            self.proxy.freeze_connections();
        } else {
            self.proxy.thaw_connections();
        }
        self.proxy.set_rule(move |seen| action(weather, seen, &mut random));
    }
}

fn action(weather: Weather, seen: &Seen, random: &mut Random) -> Action {
    let is_watch = seen.path_and_query.contains("watch=true");
    match weather {
        Weather::Fair | Weather::Cut | Weather::Away | Weather::Frozen => Action::Pass,
        Weather::Slow(most) => Action::Delay(Duration::from_millis(random.below(most))),
        Weather::SlowDeletions(time) if seen.method == Method::DELETE => Action::Delay(Duration::from_millis(time)),
        Weather::LateServices(time) if is_look_at_service(seen) => Action::Delay(Duration::from_millis(time)),
        Weather::SlowDeletions(_) | Weather::LateServices(_) => Action::Pass,
        Weather::Echo if is_watch => Action::Replay,
        Weather::Echo => Action::Pass,
        Weather::Stormy(percent) if random.percent(percent) => failure(random),
        Weather::Stormy(_) => Action::Pass,
    }
}

fn is_look_at_service(seen: &Seen) -> bool {
    seen.method == Method::GET && seen.path_and_query.contains("/services/")
}

fn failure(random: &mut Random) -> Action {
    let failed = |status, reason| Action::Answer(Answer::failure(status, reason, "no"));
    match random.below(12) {
        0 => failed(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        1 => failed(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        2 => failed(StatusCode::GONE, "Expired"),
        3 => failed(StatusCode::CONFLICT, "Conflict"),
        4 => Action::Answer(Answer::too_many_requests(0)),
        // Not the API's own: something on the way to it says so, and that means nothing.
        5 | 6 => Action::Answer(Answer::new(StatusCode::NOT_FOUND, "404 page not found")),
        7 => Action::Answer(Answer::new(StatusCode::OK, "{}")),
        8 => Action::CutBefore,
        9 => Action::CutAfter,
        10 => Action::Truncate,
        _ => Action::Delay(Duration::from_secs(2)),
    }
}
