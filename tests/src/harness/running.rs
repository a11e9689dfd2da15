//! A run that was started.

use std::{fmt::Display, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::net::TcpStream;

use super::{
    Outcome, eventually,
    http::{self, Reply},
    keeper::{Process, protocol::Signal},
    outcome::Files,
    own_network,
    surroundings::{self, Surroundings},
};

/// How long what a program logs or answers may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run that was started.
pub struct Running {
    pub(super) process: Process,
    pub(super) deadline: Duration,
    pub(super) files: Files,
    pub(super) surroundings: Surroundings,
    /// Where it serves HTTP.
    pub(super) listen: Option<SocketAddr>,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.files.text("../stdout").unwrap_or_default()
    }

    /// Its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.files.text("../stderr").unwrap_or_default()
    }

    /// Its log so far: each line of standard error that is a JSON object.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        log(&self.stderr())
    }

    /// The lines of its log so far that have this message.
    #[must_use]
    pub fn log_of(&self, message: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["message"] == message).collect()
    }

    /// Waits until it has logged a line with this message that `wanted` picks, and returns the first one.
    ///
    /// # Panics
    /// When there is none within 30 s, or the program ends without one: the message holds what it has said.
    pub async fn logged(&self, message: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.logged_within(PATIENCE, message, wanted).await
    }

    /// As [`Self::logged`], with another deadline.
    ///
    /// # Panics
    /// As [`Self::logged`].
    pub async fn logged_within(&self, deadline: Duration, message: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let what = format!("the program has logged {message:?} as wanted");
        self.until(deadline, &what, |running| running.log_of(message).into_iter().find(|line| wanted(line))).await
    }

    /// Waits until it has logged this message so many times, and returns those lines.
    ///
    /// # Panics
    /// As [`Self::logged`].
    pub async fn logged_times(&self, count: usize, message: &str) -> Vec<Value> {
        let what = format!("the program has logged {message:?} {count} times");
        self.until(PATIENCE, &what, |running| Some(running.log_of(message)).filter(|lines| lines.len() >= count)).await
    }

    async fn until<T>(&self, deadline: Duration, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        eventually(deadline, what, async || {
            // Asked first: what it had written when it ended is there then.
            let ended = self.process.exit();
            let found = look(self).ok_or_else(|| format!("\n{}", self.stderr()));
            assert!(
                found.is_ok() || ended.is_none(),
                "the program ended ({ended:?}) before {what}; its standard error:\n{}",
                self.stderr()
            );
            found
        })
        .await
    }

    /// What it serves under this path; [`super::Run::listening`] made it serve, or its
    /// documented Deployment does. Waits until it listens.
    ///
    /// # Panics
    /// When it does not, or its answer is no HTTP.
    pub async fn get(&self, path: &str) -> Reply {
        let address = self.listen.expect("only a run that is told to listen serves anything");
        eventually(PATIENCE, &format!("http://{address}{path} is served"), async || {
            let stream = match self.surroundings {
                Surroundings::OwnNetwork => own_network::connect(self.pid(), address).and_then(|stream| {
                    stream.set_nonblocking(true)?;
                    TcpStream::from_std(stream)
                }),
                Surroundings::Kubeconfig | Surroundings::InCluster => TcpStream::connect(address).await,
            };
            let said = |error: &dyn Display| format!("{error}\n{}", self.stderr());
            http::get(stream.map_err(|error| said(&error))?, path).await.map_err(|error| said(&error))
        })
        .await
    }

    /// Replaces the token of its kubeconfig while it runs.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn replace_token(&self, token: &str) {
        let folder = self.files.0.parent().expect("a run's files lie in its folder");
        surroundings::replace_token(folder, token).unwrap_or_else(|error| panic!("cannot replace the token: {error}"));
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end before the deadline: it is killed, and the message holds what it has said.
    pub async fn wait(self) -> Outcome {
        let exit = match tokio::time::timeout(self.deadline, self.process.wait()).await {
            Ok(Ok(exit)) => exit,
            Ok(Err(error)) => panic!("{error}"),
            Err(_) => {
                self.signal(Signal::Kill);
                panic!("the program still ran after {:?}; its standard error:\n{}", self.deadline, self.stderr());
            }
        };
        Outcome { exit, stdout: self.stdout(), stderr: self.stderr(), files: self.files }
    }

    /// Sends SIGTERM and waits for its end.
    ///
    /// # Panics
    /// As [`Self::wait`].
    pub async fn terminate(self) -> Outcome {
        self.signal(Signal::Terminate);
        self.wait().await
    }
}

/// The JSON objects among the lines of a text. The last line may be half written.
pub(super) fn log(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect()
}
