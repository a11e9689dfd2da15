//! Counts what the watcher does, and shows it as OpenMetrics; it decides nothing.

use std::{sync::Arc, sync::atomic::AtomicU64, time::Duration, time::SystemTime};

use common::api::{
    resource::{Resource, Verb},
    watch::Cause,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use net_service::pulse::Shown;

use crate::{health::Readiness, net_service_metrics::NetServiceMetrics, orphan::Reason, watched::Watched};

/// What every name begins with.
const PREFIX: &str = "ipf_dynamic_nodeport_watcher";

/// Seconds from noticing that a Service has lost its pod to its deletion: one round trip to the API and back is
/// milliseconds, and what takes minutes waited for an API that was away.
const DELETION_BUCKETS: [f64; 13] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0];

/// Seconds of a scan: a list of a few objects is milliseconds, one of ten thousand seconds.
const SCAN_BUCKETS: [f64; 11] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

/// How a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanResult {
    /// Everything was listed.
    Success,
    /// Something could not be listed.
    Failure,
}

impl ScanResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// How much there is of what the watcher looks after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Services made by a creator.
    pub services: usize,
    /// Live pods that ran the creator, without a Service.
    pub pods_without_service: usize,
    /// Services that wait to be looked at again.
    pub suspects: usize,
    /// Services that nobody can judge.
    pub left_alone: usize,
}

/// Label values are these enums' own words.
macro_rules! label_values {
    ($($type:ty),*) => {
        $(impl EncodeLabelValue for $type {
            fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
                EncodeLabelValue::encode(&self.as_str(), encoder)
            }
        })*
    };
}

label_values!(Reason, ScanResult, Watched);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Deletion {
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Scan {
    result: ScanResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Restart {
    resource: Watched,
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Watch {
    resource: Watched,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoLabels {}

/// Verb and resource are words of enums, too, which know nothing of metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    verb: &'static str,
    resource: &'static str,
    code: Code,
}

/// Status code of an answer, where there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Code(Option<u16>);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        match self.0 {
            Some(code) => EncodeLabelValue::encode(&code, encoder),
            None => EncodeLabelValue::encode(&"none", encoder),
        }
    }
}

/// A point in time in seconds since 1970.
type Timestamp = Gauge<f64, AtomicU64>;

