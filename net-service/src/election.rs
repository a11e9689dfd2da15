//! Waits until this program leads, and says when it no longer does: all that is done about the Lease. Who leads is decided in
//! [`lease`](crate::lease).

use std::{
    env,
    hash::{BuildHasher as _, RandomState},
    time::{Duration, Instant},
};

use common::api::{
    call::Call,
    classify::Meaning,
    client::{Api, CallError, chain},
    outage::Outage,
    resource::Resource,
    retry::Deadline,
};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    lease::{LOOK_EACH, Lease, Observation, RENEW_EACH, RENEW_WITHIN, Step, release, renewal},
    names::MANAGER,
};

/// How long one request may take: a leader has to try more than once.
const PATIENCE: Duration = Duration::from_secs(4);

/// The pause after a renewal that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// One candidate.
pub(crate) struct Election {
    api: Api,
    namespace: String,
    me: String,
}

/// A Lease that was taken.
pub(crate) struct Leadership {
    lease: Lease,
    renewed: Instant,
}

impl Election {
    /// A candidate for the Lease in this namespace.
    pub(crate) fn new(api: Api, namespace: String) -> Self {
        let host = env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".to_owned());
        // A pod's container that starts again is another candidate.
        let me = format!("{host}_{:016x}", RandomState::new().hash_one(()));
        Self { api, namespace, me }
    }

    /// Waits until the Lease is ours.
    pub(crate) async fn won(&self) -> Leadership {
        let mut observation = Observation::default();
        let mut outage = Outage::default();
        loop {
            let begun = Instant::now();
            match self.attempt(&mut observation).await {
                Ok(Some(lease)) => {
                    tracing::info!(lease = %self.lease_name(), identity = self.me, "leading");
                    return Leadership { lease, renewed: begun };
                }
                Ok(None) => {
                    outage.ended(Instant::now());
                }
                Err(error) if outage.failed(&error, Instant::now()) => {
                    tracing::warn!(error = chain(&error), "the Lease cannot be had; trying again");
                }
                Err(error) => tracing::debug!(error = chain(&error), "the Lease still cannot be had; trying again"),
            }
            sleep(LOOK_EACH).await;
        }
    }

    async fn attempt(&self, observation: &mut Observation) -> Result<Option<Lease>, CallError> {
        let there = self.read().await?;
        let holder = there.as_ref().and_then(|lease| lease.spec.holder_identity.clone()).unwrap_or_default();
        let call = match observation.look(there, &self.me, Instant::now(), Timestamp::now()) {
            Step::Wait => {
                tracing::debug!(holder, "another one leads");
                return Ok(None);
            }
            Step::Take(patch) => Call::merge(Resource::Leases, &self.namespace, MANAGER, patch, MANAGER),
            Step::Create(spec) => {
                let metadata = json!({"namespace": self.namespace, "name": MANAGER});
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
                Call::create(Resource::Leases, &self.namespace, MANAGER, lease, MANAGER)
            }
        };
        match self.send(&call).await {
            Ok(lease) => Ok(Some(lease)),
            // Somebody else was faster.
            Err(error) if matches!(error.meaning(), Some(Meaning::Conflict | Meaning::AlreadyExists)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renews the Lease until it is lost.
    pub(crate) async fn lost(&self, leadership: &mut Leadership) {
        loop {
            sleep(RENEW_EACH).await;
            while let Err(error) = self.renew(leadership).await {
                if leadership.renewed.elapsed() + AGAIN >= RENEW_WITHIN || matches!(error, Renewal::Taken) {
                    tracing::warn!(error = chain(&error), "the Lease is lost; another one may lead now");
                    return;
                }
                tracing::debug!(error = chain(&error), "the Lease is not renewed yet; trying again");
                sleep(AGAIN).await;
            }
        }
    }

    async fn renew(&self, leadership: &mut Leadership) -> Result<(), Renewal> {
        let begun = Instant::now();
        let left = RENEW_WITHIN.saturating_sub(leadership.renewed.elapsed());
        let patch = renewal(&leadership.lease, Timestamp::now());
        let call = Call::merge(Resource::Leases, &self.namespace, MANAGER, patch, MANAGER);
        match self.api.once(&call, Deadline::after(PATIENCE.min(left))).await {
            Ok(lease) => *leadership = Leadership { lease, renewed: begun },
            Err(error) if matches!(error.meaning(), Some(Meaning::Conflict | Meaning::NotFound)) => {
                // Somebody edited it, or took it, or an answer was lost.
                match self.read().await? {
                    Some(lease) if lease.spec.holder_identity.as_deref() == Some(&self.me) => leadership.lease = lease,
                    _ => return Err(Renewal::Taken),
                }
                return Err(Renewal::Failed(error));
            }
            Err(error) => return Err(Renewal::Failed(error)),
        }
        Ok(())
    }

    /// Gives the Lease back, so that the next one need not wait until it has run out.
    pub(crate) async fn give_back(&self, leadership: &Leadership) {
        let given_back = match self.send(&self.release(&leadership.lease)).await {
            // A renewal was on its way, or somebody edited it: once more, if it still is ours.
            Err(error) if error.meaning() == Some(Meaning::Conflict) => match self.read().await {
                Ok(Some(lease)) if lease.spec.holder_identity.as_deref() == Some(&self.me) => {
                    self.send(&self.release(&lease)).await.map(drop)
                }
                other => other.map(drop),
            },
            other => other.map(drop),
        };
        if let Err(error) = given_back {
            tracing::debug!(error = chain(&error), "the Lease is not given back");
        }
    }

    fn release(&self, lease: &Lease) -> Call {
        Call::merge(Resource::Leases, &self.namespace, MANAGER, release(lease, Timestamp::now()), MANAGER)
    }

    async fn read(&self) -> Result<Option<Lease>, CallError> {
        match self.send(&Call::get(Resource::Leases, &self.namespace, MANAGER)).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if error.meaning() == Some(Meaning::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, call: &Call) -> Result<Lease, CallError> {
        self.api.once(call, Deadline::after(PATIENCE)).await
    }

    fn lease_name(&self) -> String {
        format!("{}/{MANAGER}", self.namespace)
    }
}

/// Why the Lease was not renewed.
#[derive(Debug, thiserror::Error)]
enum Renewal {
    #[error("somebody else has it")]
    Taken,
    #[error(transparent)]
    Failed(#[from] CallError),
}
