//! The watcher's settings, validated: of one that is here no later code looks at the text again.

mod options;
#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::Command;
use common::labels::WATCHER;
use common::logging::LogOptions;
use common::settings::{LoadError, Loaded, Sources};

use crate::choices::{Controller, Controllers, Course, Effect, Listen, Scope};
use crate::selector::LabelSelector;

use self::options::Options;

/// What the command line asked for.
#[derive(Debug)]
pub enum Action {
    /// To run, with these settings.
    Run(Box<Settings>),
    /// To print this text and to end: help, version or the settings themselves.
    Print(String),
}

/// Everything that can be set.
#[derive(Debug)]
pub struct Settings {
    /// Which namespaces are watched.
    pub scope: Scope,
    /// The pods to watch.
    pub pod_selector: LabelSelector,
    /// The Services to look after.
    pub service_selector: LabelSelector,
    /// From the end of one scan to the next; more than nothing.
    pub scan_interval: Duration,
    /// How long a finished pod keeps its Service.
    pub grace: Duration,
    /// How long a pod that is gone keeps its Service.
    pub release_delay: Duration,
    /// What it does.
    pub controllers: Controllers,
    /// When the program ends.
    pub course: Course,
    /// Whether anything is deleted.
    pub effect: Effect,
    /// Where health and metrics are served.
    pub listen: Listen,
    /// Logging.
    pub log: LogOptions,
}

/// The settings are wrong. Each message names the source, the key and the place where there is one.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// One of them cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// One namespace and all of them, from the same kind of source.
    #[error("{namespace} names one namespace, and {all_namespaces} asks for all: give one of them")]
    OneAndAll {
        /// Where the one was named.
        namespace: String,
        /// Where all were asked for.
        all_namespaces: String,
    },
    /// Something that only the clean-up knows, with NetServices.
    #[error("{option} is of the clean-up alone: it cannot be combined with the controller net-service")]
    CleanupAlone {
        /// Where it was set.
        option: String,
    },
}

/// The watcher's command line: the list of its options, for the tables in docs/configuration.md.
#[must_use]
pub fn command() -> Command {
    common::settings::command::<Options>()
}

impl Settings {
    /// Reads the settings of this process.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_from_process() -> Result<Action, SettingsError> {
        Self::load(&Sources::of_process(WATCHER))
    }

    /// Reads the settings from these sources.
    ///
    /// # Errors
    /// A source cannot be read, a value is not one of its option's, or two do not fit together.
    pub fn load(sources: &Sources) -> Result<Action, SettingsError> {
        match common::settings::load(sources)? {
            Loaded::Settings(raw) => Self::validate(raw).map(Box::new).map(Action::Run),
            Loaded::Print(text) => Ok(Action::Print(text)),
        }
    }

    fn validate(raw: common::settings::Settings<Options>) -> Result<Self, SettingsError> {
        let scope = scope(&raw)?;
        let controllers = controllers(&raw)?;
        let options = raw.options;
        Ok(Self {
            scope,
            pod_selector: options.pod_selector,
            service_selector: options.service_selector,
            scan_interval: options.scan_interval,
            grace: options.grace,
            release_delay: options.release_delay,
            controllers,
            course: if options.once { Course::Once } else { Course::Endless },
            effect: if options.dry_run { Effect::DryRun } else { Effect::Delete },
            listen: options.listen,
            log: options.log,
        })
    }
}

/// `namespace` and `all-namespaces` say the same thing in two ways, so they follow the one rule: what comes from the
/// stronger source counts.
fn scope(raw: &common::settings::Settings<Options>) -> Result<Scope, SettingsError> {
    let (namespace, all) = (raw.origin(options::NAMESPACE), raw.origin(options::ALL_NAMESPACES));
    match (&raw.options.namespace, raw.options.all_namespaces) {
        (Some(_), true) if namespace.source() == all.source() => Err(SettingsError::OneAndAll {
            namespace: namespace.of_option(options::NAMESPACE),
            all_namespaces: all.of_option(options::ALL_NAMESPACES),
        }),
        (Some(name), true) if namespace.source() > all.source() => Ok(Scope::Namespace(name.as_str().to_owned())),
        (_, true) => Ok(Scope::AllNamespaces),
        (Some(name), false) => Ok(Scope::Namespace(name.as_str().to_owned())),
        (None, false) => Ok(Scope::Own),
    }
}

/// What scans once, or only tells, serves nothing.
fn controllers(raw: &common::settings::Settings<Options>) -> Result<Controllers, SettingsError> {
    let controllers = Controllers::new(raw.options.controllers.clone());
    if controllers.include(Controller::NetService) {
        for (key, is_set) in [(options::ONCE, raw.options.once), (options::DRY_RUN, raw.options.dry_run)] {
            if is_set {
                return Err(SettingsError::CleanupAlone { option: raw.origin(key).of_option(key) });
            }
        }
    }
    Ok(controllers)
}
