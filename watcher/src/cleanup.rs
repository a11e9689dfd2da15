//! Examines one suspect by live reads and deletes what was judged an orphan: nothing else deletes. What to read and what to
//! delete is decided in [`examine`](crate::examine).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use common::api::{
    call::{Call, Resource},
    classify::Meaning,
    client::{Api, CallError},
    retry::Deadline,
};
use k8s_openapi::{
    api::core::v1::{Pod, Service},
    jiff::Timestamp,
};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::{
    choices::Effect,
    examine::{Deletion, Examination, Finding, Step},
    orphan::{Read, Rules},
    suspects::Case,
};

/// How long one examination may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Examines and deletes.
#[derive(Clone)]
pub struct Cleanup {
    api: Api,
    rules: Rules,
    effect: Effect,
    is_ending: Arc<AtomicBool>,
}

/// What became of an examination.
#[derive(Debug)]
pub enum Outcome {
    /// It came to its end.
    Found(Finding),
    /// With `dry-run`: it would have deleted this.
    WouldDelete(crate::examine::Sentence),
    /// A request failed; nothing is known.
    Failed(CallError),
    /// The program is ending, so nothing was deleted.
    Abandoned,
}

impl Cleanup {
    /// Through this API, by these rules.
    #[must_use]
    pub fn new(api: Api, rules: Rules, effect: Effect) -> Self {
        Self { api, rules, effect, is_ending: Arc::default() }
    }

    /// From now on no delete begins.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Examines one suspect.
    pub async fn examine(&self, case: Case) -> Outcome {
        match self.attempt(case).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(error),
        }
    }

    async fn attempt(&self, case: Case) -> Result<Outcome, CallError> {
        let key = case.suspect.service.clone();
        let deadline = Deadline::after(PATIENCE);
        let (mut examination, mut step) = Examination::new(case, self.rules);
        loop {
            step = match step {
                Step::ReadBoth(pod) => {
                    let (service, pod) = tokio::join!(
                        self.read::<Service>(Resource::Services, &key.namespace, &key.name, deadline),
                        self.pod(&key.namespace, &pod, deadline),
                    );
                    examination.read_both(service?, &pod?, Instant::now())
                }
                Step::ReadPod(name) => {
                    let pod = self.pod(&key.namespace, &name, deadline).await?;
                    examination.read_pod(&name, &pod, Instant::now())
                }
                Step::Delete(sentence) if self.effect == Effect::DryRun => return Ok(Outcome::WouldDelete(sentence)),
                Step::Delete(_) if self.is_ending.load(Ordering::Relaxed) => return Ok(Outcome::Abandoned),
                Step::Delete(sentence) => {
                    let (uid, version) = (&sentence.uid, &sentence.resource_version);
                    let call = Call::delete(Resource::Services, &key.namespace, &key.name, uid, version);
                    let deletion = match self.api.once::<IgnoredAny>(&call, deadline).await {
                        Ok(_) => Deletion::Done,
                        Err(error) => match error.meaning() {
                            Some(Meaning::NotFound) => Deletion::NotFound,
                            Some(Meaning::Conflict) => Deletion::Conflict,
                            _ => return Err(error),
                        },
                    };
                    examination.deleted(deletion, Instant::now())
                }
                Step::Done(finding) => return Ok(Outcome::Found(finding)),
            };
        }
    }

    async fn pod(&self, namespace: &str, name: &str, deadline: Deadline) -> Result<Read, CallError> {
        let pod = self.read::<Pod>(Resource::Pods, namespace, name, deadline).await?;
        Ok(Read::of(pod.as_ref(), Timestamp::now()))
    }

    /// `None` where the API itself says that the object is not there; the 404 of anything on the way to it does not count.
    async fn read<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<Option<T>, CallError> {
        match self.api.once(&Call::get(resource, namespace, name), deadline).await {
            Ok(object) => Ok(Some(object)),
            Err(CallError::Refused { refusal, .. })
                if refusal.meaning() == Meaning::NotFound && refusal.reason == "NotFound" =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
