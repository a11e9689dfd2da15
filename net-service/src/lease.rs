//! Decides who leads, from what the Lease says: pure. A Lease is taken over when it has not changed for as long as it says it
//! holds, by this machine's own clock: the clocks of others mean nothing.

use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::object::Metadata;

/// How long a Lease holds without being renewed, as in Kubernetes' own components.
pub const DURATION: Duration = Duration::from_secs(15);

/// A leader that could not renew its Lease for this long leads no more: well before anybody takes it over.
pub const RENEW_WITHIN: Duration = Duration::from_secs(10);

/// How often a leader renews it.
pub const RENEW_EACH: Duration = Duration::from_secs(5);

/// How often others look at it.
pub const LOOK_EACH: Duration = Duration::from_secs(2);

/// A Lease, as far as it is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// `metadata`
    pub metadata: Metadata,
    /// `spec`
    pub spec: LeaseSpec,
}

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct LeaseSpec {
    pub holder_identity: Option<String>,
    pub lease_duration_seconds: Option<u32>,
    pub acquire_time: Option<String>,
    pub renew_time: Option<String>,
    pub lease_transitions: Option<u32>,
}

/// What one who does not lead knows of the Lease.
#[derive(Debug, Default)]
pub struct Observation {
    seen: Option<(Lease, Instant)>,
}

/// What one who does not lead does about the Lease.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// There is none: this one is created.
    Create(LeaseSpec),
    /// It is taken over by this merge patch, unless somebody else was faster.
    Take(Value),
    /// Another one leads.
    Wait,
}

impl Observation {
    /// Looks at the Lease as it is now.
    pub fn look(&mut self, lease: Option<Lease>, me: &str, now: Instant, clock: Timestamp) -> Step {
        let Some(lease) = lease else {
            self.seen = None;
            return Step::Create(held(me, clock, 0));
        };
        let since = match &self.seen {
            Some((before, since)) if *before == lease => *since,
            _ => now,
        };
        let holder = lease.spec.holder_identity.as_deref().unwrap_or_default();
        let holds = lease.spec.lease_duration_seconds.map_or(DURATION, |seconds| Duration::from_secs(seconds.into()));
        let is_free = holder.is_empty() || holder == me || now.saturating_duration_since(since) >= holds;
        if !is_free {
            self.seen = Some((lease, since));
            return Step::Wait;
        }
        let transitions = lease.spec.lease_transitions.unwrap_or_default().saturating_add(u32::from(holder != me));
        let patch = patch(&lease.metadata, &held(me, clock, transitions));
        self.seen = None;
        Step::Take(patch)
    }
}

/// The merge patch by which a leader renews its Lease.
#[must_use]
pub fn renewal(lease: &Lease, clock: Timestamp) -> Value {
    patch(&lease.metadata, &LeaseSpec { renew_time: Some(clock_text(clock)), ..lease.spec.clone() })
}

/// The merge patch by which a leader gives it back: the next one need not wait.
#[must_use]
pub fn release(lease: &Lease, clock: Timestamp) -> Value {
    let spec = LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        renew_time: Some(clock_text(clock)),
        ..lease.spec.clone()
    };
    patch(&lease.metadata, &spec)
}

fn held(me: &str, clock: Timestamp, transitions: u32) -> LeaseSpec {
    let now = clock_text(clock);
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(u32::try_from(DURATION.as_secs()).unwrap_or(u32::MAX)),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(transitions),
    }
}

fn patch(metadata: &Metadata, spec: &LeaseSpec) -> Value {
    json!({"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}, "spec": spec})
}

/// As Kubernetes writes a time with microseconds.
fn clock_text(clock: Timestamp) -> String {
    clock.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: &str) -> Lease {
        let spec =
            json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed, "leaseTransitions": 3});
        let metadata = json!({"uid": "l1", "resourceVersion": renewed});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn taken(step: Step) -> LeaseSpec {
        match step {
            Step::Take(patch) => serde_json::from_value(patch["spec"].clone()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn behaviour_10_a_lease_that_is_not_renewed_is_taken_over_when_it_has_run_out() {
        let (mut observation, begin) = (Observation::default(), Instant::now());
        let clock = Timestamp::UNIX_EPOCH;
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut look =
            |renewed: &str, seconds| observation.look(Some(lease("other", renewed)), "me", at(seconds), clock);
        assert_eq!(look("1", 0), Step::Wait);
        assert_eq!(look("1", 14), Step::Wait);
        assert_eq!(look("2", 15), Step::Wait, "renewed");
        assert_eq!(look("2", 29), Step::Wait);
        let spec = taken(look("2", 30));
        assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("me"), Some(4)));
        assert_eq!(spec.renew_time.as_deref(), Some("1970-01-01T00:00:00.000000Z"));
    }

    #[test]
    fn one_that_was_given_back_or_never_held_is_taken_at_once() {
        let look = |lease| Observation::default().look(lease, "me", Instant::now(), Timestamp::UNIX_EPOCH);
        assert!(matches!(look(None), Step::Create(spec) if spec.holder_identity.as_deref() == Some("me")));
        assert_eq!(taken(look(Some(lease("", "1")))).lease_transitions, Some(4));
        assert_eq!(taken(look(Some(lease("me", "1")))).lease_transitions, Some(3), "it was mine");
        let Step::Take(patch) = look(Some(lease("", "7"))) else { panic!() };
        assert_eq!(patch["metadata"], json!({"uid": "l1", "resourceVersion": "7"}), "unless somebody else is faster");
    }

    #[test]
    fn renewing_keeps_who_and_since_when_and_giving_back_names_nobody() {
        let held = lease("me", "1");
        let clock = Timestamp::from_second(60).unwrap();
        let renewed = renewal(&held, clock);
        assert_eq!(
            (&renewed["spec"]["holderIdentity"], &renewed["spec"]["leaseTransitions"]),
            (&json!("me"), &json!(3))
        );
        assert_eq!(renewed["spec"]["renewTime"], "1970-01-01T00:01:00.000000Z");
        assert_eq!(release(&held, clock)["spec"]["holderIdentity"], "");
        assert!(RENEW_EACH < RENEW_WITHIN && RENEW_WITHIN < DURATION, "nobody leads when another one takes over");
        assert!(DURATION + LOOK_EACH < Duration::from_secs(20), "a leader that is killed is replaced in time");
    }
}
