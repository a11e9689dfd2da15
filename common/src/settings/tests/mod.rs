//! The whole of reading settings, on the options of a toy program.

mod file;
mod print;
mod sources;

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};
use tempfile::TempDir;

use super::{Loaded, Settings, Sources, load, positive_duration};

/// One option of each kind.
#[derive(Debug, Parser)]
#[command(name = "toy", version = "1.2.3")]
struct Toy {
    /// Some text
    #[arg(long)]
    pod: Option<String>,
    /// A list of texts
    #[arg(long, default_value = "/tmp/out")]
    output: Vec<String>,
    /// A list that may be written in one
    #[arg(long, value_delimiter = ',')]
    host_ip: Vec<std::net::IpAddr>,
    /// A duration
    #[arg(long, default_value = "5m", value_parser = positive_duration)]
    scan_interval: Duration,
    /// A choice
    #[arg(long, default_value = "red", value_enum)]
    color: Color,
    /// A switch
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true,
          action = ArgAction::Set)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Red,
    Green,
}

/// A place to put settings files, and what else is to be read.
struct Case {
    folder: TempDir,
    sources: Sources,
}

impl Case {
    fn new(arguments: &[&str], environment: &[(&str, &str)], file: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.yaml"), file).unwrap();
        let sources = Sources {
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            directories: vec![folder.path().to_owned()],
        };
        Self { folder, sources }
    }

    fn file(text: &str) -> Self {
        Self::new(&[], &[], text.as_bytes())
    }

    fn settings(&self) -> Settings<Toy> {
        match load::<Toy>(&self.sources) {
            Ok(Loaded::Settings(settings)) => settings,
            other => panic!("no settings: {other:?}"),
        }
    }

    fn toy(&self) -> Toy {
        self.settings().options
    }

    fn printed(&self) -> String {
        match load::<Toy>(&self.sources) {
            Ok(Loaded::Print(text)) => text.replace(&format!("{}/", self.folder.path().display()), ""),
            other => panic!("nothing to print: {other:?}"),
        }
    }

    /// The error and its causes as the program prints them, without the test's own folder.
    fn error(&self) -> String {
        let error = load::<Toy>(&self.sources).map(|loaded| format!("{loaded:?}")).unwrap_err();
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}