/// All metrics of the watcher; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    deletions: Family<Deletion, Counter>,
    deletion_duration: Histogram,
    scans: Family<Scan, Counter>,
    scan_duration: Histogram,
    /// A family, since it is not there before the first success: a time in 1970 would set off alerts at each start.
    last_scan: Family<NoLabels, Timestamp>,
    watch_restarts: Family<Restart, Counter>,
    watch_up: Family<Watch, Gauge>,
    requests: Family<Request, Counter>,
    services: Gauge,
    services_left_alone: Gauge,
    pods_without_service: Gauge,
    suspects: Gauge,
    net_service: NetServiceMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero. What is counted by a word that is known now is there from the start, so that its first increase
    /// is one.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Arc::default(),
            deletions: Family::default(),
            deletion_duration: Histogram::new(DELETION_BUCKETS),
            scans: Family::default(),
            scan_duration: Histogram::new(SCAN_BUCKETS),
            last_scan: Family::default(),
            watch_restarts: Family::default(),
            watch_up: Family::default(),
            requests: Family::default(),
            services: Gauge::default(),
            services_left_alone: Gauge::default(),
            pods_without_service: Gauge::default(),
            suspects: Gauge::default(),
            net_service: NetServiceMetrics::default(),
        };
        metrics.registry = Arc::new(metrics.registered());
        for reason in [Reason::PodGone, Reason::PodReplaced, Reason::PodFinished] {
            metrics.deletions.get_or_create(&Deletion { reason }).inc_by(0);
        }
        for result in [ScanResult::Success, ScanResult::Failure] {
            metrics.scans.get_or_create(&Scan { result }).inc_by(0);
        }
        for resource in Watched::ALL {
            metrics.watch_up.get_or_create(&Watch { resource }).set(0);
            for cause in Cause::ALL {
                metrics.watch_restarts.get_or_create(&Restart { resource, cause: cause.as_str() }).inc_by(0);
            }
        }
        metrics
    }

    /// Without the watches and scans of a clean-up that does not run: nobody is to be told that they fail.
    #[must_use]
    pub fn without_cleanup(self) -> Self {
        self.watch_up.clear();
        self.scans.clear();
        self
    }

    /// And those of NetServices, which are not there otherwise.
    #[must_use]
    pub fn with_net_service(mut self) -> Self {
        let mut registry = self.registered();
        self.net_service.register(&mut registry);
        self.registry = Arc::new(registry);
        self
    }

    /// The registry gives each its name, its help and its unit; a counter's name gets `_total`, a unit is appended.
    fn registered(&self) -> Registry {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register("deletions", "Services deleted, by reason", self.deletions.clone());
        registry.register_with_unit(
            "deletion_duration",
            "Time from noticing that a Service has to go to its deletion",
            Unit::Seconds,
            self.deletion_duration.clone(),
        );
        registry.register("scans", "Scans, by result", self.scans.clone());
        registry.register_with_unit("scan_duration", "Time of a scan", Unit::Seconds, self.scan_duration.clone());
        registry.register_with_unit(
            "last_scan_timestamp",
            "When the last successful scan ended, since 1970; absent before the first",
            Unit::Seconds,
            self.last_scan.clone(),
        );
        registry.register(
            "watch_restarts",
            "Watches started again, by what is watched and what ended the one before",
            self.watch_restarts.clone(),
        );
        registry.register("watch_up", "1 while the watch hears what changes, else 0", self.watch_up.clone());
        registry.register(
            "api_requests",
            "Requests to the Kubernetes API, by verb, resource and the answer's code, which is none where nothing came",
            self.requests.clone(),
        );
        registry.register("services", "Services made by a creator", self.services.clone());
        registry.register(
            "services_left_alone",
            "Services labelled as made by a creator that do not say for which pod; the log names them",
            self.services_left_alone.clone(),
        );
        registry.register(
            "pods_without_service",
            "Live pods labelled ipfPodName that have no Service",
            self.pods_without_service.clone(),
        );
        registry.register("suspects", "Services that wait to be looked at again", self.suspects.clone());
        registry
    }

    /// A Service was deleted, so long after it was noticed.
    pub fn deleted(&self, reason: Reason, took: Duration) {
        self.deletions.get_or_create(&Deletion { reason }).inc();
        self.deletion_duration.observe(took.as_secs_f64());
    }

    /// A scan has ended.
    pub fn scanned(&self, result: ScanResult, took: Duration) {
        self.scans.get_or_create(&Scan { result }).inc();
        self.scan_duration.observe(took.as_secs_f64());
        if result == ScanResult::Success {
            // A clock before 1970 has no timestamp to show.
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            self.last_scan.get_or_create(&NoLabels {}).set(now.as_secs_f64());
        }
    }

    /// A watch has ended, and is started again.
    pub fn watch_restarted(&self, resource: Watched, cause: Cause) {
        self.watch_restarts.get_or_create(&Restart { resource, cause: cause.as_str() }).inc();
    }

    /// A request was answered with this code, or not at all.
    pub fn requested(&self, verb: Verb, resource: Resource, code: Option<u16>) {
        let request = Request { verb: verb.as_str(), resource: resource.plural(), code: Code(code) };
        self.requests.get_or_create(&request).inc();
    }

    /// How much there is now.
    pub fn holds(&self, held: &Held) {
        let set = |gauge: &Gauge, number: usize| gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        set(&self.services, held.services);
        set(&self.services_left_alone, held.left_alone);
        set(&self.pods_without_service, held.pods_without_service);
        set(&self.suspects, held.suspects);
    }

    /// How the watches are now.
    pub(crate) fn watches(&self, readiness: &Readiness) {
        for (resource, check) in readiness.of_cleanup() {
            self.watch_up.get_or_create(&Watch { resource }).set(check.is_up().into());
        }
    }

    /// How NetServices are now.
    pub fn net_services(&self, shown: &Shown) {
        self.net_service.show(shown);
    }

    /// All of it as OpenMetrics text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut encoded = String::new();
        // A String takes every text. Without its end a scraper refuses what there is.
        let _ = text::encode(&mut encoded, &self.registry);
        encoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The samples of a metric, without its prefix, in order.
    fn samples(metrics: &Metrics, name: &str) -> Vec<String> {
        let encoded = metrics.encode();
        let of_name = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
        let lines = encoded.lines().filter_map(|line| line.strip_prefix("ipf_dynamic_nodeport_watcher_"));
        let mut samples: Vec<_> = lines.filter(of_name).map(str::to_owned).collect();
        samples.sort();
        samples
    }

    #[test]
    fn what_has_known_labels_is_there_from_the_start() {
        let metrics = Metrics::new();
        assert_eq!(
            samples(&metrics, "deletions_total"),
            [
                r#"deletions_total{reason="PodFinished"} 0"#,
                r#"deletions_total{reason="PodGone"} 0"#,
                r#"deletions_total{reason="PodReplaced"} 0"#,
            ]
        );
        assert_eq!(
            samples(&metrics, "scans_total"),
            [r#"scans_total{result="failure"} 0"#, r#"scans_total{result="success"} 0"#]
        );
        assert_eq!(samples(&metrics, "watch_restarts_total").len(), 10);
        assert_eq!(samples(&metrics, "watch_up").len(), 2);
        let without_cleanup = Metrics::new().without_cleanup();
        assert!(samples(&without_cleanup, "watch_up").is_empty(), "none that does not run is down");
        assert!(samples(&without_cleanup, "scans_total").is_empty(), "what does not run has no lack of scans");
        assert_eq!(samples(&metrics, "services"), ["services 0"]);
        assert!(samples(&metrics, "last_scan_timestamp_seconds").is_empty(), "no scan, no time");
    }

    #[test]
    fn each_event_counts_where_it_belongs() {
        let metrics = Metrics::new();
        let clone = metrics.clone();
        clone.deleted(Reason::PodReplaced, Duration::from_millis(7));
        clone.deleted(Reason::PodReplaced, Duration::from_secs(3));
        clone.scanned(ScanResult::Failure, Duration::from_secs(2));
        assert!(samples(&metrics, "last_scan_timestamp_seconds").is_empty(), "a failure is no scan");
        clone.scanned(ScanResult::Success, Duration::from_secs(2));
        clone.watch_restarted(Watched::Pods, Cause::Silent);
        clone.requested(Verb::Get, Resource::Services, Some(200));
        clone.requested(Verb::Delete, Resource::Pods, None);
        clone.holds(&Held { services: 4, pods_without_service: 3, suspects: 2, left_alone: 1 });

        assert!(
            samples(&metrics, "deletions_total").contains(&r#"deletions_total{reason="PodReplaced"} 2"#.to_owned())
        );
        let buckets = samples(&metrics, "deletion_duration_seconds_bucket");
        assert!(buckets.contains(&r#"deletion_duration_seconds_bucket{le="0.01"} 1"#.to_owned()), "{buckets:?}");
        assert!(buckets.contains(&r#"deletion_duration_seconds_bucket{le="5.0"} 2"#.to_owned()), "{buckets:?}");
        assert_eq!(samples(&metrics, "deletion_duration_seconds_count"), ["deletion_duration_seconds_count 2"]);
        assert_eq!(samples(&metrics, "scan_duration_seconds_sum"), ["scan_duration_seconds_sum 4.0"]);
        let restart = r#"watch_restarts_total{resource="pods",cause="silent"} 1"#;
        assert!(samples(&metrics, "watch_restarts_total").contains(&restart.to_owned()));
        assert_eq!(
            samples(&metrics, "api_requests_total"),
            [
                r#"api_requests_total{verb="delete",resource="pods",code="none"} 1"#,
                r#"api_requests_total{verb="get",resource="services",code="200"} 1"#,
            ]
        );
        assert_eq!(samples(&metrics, "services"), ["services 4"]);
        assert_eq!(samples(&metrics, "pods_without_service"), ["pods_without_service 3"]);
        assert_eq!(samples(&metrics, "suspects"), ["suspects 2"]);
        assert_eq!(samples(&metrics, "services_left_alone"), ["services_left_alone 1"]);
        let last = samples(&metrics, "last_scan_timestamp_seconds").pop().unwrap();
        let last: f64 = last.split_once(' ').unwrap().1.parse().unwrap();
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        assert!((0.0..60.0).contains(&(now - last)), "{last}");
    }
}
