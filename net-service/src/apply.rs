//! Carries out what was planned: one request a change, none twice. It decides nothing but what an answer means.

use std::time::Duration;

use common::api::{
    call::Call,
    classify::Meaning,
    client::{Api, CallError},
    resource::Resource,
    retry::Deadline,
    watch::Seen,
};
use common::key::Key;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::{
    index::Report,
    names::MANAGER,
    object::Metadata,
    plan::Change,
    refusal::What,
    resource::Group,
    service::Service,
    slices::{Slice, SliceChange, Whose},
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
    /// Applies the changes, one after the other, up to the first that fails. A slice that is refused keeps no other slice from
    /// being right.
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
            // What was not done is not to be told as done.
            if outcome.failure.is_some() && what != Some(What::Slices) {
                break;
            }
            match self.one(change).await.map_err(|error| failure(error, what)) {
                Ok(report) => outcome.reports.extend(report),
                Err(failure) => {
                    let others_can_be_had = matches!(failure, Failure::Refused(What::Slices, _));
                    outcome.failure.get_or_insert(failure);
                    if !others_can_be_had {
                        break;
                    }
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// What is asked of an API that answers in this way, by these changes, and what becomes of them.
    async fn asked(changes: Vec<Change>, answer: fn(&str) -> (u16, &'static str)) -> (Vec<String>, Outcome) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let target = format!("{} {}", request.method(), request.uri().path());
            let (status, body) = answer(&target);
            seen.lock().unwrap().push(target);
            async move { Response::builder().status(status).body(Body::from(body.as_bytes().to_vec())) }
        });
        let api = Api::new(kube::Client::new(service, "ns"));
        let outcome = Applier { api: &api, group: Group::Own, key: &Key::new("ns", "sip") }.apply(changes).await;
        let asked = asked.lock().unwrap().clone();
        (asked, outcome)
    }

    fn slices() -> Vec<Change> {
        let patch = |name: &str| Change::Slice(SliceChange::Patch(name.to_owned(), json!({})));
        vec![
            Change::Slice(SliceChange::Create("a".to_owned(), json!({}))),
            patch("b"),
            patch("c"),
            Change::Status(json!({})),
        ]
    }

    const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices";

    #[tokio::test]
    async fn a_slice_that_is_refused_keeps_no_other_from_being_right_and_is_told_instead() {
        let (asked, outcome) = asked(slices(), |target| match target.starts_with("POST") {
            true => (403, r#"{"message": "exceeded quota: q", "reason": "Forbidden"}"#),
            false => (200, "{}"),
        })
        .await;
        assert_eq!(asked, [format!("POST {SLICES}"), format!("PATCH {SLICES}/b"), format!("PATCH {SLICES}/c")]);
        assert!(matches!(outcome.failure, Some(Failure::Refused(What::Slices, _))), "{outcome:?}");
        assert_eq!(outcome.reports.len(), 2);
    }

    #[tokio::test]
    async fn anything_else_that_fails_ends_it() {
        let (asked, outcome) = asked(slices(), |target| match target.ends_with("/b") {
            true => (409, r#"{"message": "the object has been modified", "reason": "Conflict"}"#),
            false => (200, "{}"),
        })
        .await;
        assert_eq!(asked, [format!("POST {SLICES}"), format!("PATCH {SLICES}/b")]);
        assert!(matches!(outcome.failure, Some(Failure::Outdated(_))), "{outcome:?}");
    }
}
