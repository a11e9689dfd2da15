//! Brings about the pod's one Service: the only writer of Services. What to do about an existing one is decided in
//! [`judge`](crate::judge); a Service that was not judged obsolete is never touched.

use std::{mem, time::Duration};

use common::{
    api::{
        call::{Call, MetadataOnly},
        classify::Meaning,
        client::{Api, CallError, PersistError, warn_of},
        resource::Resource,
        retry::{Deadline, Patience, TimeIsUp},
    },
    labels::CREATOR,
};
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use crate::{
    ensure_error::{EnsureError, Obstacle},
    judge::{Obsolete, Verdict, Wanted, answers, judge},
    pod::{PodGone, PodIdentity},
    ports::Granted,
};

/// The Service to bring about.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The namespace of pod and Service.
    pub namespace: &'a str,
    /// The Service's name.
    pub name: &'a str,
    /// The object to create.
    pub body: &'a Value,
    /// What an existing Service of this name is compared with.
    pub wanted: Wanted<'a>,
}

impl Task<'_> {
    /// The Service's namespace and name, as messages show it.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Creates the Service, or adopts the one that an earlier run of this pod created.
///
/// POST first: most often nothing is there, and no check made earlier could be relied on. Only when the POST fails in a
/// way that an existing Service can explain is that one read and judged. Kubernetes judges ports and quota before the
/// name, so "no port" can hide the pod's own Service too; and since each "already exists" charges the quota, a POST is
/// never repeated without a look at the name first.
///
/// # Errors
/// As [`EnsureError`] says.
pub async fn ensure(api: &Api, task: Task<'_>, deadline: Deadline) -> Result<Granted, EnsureError> {
    let mut run = match create(api, task, deadline).await? {
        Attempt::Done(ports) => return Ok(ports),
        Attempt::Failed(met) => {
            Run { api, task, patience: Patience::until(deadline), met, has_removed: false, told: None }
        }
    };
    let mut first = true;
    loop {
        // The name is free then, so where only the name was the matter, the next POST can succeed at once; but a name
        // that others take and free all the time must not be fought for without pause.
        let at_once = first && matches!(run.met, Obstacle::NameTaken);
        if !run.met.nothing_done()
            && let Some(ports) = run.settle().await?
        {
            return Ok(ports);
        }
        if !at_once {
            run.pause().await?;
        }
        match create(api, task, deadline).await? {
            Attempt::Done(ports) => return Ok(ports),
            Attempt::Failed(obstacle) => run.meet(obstacle),
        }
        first = false;
    }
}

enum Attempt {
    Done(Granted),
    Failed(Obstacle),
}

async fn create(api: &Api, task: Task<'_>, deadline: Deadline) -> Result<Attempt, EnsureError> {
    let Task { namespace, name, body, .. } = task;
    let call = Call::create(Resource::Services, namespace, name, body.clone(), CREATOR);
    let error = match api.once::<Service>(&call, deadline).await {
        Ok(service) => {
            tracing::info!(namespace, service = name, "created the Service");
            // What was stored need not be what was sent: a webhook may have changed it.
            let ports = answers(&service, task.wanted);
            return Ok(Attempt::Done(
                ports.map_err(|difference| EnsureError::Mutated { service: task.label(), difference })?,
            ));
        }
        Err(error) => error,
    };
    Ok(Attempt::Failed(match error.meaning() {
        Some(Meaning::AlreadyExists) => Obstacle::NameTaken,
        Some(meaning) if meaning.is_no_port() => Obstacle::NoPort(error),
        // Of a creation, this is about the quota's object: another creation was charged at the same moment.
        Some(Meaning::Conflict) => Obstacle::Silent(error),
        _ if error.may_pass() => Obstacle::Silent(error),
        _ => return Err(EnsureError::Refused(error)),
    }))
}

/// A run in whose way something is.
struct Run<'a> {
    api: &'a Api,
    task: Task<'a>,
    patience: Patience,
    /// What is in the way.
    met: Obstacle,
    /// Whether an obsolete Service was deleted already.
    has_removed: bool,
    /// What was last reported, so that the log tells of each obstacle once.
    told: Option<String>,
}

