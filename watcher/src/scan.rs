//! Looks for what the watches missed: lists everything anew and reports the Services whose pods it did not find. It judges
//! and deletes nothing, and what the watches have reported means nothing to it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use common::{
    api::{
        call::{Extent, Selection},
        classify::Meaning,
        client::{Api, CallError},
        pages::Pages,
        resource::Resource,
    },
    key::Key,
    labels::POD_NAME_LABEL,
    ownership::Doubt,
};

use crate::{
    object::{Lead, Metadata, Object, PodSeen, ServiceSeen},
    selector::LabelSelector,
    suspects::{Known, Suspect},
    uid::Uid,
};

/// Pods that have not finished. One that has is for the watches as if it were gone, and its Service is looked at.
pub const UNFINISHED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// How often a scan begins anew because the API no longer had the rest of a list.
const ATTEMPTS: u32 = 3;

/// One scan.
#[derive(Clone)]
pub struct Scan {
    /// The API.
    pub api: Api,
    /// Where; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The pods that are watched.
    pub pods: LabelSelector,
    /// The Services to look after.
    pub services: LabelSelector,
}

/// What a scan has found.
#[derive(Debug, Default)]
pub struct Scanned {
    /// How many Services there are.
    pub services: usize,
    /// Services whose pod is in no list.
    pub suspects: Vec<Found>,
    /// Services whose metadata alone tell that nobody can tell whose they are.
    pub unclear: Vec<(Key, Uid, Doubt)>,
}

/// A suspect that a scan has found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The suspect.
    pub suspect: Suspect,
    /// The Service's UID.
    pub uid: Uid,
    /// The Service's resource version.
    pub resource_version: String,
}

impl Scan {
    /// Scans once.
    ///
    /// # Errors
    /// Where a list cannot be had.
    pub async fn run(&self) -> Result<Scanned, CallError> {
        let mut attempt = 1;
        loop {
            match self.attempt().await {
                Err(error) if error.meaning() == Some(Meaning::Expired) && attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    /// Services first: whatever then is in no list of pods has no pod. The other way round, the Services of all pods
    /// that came in between would be suspect.
    async fn attempt(&self) -> Result<Scanned, CallError> {
        let mut candidates = Candidates::default();
        self.each(Resource::Services, self.services.as_str().to_owned(), "", |metadata| {
            candidates.service(metadata.into());
        })
        .await?;
        if !candidates.is_empty() {
            for labels in self.pod_selectors() {
                self.each(Resource::Pods, labels, UNFINISHED, |metadata| candidates.pod(&metadata.into())).await?;
            }
        }
        Ok(candidates.scanned())
    }

    /// The watched pods, and the others that ran the creator.
    fn pod_selectors(&self) -> [String; 2] {
        let others = match self.pods.excluding() {
            Some(excluding) => format!("{POD_NAME_LABEL},{excluding}"),
            None => POD_NAME_LABEL.to_owned(),
        };
        [self.pods.as_str().to_owned(), others]
    }

    async fn each(
        &self,
        resource: Resource,
        labels: String,
        fields: &'static str,
        mut visit: impl FnMut(Metadata),
    ) -> Result<(), CallError> {
        let selection =
            Selection { resource, namespace: self.namespace.clone(), labels, fields, extent: Extent::Metadata };
        let mut pages = Pages::<Object>::new(&self.api, &selection);
        while let Some(page) = pages.next().await? {
            page.into_iter().map(|object| object.metadata).for_each(&mut visit);
        }
        Ok(())
    }
}

/// The Services whose pods were not found yet, by the name of the pod: all that a scan decides.
#[derive(Debug, Default)]
pub struct Candidates {
    by_pod: HashMap<Key, Vec<Candidate>>,
    namespaces: HashSet<Arc<str>>,
    scanned: Scanned,
}

#[derive(Debug)]
struct Candidate {
    name: Arc<str>,
    uid: Uid,
    resource_version: Box<str>,
    /// The pod that it was made for; none of what may be the original tool's.
    pod: Option<Uid>,
}

impl Candidates {
    /// A Service of the list.
    pub fn service(&mut self, service: ServiceSeen) {
        self.scanned.services += 1;
        let ServiceSeen { key, uid, resource_version, lead } = service;
        let namespace = match self.namespaces.get(&key.namespace) {
            Some(held) => Arc::clone(held),
            None => {
                self.namespaces.insert(Arc::clone(&key.namespace));
                key.namespace
            }
        };
        let key = Key { namespace, name: key.name };
        let (pod_key, pod) = match lead {
            Lead::Pod { name, uid } if *name == *key.name => (key.clone(), Some(uid)),
            Lead::Pod { name, uid } => (key.sibling(&name.into()), Some(uid)),
            Lead::ByName => (key.clone(), None),
            Lead::Nobody(doubt) => {
                self.scanned.unclear.extend(doubt.map(|doubt| (key, uid, doubt)));
                return;
            }
        };
        // Only a look at what may be the original tool's can be in vain, and is spared if nothing has changed since.
        let resource_version = if pod.is_none() { resource_version.into() } else { Box::default() };
        let candidate = Candidate { name: key.name, uid, resource_version, pod };
        // Nearly always the only one: the first push would make room for four.
        let candidates = self.by_pod.entry(pod_key).or_default();
        candidates.reserve_exact(1);
        candidates.push(candidate);
    }

    /// A pod that lives: what was made for it is no suspect.
    pub fn pod(&mut self, pod: &PodSeen) {
        if let Some(candidates) = self.by_pod.get_mut(&pod.key) {
            candidates.retain(|candidate| candidate.pod.is_some_and(|uid| uid != pod.uid));
            if candidates.is_empty() {
                self.by_pod.remove(&pod.key);
            }
        }
    }

    /// Whether the pods need not be listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

    /// What is left when all pods were listed.
    #[must_use]
    pub fn scanned(self) -> Scanned {
        let suspects = self.by_pod.into_iter().flat_map(|(pod, candidates)| {
            candidates.into_iter().map(move |candidate| Found {
                suspect: Suspect {
                    service: pod.sibling(&candidate.name),
                    pod: Arc::clone(&pod.name),
                    known: candidate.pod.map(|pod| Known { service: candidate.uid, pod }),
                },
                uid: candidate.uid,
                resource_version: candidate.resource_version.into(),
            })
        });
        Scanned { suspects: suspects.collect(), ..self.scanned }
    }
}
