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
    call::Call,
    classify::Meaning,
    client::{Api, CallError},
    resource::Resource,
    retry::Deadline,
};
use k8s_openapi::{
    Metadata as K8sMetadata,
    api::core::v1::{Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
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
                        Err(error) if is_absence(&error) => Deletion::NotFound,
                        Err(error) if error.meaning() == Some(Meaning::Conflict) => Deletion::Conflict,
                        Err(error) => return Err(error),
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

    /// One object, or `None` where the API itself says that it is not there.
    async fn read<T>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<Option<T>, CallError>
    where
        T: DeserializeOwned + K8sMetadata<Ty = ObjectMeta>,
    {
        let call = Call::get(resource, namespace, name);
        match self.api.once::<T>(&call, deadline).await {
            Ok(object) if is_called(object.metadata(), namespace, name) => Ok(Some(object)),
            Ok(_) => Err(CallError::Unreadable { call: Box::new(call), source: AnotherObject.into() }),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// An answer that is about another object than the one asked for, or about none.
#[derive(Debug, thiserror::Error)]
#[error("it is about another object")]
struct AnotherObject;

fn is_called(metadata: &ObjectMeta, namespace: &str, name: &str) -> bool {
    metadata.namespace.as_deref() == Some(namespace)
        && metadata.name.as_deref() == Some(name)
        && metadata.uid.as_ref().is_some_and(|uid| !uid.is_empty())
}

/// Whether the API itself says that this very object is not there; the 404 of anything on the way to it does not count.
fn is_absence(error: &CallError) -> bool {
    let CallError::Refused { call, refusal } = error else { return false };
    refusal.meaning() == Meaning::NotFound
        && refusal.reason == "NotFound"
        && refusal.message.contains(&format!("\"{}\" not found", call.name))
}

#[cfg(test)]
mod tests {
    use common::api::classify::Refusal;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_api_itself_says_that_an_object_is_not_there() {
        let not_found = |reason: &str, message: &str| CallError::Refused {
            call: Box::new(Call::get(Resource::Pods, "ns", "app-0")),
            refusal: Refusal::read(404, None, json!({"reason": reason, "message": message}).to_string().as_bytes()),
        };
        for (error, expected) in [
            (not_found("NotFound", "pods \"app-0\" not found"), true),
            (not_found("NotFound", "pods \"app-00\" not found"), false),
            (not_found("NotFound", "the server could not find the requested resource"), false),
            (not_found("", "pods \"app-0\" not found"), false),
            (not_found("", "<html>404</html>"), false),
        ] {
            assert_eq!(is_absence(&error), expected, "{error}");
        }
    }

    #[test]
    fn an_answer_about_another_object_is_none() {
        let metadata = |value| serde_json::from_value::<ObjectMeta>(value).unwrap();
        assert!(is_called(&metadata(json!({"namespace": "ns", "name": "app-0", "uid": "u1"})), "ns", "app-0"));
        for other in [
            json!({}),
            json!({"namespace": "ns", "name": "app-0"}),
            json!({"namespace": "ns", "name": "app-0", "uid": ""}),
            json!({"namespace": "ns", "name": "b", "uid": "u1"}),
            json!({"namespace": "other", "name": "app-0", "uid": "u1"}),
        ] {
            assert!(!is_called(&metadata(other), "ns", "app-0"));
        }
    }
}
