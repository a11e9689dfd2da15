//! Logs of both programs: to stderr, as text or as one JSON object a line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// Module paths that start with one of these are ours.
const OUR_TARGETS: [&str; 5] = ["common", "creator", "watcher", "net_service", "ipf_dynamic_nodeport"];

/// The options of logging, the same in both programs.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LogOptions {
    /// How log lines are written
    #[arg(long, value_name = "FORMAT", default_value = "text", value_enum)]
    pub log_format: LogFormat,
    /// The least important messages to log
    #[arg(long, value_name = "LEVEL", default_value = "info", value_enum)]
    pub log_level: LogLevel,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The least important messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What made the program fail.
    Error,
    /// What may go wrong later.
    Warn,
    /// What the program did.
    Info,
    /// How it did it, and what the libraries say.
    Debug,
    /// Every step.
    Trace,
}

impl LogLevel {
    fn ours(self) -> Level {
        match self {
            Self::Error => Level::ERROR,
            Self::Warn => Level::WARN,
            Self::Info => Level::INFO,
            Self::Debug => Level::DEBUG,
            Self::Trace => Level::TRACE,
        }
    }

    /// The level of the libraries' messages: quiet unless a fault is looked for, and never below debug, where they
    /// would print whole API answers.
    fn libraries(self) -> Level {
        match self {
            Self::Error => Level::ERROR,
            Self::Warn | Self::Info => Level::WARN,
            Self::Debug | Self::Trace => Level::DEBUG,
        }
    }
}

/// Starts logging to stderr. The first call in a process counts, later ones change nothing.
pub fn init(options: LogOptions) {
    // The only error is that a call came first.
    let _ = tracing::subscriber::set_global_default(subscriber(options, std::io::stderr));
}

fn subscriber<W>(options: LogOptions, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines = match options.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    let filter = Targets::new()
        .with_default(LevelFilter::from_level(options.log_level.libraries()))
        .with_targets(OUR_TARGETS.map(|target| (target, options.log_level.ours())));
    Box::new(tracing_subscriber::registry().with(lines).with(filter))
}

/// Whole milliseconds; a log line has no use for more.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(log_format: LogFormat, log_level: LogLevel, messages: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = subscriber(LogOptions { log_format, log_level }, move || writer.clone());
        tracing::subscriber::with_default(subscriber, messages);
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    fn every_level() {
        tracing::error!(target: "creator::ensure", "our error");
        tracing::info!(target: "creator::ensure", "our info");
        tracing::debug!(target: "common::api", "our debug");
        tracing::trace!(target: "ipf_dynamic_nodeport_service_creator", "our trace");
        tracing::error!(target: "kube_client", "their error");
        tracing::warn!(target: "hyper", "their warn");
        tracing::info!(target: "rustls", "their info");
        tracing::debug!(target: "kube_client", "their debug");
        tracing::trace!(target: "h2", "their trace");
    }

    #[test]
    fn libraries_are_quiet_unless_a_fault_is_looked_for() {
        for (level, expected) in [
            (LogLevel::Error, vec!["our error", "their error"]),
            (LogLevel::Warn, vec!["our error", "their error", "their warn"]),
            (LogLevel::Info, vec!["our error", "our info", "their error", "their warn"]),
            (
                LogLevel::Debug,
                vec!["our error", "our info", "our debug", "their error", "their warn", "their info", "their debug"],
            ),
            (
                LogLevel::Trace,
                vec![
                    "our error",
                    "our info",
                    "our debug",
                    "our trace",
                    "their error",
                    "their warn",
                    "their info",
                    "their debug",
                ],
            ),
        ] {
            let log = logged(LogFormat::Text, level, every_level);
            let messages: Vec<_> = log.lines().map(|line| line.rsplit(": ").next().unwrap()).collect();
            assert_eq!(messages, expected, "at {level:?}");
        }
    }

    #[test]
    fn json_has_one_flat_object_a_line() {
        let log = logged(LogFormat::Json, LogLevel::Info, || {
            tracing::info!(target: "creator::ensure", namespace = "default", port = 31_000, "Service created");
        });
        let line: serde_json::Value = serde_json::from_str(&log).unwrap();
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["message"], "Service created");
        assert_eq!(line["namespace"], "default");
        assert_eq!(line["port"], 31_000);
        assert_eq!(line["target"], "creator::ensure");
        let time = line["timestamp"].as_str().unwrap();
        assert!(time.contains('T') && time.ends_with('Z'), "RFC 3339 in UTC: {time}");
        assert_eq!(log.lines().count(), 1);
    }

    #[test]
    fn text_has_no_colours() {
        let log = logged(LogFormat::Text, LogLevel::Info, every_level);
        assert!(!log.contains('\u{1b}'), "{log:?}");
    }
}
