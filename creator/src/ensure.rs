//! Brings about the pod's one Service: the only writer of Services. What to do about an existing one is decided in
//! [`judge`](crate::judge); a Service that was not judged obsolete is never touched.

use std::time::Duration;

use common::{
    api::{
        call::{Call, MetadataOnly, Resource},
        classify::Meaning,
        client::{Api, PersistError, warn_of},
        retry::{Deadline, Patience, TimeIsUp},
    },
    labels::CREATOR,
};
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use crate::{
    ensure_error::{EnsureError, Obstacle},
    judge::{Obsolete, Verdict, Wanted, judge},
    ports::{GivenPort, given},
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

/// Creates the Service, or adopts the one that an earlier run of this pod created.
///
/// POST first: most often nothing is there, and no check made earlier could be relied on. Only when the POST fails in a
/// way that an existing Service can explain is that one read and judged. Kubernetes judges ports and quota before the
/// name, so "no port" can hide the pod's own Service too; and since each "already exists" charges the quota, a POST is
/// never repeated without a look at the name first.
///
/// # Errors
/// As [`EnsureError`] says.
pub async fn ensure(api: &Api, task: Task<'_>, deadline: Deadline) -> Result<Vec<GivenPort>, EnsureError> {
    let mut run = Run { api, task, patience: Patience::until(deadline), told: None };
    let mut first = true;
    loop {
        let obstacle = match run.create().await? {
            Attempt::Done(ports) => return Ok(ports),
            Attempt::Failed(obstacle) => obstacle,
        };
        // Where no connection came about, nothing can have been created.
        if !obstacle.never_sent()
            && let Some(ports) = run.settle().await?
        {
            return Ok(ports);
        }
        // The name is free now, so where only the name was the matter, the next POST can succeed at once; but a name
        // that others take and free all the time must not be fought for without pause.
        if !(first && matches!(obstacle, Obstacle::NameTaken)) {
            run.pause(obstacle).await?;
        }
        first = false;
    }
}

enum Attempt {
    Done(Vec<GivenPort>),
    Failed(Obstacle),
}

struct Run<'a> {
    api: &'a Api,
    task: Task<'a>,
    patience: Patience,
    /// What was last reported, so that the log tells of each obstacle once.
    told: Option<String>,
}

impl Run<'_> {
    async fn create(&mut self) -> Result<Attempt, EnsureError> {
        let Task { namespace, name, body, .. } = self.task;
        let call = Call::create(Resource::Services, namespace, name, body.clone(), CREATOR);
        let error = match self.api.once::<Service>(&call, self.deadline()).await {
            Ok(service) => {
                tracing::info!(namespace, service = name, "created the Service");
                return Ok(Attempt::Done(given(&service).map_err(|source| self.no_node_port(source))?));
            }
            Err(error) => error,
        };
        Ok(Attempt::Failed(match error.meaning() {
            Some(Meaning::AlreadyExists) => Obstacle::NameTaken,
            Some(Meaning::PortTaken | Meaning::RangeFull | Meaning::QuotaExceeded) => Obstacle::NoPort(error),
            _ if error.may_pass() => Obstacle::Silent(error),
            _ => return Err(EnsureError::Refused(error)),
        }))
    }

    /// Deals with what has the name until the pod's Service is there, or the name is free (`None`).
    async fn settle(&mut self) -> Result<Option<Vec<GivenPort>>, EnsureError> {
        loop {
            let Some(service) = self.read().await? else { return Ok(None) };
            let obstacle = match judge(&service, self.task.wanted) {
                Verdict::Adopt(ports) => {
                    let Task { namespace, name, .. } = self.task;
                    tracing::info!(namespace, service = name, "kept the Service of an earlier run");
                    return Ok(Some(ports));
                }
                Verdict::Refuse(whose) => return Err(EnsureError::Taken { service: self.label(), whose }),
                Verdict::Wait => Obstacle::Terminating { finalizers: service.metadata.finalizers.unwrap_or_default() },
                Verdict::Replace(why) => match self.remove(&service, why).await? {
                    Removal::Done => continue,
                    Removal::Waiting(obstacle) => obstacle,
                },
            };
            self.pause(obstacle).await?;
        }
    }

    async fn read(&self) -> Result<Option<Service>, EnsureError> {
        let call = Call::get(Resource::Services, self.task.namespace, self.task.name);
        self.api.read(&call, self.deadline()).await.map_err(EnsureError::Call)
    }

    /// Deletes a Service that was judged obsolete, provided that it still is the object that was judged.
    async fn remove(&self, service: &Service, why: Obsolete) -> Result<Removal, EnsureError> {
        if !matches!(why, Obsolete::Outdated { .. }) {
            self.confirm_alive().await?;
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
                Some(Meaning::Conflict) => Ok(Removal::Waiting(Obstacle::Changing(error))),
                Some(Meaning::Rbac) if why.goes_by_itself() => {
                    Ok(Removal::Waiting(Obstacle::Predecessor { why, source: error }))
                }
                Some(Meaning::Rbac) => Err(EnsureError::MayNotDelete { service: self.label(), why, source: error }),
                _ => Err(EnsureError::Refused(error)),
            },
            Err(error) => Err(EnsureError::Call(error)),
        }
    }

    /// Makes sure that this pod is the one that has the name now. A pod that was force-deleted while its node was cut
    /// off can still run, and to it its successor's Service looks like a predecessor's.
    async fn confirm_alive(&self) -> Result<(), EnsureError> {
        let pod = self.task.wanted.pod;
        let call = Call::get_metadata(Resource::Pods, self.task.namespace, &pod.name);
        let found: Option<MetadataOnly> = self.api.read(&call, self.deadline()).await.map_err(EnsureError::Call)?;
        match found {
            Some(found) if found.metadata.uid.as_deref() == Some(&pod.uid) => Ok(()),
            _ => Err(EnsureError::PodGone { pod: pod.clone(), namespace: self.task.namespace.to_owned() }),
        }
    }

    async fn pause(&mut self, obstacle: Obstacle) -> Result<(), EnsureError> {
        let told = obstacle.to_string();
        if self.told.as_ref() != Some(&told) {
            let Task { namespace, name, .. } = self.task;
            match &obstacle {
                Obstacle::Silent(error) => warn_of(error),
                _ => tracing::warn!(namespace, service = name, obstacle = told, "waiting"),
            }
            self.told = Some(told);
        }
        let asked: Option<Duration> = obstacle.retry_after();
        match self.patience.pause(asked).await {
            Ok(()) => Ok(()),
            Err(TimeIsUp) => Err(EnsureError::TimeIsUp { service: self.label(), obstacle }),
        }
    }

    fn deadline(&self) -> Deadline {
        self.patience.deadline()
    }

    fn label(&self) -> String {
        format!("{}/{}", self.task.namespace, self.task.name)
    }

    fn no_node_port(&self, source: crate::ports::NoNodePort) -> EnsureError {
        EnsureError::NoNodePort { service: self.label(), source }
    }
}

enum Removal {
    Done,
    Waiting(Obstacle),
}
