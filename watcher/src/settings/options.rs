//! The watcher's options as clap reads them: the only list of them. The comment on each is its help, and its meaning in
//! docs/configuration.md.

use std::time::Duration;

use clap::{ArgAction, Parser};
use common::labels::WATCHER;
use common::logging::LogOptions;
use common::settings::{DnsLabel, InvalidDuration, duration};

use crate::choices::{Controller, Listen};
use crate::selector::LabelSelector;

/// Keys of the options that messages name together.
pub(super) const NAMESPACE: &str = "namespace";
pub(super) const ALL_NAMESPACES: &str = "all-namespaces";
pub(super) const ONCE: &str = "once";
pub(super) const DRY_RUN: &str = "dry-run";

/// Removes the NodePort Services whose pods are gone.
#[derive(Debug, Parser)]
#[command(name = WATCHER, version, next_help_heading = "What is watched")]
pub(super) struct Options {
    /// Namespace to watch; without it the service account's own inside a pod, else that of the kubeconfig's context, else default
    #[arg(long, value_name = "NAME")]
    pub(super) namespace: Option<DnsLabel>,
    /// Watch all namespaces, which needs the ClusterRole
    #[arg(long, value_name = "BOOLEAN", default_value = "false", default_missing_value = "true", num_args = 0..=1,
          require_equals = true, action = ArgAction::Set)]
    pub(super) all_namespaces: bool,
    /// Label selector of the pods to watch; the Services of other pods are looked after by the scan alone
    #[arg(long, value_name = "SELECTOR", default_value = "product=ipfv2")]
    pub(super) pod_selector: LabelSelector,
    /// Label selector of the Services to look after
    #[arg(long, value_name = "SELECTOR", default_value = "creator=ipf-dynamic-nodeport-service-creator")]
    pub(super) service_selector: LabelSelector,

    /// Time from the end of one scan, which looks for what the watches missed, to the next
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = interval, help_heading = "Clean-up")]
    pub(super) scan_interval: Duration,
    /// How long after its last container ended a finished pod (failed, succeeded or evicted) keeps its Service
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, help_heading = "Clean-up")]
    pub(super) grace: Duration,
    /// How long a pod that is gone keeps its Service, and so its ports; only for Services without an owner reference, since Kubernetes removes the others
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration, help_heading = "Clean-up")]
    pub(super) release_delay: Duration,
    /// What the watcher does; may be repeated or separated by commas. net-service needs its resource and its permissions
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "cleanup",
        value_delimiter = ',',
        value_enum,
        help_heading = "Run"
    )]
    pub(super) controllers: Vec<Controller>,

    /// Scan once, delete what is found and end, as a CronJob wants it
    #[arg(long, value_name = "BOOLEAN", default_value = "false", default_missing_value = "true", num_args = 0..=1,
          require_equals = true, action = ArgAction::Set, help_heading = "Run")]
    pub(super) once: bool,
    /// Print what would be deleted and why, and delete nothing
    #[arg(long, value_name = "BOOLEAN", default_value = "false", default_missing_value = "true", num_args = 0..=1,
          require_equals = true, action = ArgAction::Set, help_heading = "Run")]
    pub(super) dry_run: bool,
    /// Where /livez, /readyz and /metrics are served, or off; not served with --once
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8080", help_heading = "Run")]
    pub(super) listen: Listen,

    #[command(flatten)]
    pub(super) log: LogOptions,
}

/// The shortest time between two scans: each lists everything.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// The text is no time between two scans.
#[derive(Debug, thiserror::Error)]
enum InvalidInterval {
    #[error(transparent)]
    Duration(#[from] InvalidDuration),
    #[error("must be at least 1s")]
    TooShort,
}

fn interval(text: &str) -> Result<Duration, InvalidInterval> {
    let interval = duration(text)?;
    if interval < SHORTEST_INTERVAL { Err(InvalidInterval::TooShort) } else { Ok(interval) }
}
