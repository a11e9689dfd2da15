//! Shows what the controller of NetServices does, as metrics; it decides nothing.

use net_service::pulse::{Shown, State};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Watch {
    resource: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Restart {
    resource: String,
    cause: &'static str,
}

/// The metrics of NetServices.
#[derive(Clone, Debug, Default)]
pub struct NetServiceMetrics {
    leader: Gauge,
    net_services: Gauge,
    not_ready: Gauge,
    endpoints: Gauge,
    watch_up: Family<Watch, Gauge>,
    watch_restarts: Family<Restart, Counter>,
}

impl NetServiceMetrics {
    /// Gives each its name and its help.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "net_service_leader",
            "1 while this one serves NetServices, 0 while it stands by",
            self.leader.clone(),
        );
        registry.register("net_services", "NetServices, of both groups", self.net_services.clone());
        registry.register(
            "net_services_not_ready",
            "NetServices whose condition Ready is not true",
            self.not_ready.clone(),
        );
        registry.register("net_service_endpoints", "Ready endpoints of all NetServices", self.endpoints.clone());
        registry.register(
            "net_service_watch_up",
            "1 while the watch of the one that serves NetServices hears what changes, else 0",
            self.watch_up.clone(),
        );
        registry.register(
            "net_service_watch_restarts",
            "Watches started again, by what is watched and what ended the one before",
            self.watch_restarts.clone(),
        );
    }

    /// Shows how it is now.
    pub fn show(&self, shown: &Shown) {
        let set = |gauge: &Gauge, number: usize| gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        self.leader.set(shown.leading.is_some().into());
        set(&self.net_services, shown.held.net_services);
        set(&self.not_ready, shown.held.not_ready);
        set(&self.endpoints, shown.held.endpoints);
        // One that stands by watches nothing.
        self.watch_up.clear();
        for (watched, state) in shown.leading.iter().flatten() {
            let watch = Watch { resource: watched.to_string() };
            self.watch_up.get_or_create(&watch).set((*state == State::Up).into());
        }
        for ((watched, cause), times) in &shown.restarts {
            let counter = self.watch_restarts.get_or_create_owned(&Restart { resource: watched.to_string(), cause });
            counter.inc_by(times.saturating_sub(counter.get()));
        }
    }
}
