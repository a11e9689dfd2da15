//! The creator in one pod, request by request: what of it matters to the watcher.

use common::key::Key;
use common::ownership::{PodRef, Relation, relation};
use k8s_openapi::api::core::v1::Service;

use crate::{
    objects,
    op::{Owner, PodLabel, PodName},
    server::{Server, uid},
};

/// A creator that runs.
#[derive(Debug)]
pub(crate) struct Creator {
    pod: Key,
    pod_uid: String,
    service: Key,
    owner: Owner,
    next: Next,
}

/// Its next request.
#[derive(Debug)]
enum Next {
    Label,
    Post,
    Read,
    /// Is it still this pod that has the name? A Service is to be deleted.
    Confirm(String, String),
    Delete(String, String),
}

/// What a request has led to.
pub(crate) enum Progress {
    Goes,
    /// Somebody else is in the way, or must end first.
    Waits,
    /// The pod has this Service.
    Done(Granted),
    /// It gives up.
    Fails,
}

/// A Service that a creator has made, or found again, for a pod.
pub(crate) struct Granted {
    pub(crate) pod_uid: String,
    pub(crate) service_uid: String,
}

impl Creator {
    /// Begins in a pod that is there.
    pub(crate) fn new(pod: PodName, pod_uid: &str, owner: Owner) -> Self {
        let (key, service) = (pod.key(), pod.service());
        Self { pod: key, pod_uid: pod_uid.to_owned(), service, owner, next: Next::Label }
    }

    /// Does the next request.
    pub(crate) fn step(&mut self, server: &mut Server) -> Progress {
        let (progress, next) = match &self.next {
            Next::Label => {
                if self.is_alive(server) {
                    server.pods.update(&self.pod, |pod| objects::label_pod(pod, PodLabel::PodName, true));
                }
                // Both requests are on their way at the same time: that the label failed does not stop the POST.
                (Progress::Goes, Next::Post)
            }
            Next::Post => {
                let service = objects::creators(&self.pod, &self.pod_uid, self.owner);
                match server.services.create(&self.service, service) {
                    Ok(uid) => (self.granted(&uid), Next::Read),
                    Err(_) => (Progress::Goes, Next::Read),
                }
            }
            Next::Read => match server.services.get(&self.service) {
                None => (Progress::Goes, Next::Post),
                Some(service) => self.judge(service),
            },
            Next::Confirm(uid, version) if self.is_alive(server) => {
                (Progress::Goes, Next::Delete(uid.clone(), version.clone()))
            }
            Next::Confirm(..) => (Progress::Fails, Next::Read),
            Next::Delete(uid, version) => {
                server.services.delete_if(&self.service, uid, version);
                (Progress::Goes, Next::Read)
            }
        };
        self.next = next;
        progress
    }

    fn judge(&self, service: &Service) -> (Progress, Next) {
        if service.metadata.deletion_timestamp.is_some() {
            return (Progress::Waits, Next::Read);
        }
        let version = service.metadata.resource_version.clone().unwrap_or_default();
        let identity = (uid(service).to_owned(), version);
        match relation(service, &PodRef { name: self.pod.name.to_string(), uid: self.pod_uid.clone() }) {
            Relation::ThisPod if self.answers(service) => (self.granted(uid(service)), Next::Read),
            Relation::ThisPod => (Progress::Goes, Next::Delete(identity.0, identity.1)),
            Relation::EarlierPod { .. } | Relation::OriginalTool => {
                (Progress::Goes, Next::Confirm(identity.0, identity.1))
            }
            Relation::OtherPod { .. } | Relation::Unclear(_) | Relation::Foreign => (Progress::Fails, Next::Read),
        }
    }

    fn answers(&self, service: &Service) -> bool {
        service.spec == objects::creators(&self.pod, &self.pod_uid, self.owner).spec
    }

    fn granted(&self, service_uid: &str) -> Progress {
        Progress::Done(Granted { pod_uid: self.pod_uid.clone(), service_uid: service_uid.to_owned() })
    }

    fn is_alive(&self, server: &Server) -> bool {
        server.pods.get(&self.pod).is_some_and(|pod| uid(pod) == self.pod_uid)
    }
}
