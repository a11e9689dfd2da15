//! What one run of a watcher has been told, for the [oracle](crate::oracle) alone.

use std::{
    cell::{Ref, RefCell, RefMut},
    collections::HashSet,
    time::Duration,
};

use common::key::Key;
use k8s_openapi::api::core::v1::{Pod, Service};

use crate::{
    oracle::{Whose, whose},
    server::{self, is_unfinished, key, uid},
};

/// All that one run knows.
#[derive(Debug, Default)]
pub(crate) struct Facts(RefCell<Known>);

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The answered reads of pods, in the order of the answers.
    pub(crate) reads: Vec<PodRead>,
    /// Pods that its watch has told of.
    pub(crate) told: Vec<Told>,
    /// Services that it was shown with all evidence: the Service's UID, its pod's name and UID.
    shown: HashSet<(String, String, String)>,
    /// The pods that its watch has told of, and not told that they are gone.
    alive: HashSet<(Key, String)>,
    /// The Services that left the selector while their pods were alive to its knowledge, with their resource versions.
    lost: HashSet<(Key, String)>,
}

/// A pod's name was read.
#[derive(Clone, Debug)]
pub(crate) struct PodRead {
    /// For the sake of this Service.
    pub(crate) service: Key,
    pub(crate) pod: Key,
    /// When the API carried it out.
    pub(crate) at: Duration,
    pub(crate) tick: u64,
    /// The version of the last change then.
    pub(crate) version: u64,
    pub(crate) found: Found,
}

/// What has the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Unfinished(String),
    Finished(String),
}

/// A watch told that a pod is there.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) pod: Key,
    /// The version of what it told.
    pub(crate) version: u64,
    pub(crate) tick: u64,
}

impl Facts {
    pub(crate) fn get(&self) -> Ref<'_, Known> {
        self.0.borrow()
    }

    pub(crate) fn get_mut(&self) -> RefMut<'_, Known> {
        self.0.borrow_mut()
    }
}

impl Known {
    /// Its watch has told of a pod.
    pub(crate) fn tell_pod(&mut self, told: &server::Told<Pod>, version: u64, tick: u64) {
        match told {
            server::Told::There(pod) => {
                self.told.push(Told { pod: key(pod), version, tick });
                self.alive.insert((key(pod), uid(pod).to_owned()));
            }
            server::Told::Gone(pod) => {
                self.alive.remove(&(key(pod), uid(pod).to_owned()));
            }
        }
    }

    /// Its watch has told of a Service.
    pub(crate) fn tell_service(&mut self, told: &server::Told<Service>) {
        match told {
            server::Told::There(service) => self.show(service),
            server::Told::Gone(service) => {
                if let Whose::Pod { name, uid: pod_uid } = whose(service)
                    && self.alive.contains(&(key(service).sibling(&name.into()), pod_uid))
                {
                    let version = service.metadata.resource_version.clone().unwrap_or_default();
                    self.lost.insert((key(service), version));
                }
            }
        }
    }

    /// Whether the Service, as it is, left the selector while its pod was alive to its knowledge.
    pub(crate) fn has_lost(&self, service: &Service) -> bool {
        let version = service.metadata.resource_version.clone().unwrap_or_default();
        self.lost.contains(&(key(service), version))
    }

    /// A scan has found a Service of this name suspect: of two that follow each other under one name, and only one of which
    /// is labelled, the watcher need not know which it knew before.
    pub(crate) fn confuse(&mut self, service: &Key) {
        self.lost.retain(|(key, _)| key != service);
    }

    /// A list of pods begins: which of them are alive, it will tell.
    pub(crate) fn forget_pods(&mut self) {
        self.alive.clear();
    }

    /// A list or a watch has shown this Service.
    pub(crate) fn show(&mut self, service: &Service) {
        if let Whose::Pod { name, uid: pod_uid } = whose(service) {
            self.shown.insert((uid(service).to_owned(), name, pod_uid));
        }
    }

    /// Whether it was shown the Service with all evidence that it was made for this pod.
    pub(crate) fn was_shown(&self, service_uid: &str, pod: &str, pod_uid: &str) -> bool {
        self.shown.contains(&(service_uid.to_owned(), pod.to_owned(), pod_uid.to_owned()))
    }
}

impl Found {
    pub(crate) fn of(pod: Option<&Pod>) -> Self {
        match pod {
            None => Self::Absent,
            Some(pod) if is_unfinished(pod) => Self::Unfinished(uid(pod).to_owned()),
            Some(pod) => Self::Finished(uid(pod).to_owned()),
        }
    }
}
