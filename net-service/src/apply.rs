//! Carries out what was planned: one request a change, none twice. It decides nothing but what an answer means.

use std::time::Duration;

use common::api::{
    call::{Call, Resource},
    classify::Meaning,
    client::{Api, CallError},
    retry::Deadline,
    watch::Seen,
};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::{
    index::Report,
    names::MANAGER,
    object::{Key, Metadata},
    plan::Change,
    resource::Group,
    service::Service,
    slices::{Slice, SliceChange, Whose},
    work::What,
};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What became of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is known now, before a watch tells it.
    pub reports: Vec<Report>,
    /// What went wrong, and ended it.
    pub failure: Option<Failure>,
}

/// What went wrong.
#[derive(Debug)]
pub enum Failure {
    /// The API refuses this as it is asked for: its user should know.
    Refused(What, CallError),
    /// Something is not as it was when the plan was made; a watch is going to tell.
    Outdated(CallError),
    /// Anything else; it may pass.
    Other(CallError),
}

/// Applies changes to what one NetService has.
pub struct Applier<'a> {
    /// The API.
    pub api: &'a Api,
    /// Its group.
    pub group: Group,
    /// Namespace and name of the NetService and of its Service.
    pub key: &'a Key,
}

impl Applier<'_> {
    /// Applies the changes, one after the other, up to the first that fails.
    pub async fn apply(&self, changes: Vec<Change>) -> Outcome {
        let mut outcome = Outcome::default();
        for change in changes {
            let what = match change {
                Change::CreateService(_) | Change::PatchService(_) | Change::DeleteService { .. } => {
                    Some(What::Service)
                }
                Change::Slice(_) => Some(What::Slices),
                Change::Status(_) => None,
            };
            match self.one(change).await {
                Ok(report) => outcome.reports.extend(report),
                Err(error) => {
                    outcome.failure = Some(failure(error, what));
                    break;
                }
            }
        }
        outcome
    }

    async fn one(&self, change: Change) -> Result<Option<Report>, CallError> {
        let (namespace, name) = (&*self.key.namespace, &*self.key.name);
        Ok(match change {
            Change::CreateService(service) => {
                let call = Call::create(Resource::Services, namespace, name, service, MANAGER);
                Some(Report::Service(self.create(call).await?))
            }
            Change::PatchService(patch) => {
                let call = Call::merge(Resource::Services, namespace, name, patch, MANAGER);
                Some(Report::Service(Seen::There(self.send(&call).await?)))
            }
            Change::DeleteService { uid, resource_version } => {
                let call = Call::delete(Resource::Services, namespace, name, &uid, &resource_version);
                let last: Option<Service> = self.delete(&call).await?;
                last.map(|service| {
                    let stays = !service.metadata.finalizers.is_empty();
                    Report::Service(if stays { Seen::There(service) } else { Seen::Gone(service) })
                })
            }
            Change::Slice(SliceChange::Create(name, slice)) => {
                let call = Call::create(Resource::EndpointSlices, namespace, &name, slice, MANAGER);
                Some(match self.create::<Slice>(call).await? {
                    Seen::There(slice) if slice.whose() == Whose::Foreign => {
                        Report::SliceNameTaken(slice.metadata.key())
                    }
                    seen => Report::Slice(seen),
                })
            }
            Change::Slice(SliceChange::Patch(name, patch)) => {
                let call = Call::merge(Resource::EndpointSlices, namespace, &name, patch, MANAGER);
                Some(Report::Slice(Seen::There(self.send(&call).await?)))
            }
            Change::Slice(SliceChange::Delete { name, uid, resource_version }) => {
                let call = Call::delete(Resource::EndpointSlices, namespace, &name, &uid, &resource_version);
                // The answer is a Status, and not the slice.
                self.delete::<IgnoredAny>(&call).await?;
                let namespace = namespace.to_owned();
                let metadata = Metadata { namespace, name, uid, resource_version, ..Metadata::default() };
                Some(Report::Slice(Seen::Gone(Slice { metadata, ..Slice::default() })))
            }
            Change::Status(patch) => {
                let call = Call::merge(resource(self.group), namespace, name, patch, MANAGER).of_status();
                Some(Report::NetService(self.group, Seen::There(self.send(&call).await?)))
            }
        })
    }

    async fn send<T: DeserializeOwned>(&self, call: &Call) -> Result<T, CallError> {
        self.api.once(call, Deadline::after(PATIENCE)).await
    }

    /// Creates an object. Where the name is taken, what has it: it may be this one, if an answer was lost.
    async fn create<T: DeserializeOwned>(&self, call: Call) -> Result<Seen<T>, CallError> {
        match self.send(&call).await {
            Err(error) if error.meaning() == Some(Meaning::AlreadyExists) => {
                let there = Call::get(call.resource, &call.namespace, &call.name);
                Ok(Seen::There(self.send(&there).await?))
            }
            created => Ok(Seen::There(created?)),
        }
    }

    /// Deletes an object. Already gone is success.
    async fn delete<T: DeserializeOwned>(&self, call: &Call) -> Result<Option<T>, CallError> {
        match self.send(call).await {
            Ok(last) => Ok(Some(last)),
            Err(error) if error.meaning() == Some(Meaning::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The resource of a group's NetServices.
#[must_use]
pub fn resource(group: Group) -> Resource {
    match group {
        Group::Own => Resource::NetServices,
        Group::Original => Resource::OriginalNetServices,
    }
}

fn failure(error: CallError, what: Option<What>) -> Failure {
    match (error.meaning(), what) {
        (Some(Meaning::Conflict | Meaning::NotFound | Meaning::AlreadyExists), _) => Failure::Outdated(error),
        (Some(meaning), Some(what)) if !meaning.may_pass() => Failure::Refused(what, error),
        _ => Failure::Other(error),
    }
}