impl Run<'_> {
    /// Deals with what has the name until the pod's Service is there, or the name is free (`None`).
    async fn settle(&mut self) -> Result<Option<Granted>, EnsureError> {
        loop {
            let Some(service) = self.read().await? else { return Ok(None) };
            let obstacle = match judge(&service, self.task.wanted) {
                Verdict::Adopt(ports) => {
                    self.report_kept(&service);
                    return Ok(Some(ports));
                }
                Verdict::Refuse(whose) => return Err(EnsureError::Taken { service: self.task.label(), whose }),
                Verdict::Wait => Obstacle::Terminating { finalizers: service.metadata.finalizers.unwrap_or_default() },
                // What was forbidden a moment ago need not be asked for again.
                Verdict::Replace(why) if self.waits_for(&why) => {
                    self.pause().await?;
                    continue;
                }
                Verdict::Replace(why) => match self.remove(&service, &why).await? {
                    Removal::Done if !mem::replace(&mut self.has_removed, true) => continue,
                    // Someone brings it back each time: no fight without pause.
                    Removal::Done => Obstacle::NameTaken,
                    Removal::Changed(error) => Obstacle::Changing(error),
                    Removal::Forbidden(source) if why.goes_by_itself() => Obstacle::Predecessor { why, source },
                    Removal::Forbidden(source) => {
                        return Err(EnsureError::MayNotReplace { service: self.task.label(), why, source });
                    }
                },
            };
            self.meet(obstacle);
            self.pause().await?;
        }
    }

    fn report_kept(&self, service: &Service) {
        let Task { namespace, name, body, .. } = self.task;
        tracing::info!(namespace, service = name, "kept the Service of an earlier run");
        let is_owned = service.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
        if !is_owned && !body["metadata"]["ownerReferences"].is_null() {
            tracing::warn!(namespace, service = name, "it has no owner reference: only the watcher will remove it");
        }
    }

    fn waits_for(&self, obsolete: &Obsolete) -> bool {
        matches!(&self.met, Obstacle::Predecessor { why, .. } if why == obsolete)
    }

    async fn read(&mut self) -> Result<Option<Service>, EnsureError> {
        let call = Call::get(Resource::Services, self.task.namespace, self.task.name);
        self.api.read(&call, self.deadline()).await.map_err(|error| self.unanswered(error))
    }

    /// Deletes a Service that was judged obsolete, provided that it still is the object that was judged.
    async fn remove(&mut self, service: &Service, why: &Obsolete) -> Result<Removal, EnsureError> {
        if !matches!(why, Obsolete::Outdated { .. }) {
            match self.confirm_alive().await {
                Err(EnsureError::Call(PersistError::Final(error))) if error.meaning() == Some(Meaning::Rbac) => {
                    return Ok(Removal::Forbidden(error));
                }
                confirmed => confirmed?,
            }
        }
        let meta = &service.metadata;
        let uid = meta.uid.as_deref().unwrap_or_default();
        let version = meta.resource_version.as_deref().unwrap_or_default();
        let Task { namespace, name, .. } = self.task;
        let call = Call::delete(Resource::Services, namespace, name, uid, version);
        match self.api.persist::<Value>(&call, self.deadline()).await {
            Ok(_) => {
                tracing::info!(namespace, service = name, uid, reason = %why, "deleted an obsolete Service");
                Ok(Removal::Done)
            }
            Err(PersistError::Final(error)) => match error.meaning() {
                // Someone else was faster: what is there now is read and judged anew.
                Some(Meaning::NotFound) => Ok(Removal::Done),
                Some(Meaning::Conflict) => Ok(Removal::Changed(error)),
                Some(Meaning::Rbac) => Ok(Removal::Forbidden(error)),
                _ => Err(EnsureError::Refused(error)),
            },
            Err(error) => Err(self.unanswered(error)),
        }
    }

    /// Makes sure that this pod is the one that has the name now. A pod that was force-deleted while its node was cut
    /// off can still run, and to it its successor's Service looks like a predecessor's.
    async fn confirm_alive(&mut self) -> Result<(), EnsureError> {
        let pod = self.task.wanted.pod;
        let call = Call::get_metadata(Resource::Pods, self.task.namespace, &pod.name);
        let found: Option<MetadataOnly> =
            self.api.read(&call, self.deadline()).await.map_err(|error| self.unanswered(error))?;
        match found {
            Some(found) if found.metadata.uid.as_deref() == Some(&pod.uid) => Ok(()),
            _ => {
                let (name, uid, namespace) = (pod.name.clone(), pod.uid.clone(), self.task.namespace.to_owned());
                Err(PodGone(PodIdentity { name, namespace, uid }).into())
            }
        }
    }

    /// Takes note of what is in the way. A try that only the deadline cut short tells less than the one before it.
    fn meet(&mut self, obstacle: Obstacle) {
        if !obstacle.cut_short() {
            self.met = obstacle;
        }
    }

    async fn pause(&mut self) -> Result<(), EnsureError> {
        let told = self.met.to_string();
        if self.told.as_ref() != Some(&told) {
            let Task { namespace, name, .. } = self.task;
            match &self.met {
                Obstacle::Silent(error) => warn_of(error),
                _ => tracing::warn!(namespace, service = name, obstacle = told, "waiting"),
            }
            self.told = Some(told);
        }
        let asked: Option<Duration> = self.met.retry_after();
        self.patience.pause(asked).await.map_err(|TimeIsUp| self.time_is_up())
    }

    /// What a call that is not part of the creation itself fails with.
    fn unanswered(&mut self, error: PersistError) -> EnsureError {
        match error {
            PersistError::TimeIsUp(error) if error.cut_short() => self.time_is_up(),
            error => EnsureError::Call(error),
        }
    }

    /// The end of the run: what was in the way is what there is to tell.
    fn time_is_up(&mut self) -> EnsureError {
        let obstacle = mem::replace(&mut self.met, Obstacle::NameTaken);
        EnsureError::TimeIsUp { service: self.task.label(), obstacle }
    }

    fn deadline(&self) -> Deadline {
        self.patience.deadline()
    }
}

/// What became of an obsolete Service.
enum Removal {
    /// It is gone.
    Done,
    /// It is not the object any more that was judged.
    Changed(CallError),
    /// RBAC forbids to delete it, or to look at the pod before.
    Forbidden(CallError),
}
