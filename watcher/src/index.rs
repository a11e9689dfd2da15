//! Decides from what the watches report which Services have become suspect; it never asks the API, and nothing is deleted
//! on its word.
//!
//! One slot for each pod name: the pod that lives under it, and the Services made for it. A Service is suspect where its pod
//! is not the one that lives. Only names and UIDs are kept.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use common::key::Key;

use crate::{
    object::{Lead, PodSeen, ServiceSeen},
    suspects::{Known, Suspect},
    uid::Uid,
    watched::Watched,
};

/// What a watch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A list begins: what it does not name is gone.
    Listing(Watched),
    /// The list is complete.
    Listed(Watched),
    /// The pod is there, and has not finished.
    Pod(PodSeen),
    /// The pod is gone, has finished, or is no longer selected.
    PodGone(PodSeen),
    /// The Service is there.
    Service(ServiceSeen),
    /// The Service is gone or no longer selected.
    ServiceGone(ServiceSeen),
}

/// What a change means.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Services that may be orphans now.
    pub suspects: Vec<Suspect>,
    /// Services whose pod was seen alive: earlier suspicions are void.
    pub cleared: Vec<Key>,
}

/// How much is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Services that are there.
    pub services: usize,
    /// Live pods that ran the creator and have no Service.
    pub pods_without_service: usize,
}

/// The pods and Services that the watches have reported.
#[derive(Debug, Default)]
pub struct Index {
    /// By the pod's name.
    slots: HashMap<Key, Slot>,
    /// From a Service's name to that of its pod.
    pods_of: HashMap<Key, Arc<str>>,
    namespaces: HashSet<Arc<str>>,
    pods: Listing,
    services: Listing,
    tally: Tally,
}

/// What is known of one pod name.
#[derive(Debug, Default)]
struct Slot {
    pod: Option<Pod>,
    services: Vec<Held>,
}

#[derive(Debug)]
struct Pod {
    uid: Uid,
    wants_service: bool,
    listing: u32,
}

#[derive(Debug)]
struct Held {
    name: Arc<str>,
    uid: Uid,
    made_for: MadeFor,
    /// The list it was last in; none while the watch says that it is gone. It may only have lost its label, and so it is
    /// remembered until its pod goes.
    listing: Option<u32>,
}

/// For which of the pods of a name a Service was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MadeFor {
    /// For this one.
    Pod(Uid),
    /// For whichever: the original tool's.
    Name,
    /// For none of them.
    Nobody,
}

/// Tells what the present list has named from what only an earlier one had.
#[derive(Debug, Default)]
struct Listing {
    number: u32,
    complete: bool,
}

impl Index {
    /// Takes in a change, and says what it means. Until both lists were complete once it means nothing: what they lack is
    /// only not there yet.
    pub fn note(&mut self, change: Change) -> Findings {
        let mut findings = Findings::default();
        match change {
            Change::Listing(watched) => {
                let listing = self.listing(watched);
                listing.number = listing.number.wrapping_add(1);
            }
            Change::Listed(watched) => {
                self.drop_unlisted(watched, &mut findings);
                let was_complete = self.is_complete();
                self.listing(watched).complete = true;
                return if was_complete { findings } else { Findings::default() };
            }
            Change::Pod(pod) => self.pod(pod, &mut findings),
            Change::PodGone(pod) => self.pod_gone(&pod.key, pod.uid, &mut findings),
            Change::Service(service) => self.service(service, &mut findings),
            Change::ServiceGone(service) => self.service_gone(&service.key, Some(service.uid)),
        }
        if self.is_complete() { findings } else { Findings::default() }
    }

    /// Whether both lists were complete once.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.pods.complete && self.services.complete
    }

    /// How much is held.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// How many live pods are known.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.slots.values().filter(|slot| slot.pod.is_some()).count()
    }

    fn listing(&mut self, watched: Watched) -> &mut Listing {
        match watched {
            Watched::Pods => &mut self.pods,
            Watched::Services => &mut self.services,
        }
    }

    fn pod(&mut self, seen: PodSeen, findings: &mut Findings) {
        let key = self.shared(seen.key);
        let pod = Pod { uid: seen.uid, wants_service: seen.wants_service, listing: self.pods.number };
        self.change(&key, |slot| {
            let is_new = slot.pod.as_ref().is_none_or(|before| before.uid != pod.uid);
            slot.pod = Some(pod);
            // An update of a pod that was known says nothing new about its Services.
            for held in slot.services.iter().filter(|_| is_new) {
                if slot.is_served_by(held) {
                    findings.cleared.push(key.sibling(&held.name));
                } else {
                    findings.suspects.extend(held.suspect(&key));
                }
            }
        });
    }

    fn pod_gone(&mut self, key: &Key, uid: Uid, findings: &mut Findings) {
        let mut forgotten = Vec::new();
        self.change(key, |slot| {
            if slot.pod.as_ref().is_some_and(|pod| pod.uid == uid) {
                slot.pod = None;
            }
            for held in &slot.services {
                // A late word of an earlier pod is no word about the one that lives.
                let is_concerned = match held.made_for {
                    MadeFor::Pod(pod) => pod == uid,
                    MadeFor::Name => slot.pod.is_none(),
                    MadeFor::Nobody => false,
                };
                if is_concerned {
                    findings.suspects.extend(held.suspect(key));
                }
            }
            let Slot { pod, services } = slot;
            services.retain(|held| {
                let is_kept = held.listing.is_some() || pod.as_ref().is_some_and(|pod| held.made_for.serves(pod.uid));
                if !is_kept {
                    forgotten.push(key.sibling(&held.name));
                }
                is_kept
            });
        });
        for service in forgotten {
            self.pods_of.remove(&service);
        }
    }

    fn service(&mut self, seen: ServiceSeen, findings: &mut Findings) {
        let service = self.shared(seen.key);
        let (pod, made_for) = match seen.lead {
            Lead::Pod { name, uid } if *name == *service.name => (service.clone(), MadeFor::Pod(uid)),
            Lead::Pod { name, uid } => (self.shared(service.sibling(&name.into())), MadeFor::Pod(uid)),
            Lead::ByName => (service.clone(), MadeFor::Name),
            Lead::Nobody(_) => (service.clone(), MadeFor::Nobody),
        };
        if self.pods_of.get(&service).is_some_and(|before| *before != pod.name) {
            self.forget(&service);
        }
        let listing = Some(self.services.number);
        let held = Held { name: Arc::clone(&service.name), uid: seen.uid, made_for, listing };
        self.change(&pod, |slot| {
            let before = slot.services.iter_mut().find(|before| before.name == held.name);
            let is_known =
                before.as_ref().is_some_and(|before| before.uid == held.uid && before.made_for == held.made_for);
            if !is_known && !slot.pod.as_ref().is_some_and(|pod| held.made_for.serves(pod.uid)) {
                findings.suspects.extend(held.suspect(&pod));
            }
            match slot.services.iter_mut().find(|before| before.name == held.name) {
                Some(before) => *before = held,
                // Nearly always the only one: the first push would make room for four.
                None => {
                    slot.services.reserve_exact(1);
                    slot.services.push(held);
                }
            }
        });
        self.pods_of.insert(service, pod.name);
    }

    /// A Service is gone; where its UID is given, then only that one.
    fn service_gone(&mut self, service: &Key, uid: Option<Uid>) {
        let Some(pod) = self.pods_of.get(service) else { return };
        let pod = service.sibling(pod);
        let mut is_forgotten = false;
        self.change(&pod, |slot| {
            let Some(at) = slot.services.iter().position(|held| held.name == service.name) else { return };
            let held = &slot.services[at];
            if uid.is_some_and(|uid| uid != held.uid) {
                return;
            }
            if slot.pod.as_ref().is_some_and(|pod| held.made_for == MadeFor::Pod(pod.uid)) {
                slot.services[at].listing = None;
            } else {
                slot.services.swap_remove(at);
                is_forgotten = true;
            }
        });
        if is_forgotten {
            self.pods_of.remove(service);
        }
    }

    /// The Service is about to serve another pod name than before.
    fn forget(&mut self, service: &Key) {
        if let Some(pod) = self.pods_of.remove(service) {
            let pod = service.sibling(&pod);
            self.change(&pod, |slot| slot.services.retain(|held| held.name != service.name));
        }
    }

    /// What the list that is complete now did not name is gone.
    fn drop_unlisted(&mut self, watched: Watched, findings: &mut Findings) {
        match watched {
            Watched::Pods => {
                let number = self.pods.number;
                let is_gone = |slot: &Slot| slot.pod.as_ref().filter(|pod| pod.listing != number).map(|pod| pod.uid);
                let gone: Vec<_> =
                    self.slots.iter().filter_map(|(key, slot)| Some((key.clone(), is_gone(slot)?))).collect();
                for (key, uid) in gone {
                    self.pod_gone(&key, uid, findings);
                }
                self.suspect_unserving(findings);
            }
            Watched::Services => {
                let number = self.services.number;
                let is_gone = |held: &&Held| held.listing.is_some_and(|listing| listing != number);
                let gone: Vec<_> = self
                    .slots
                    .iter()
                    .flat_map(|(key, slot)| slot.services.iter().filter(is_gone).map(|held| key.sibling(&held.name)))
                    .collect();
                for key in gone {
                    self.service_gone(&key, None);
                }
            }
        }
    }

    /// All Services whose pod is not there. A pod that came and went since the last list was in neither, and a look in the
    /// meantime can have found it alive.
    fn suspect_unserving(&self, findings: &mut Findings) {
        let found: HashSet<_> = findings.suspects.iter().map(|suspect| suspect.service.clone()).collect();
        for (key, slot) in &self.slots {
            let unserving = slot.services.iter().filter(|held| !slot.is_served_by(held));
            let suspects = unserving.filter_map(|held| held.suspect(key));
            findings.suspects.extend(suspects.filter(|suspect| !found.contains(&suspect.service)));
        }
    }

    /// Changes one slot, and with it the tally; an empty slot is given up.
    fn change(&mut self, key: &Key, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.slots.remove(key).unwrap_or_default();
        let before = slot.tally();
        change(&mut slot);
        let after = slot.tally();
        self.tally.services = self.tally.services + after.services - before.services;
        self.tally.pods_without_service =
            self.tally.pods_without_service + after.pods_without_service - before.pods_without_service;
        if slot.pod.is_some() || !slot.services.is_empty() {
            self.slots.insert(key.clone(), slot);
        }
    }

    /// The same key, held once in memory: a Service is nearly always named after its pod, and namespaces are few.
    fn shared(&mut self, key: Key) -> Key {
        if let Some((held, _)) = self.slots.get_key_value(&key) {
            return held.clone();
        }
        let namespace = match self.namespaces.get(&key.namespace) {
            Some(held) => Arc::clone(held),
            None => {
                self.namespaces.insert(Arc::clone(&key.namespace));
                key.namespace
            }
        };
        Key { namespace, name: key.name }
    }
}

impl Slot {
    fn is_served_by(&self, held: &Held) -> bool {
        self.pod.as_ref().is_some_and(|pod| held.made_for.serves(pod.uid))
    }

    fn tally(&self) -> Tally {
        let there = || self.services.iter().filter(|held| held.listing.is_some());
        let wants = self.pod.as_ref().is_some_and(|pod| pod.wants_service);
        let is_unserved = wants && !there().any(|held| self.is_served_by(held));
        Tally { services: there().count(), pods_without_service: usize::from(is_unserved) }
    }
}

impl MadeFor {
    fn serves(self, pod: Uid) -> bool {
        match self {
            Self::Pod(uid) => uid == pod,
            Self::Name => true,
            Self::Nobody => false,
        }
    }
}

impl Held {
    /// The suspicion against it, if it can be an orphan at all.
    fn suspect(&self, pod: &Key) -> Option<Suspect> {
        let known = match self.made_for {
            MadeFor::Pod(uid) => Some(Known { service: self.uid, pod: uid }),
            MadeFor::Name => None,
            MadeFor::Nobody => return None,
        };
        Some(Suspect { service: pod.sibling(&self.name), pod: Arc::clone(&pod.name), known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { namespace: "ns".into(), name: name.into() }
    }

    fn pod(name: &str, uid: &str) -> PodSeen {
        PodSeen { key: key(name), uid: Uid::of(uid), wants_service: true }
    }

    /// A Service with this lead, whose UID is its name and a number.
    fn service(name: &str, number: u32, lead: Lead) -> ServiceSeen {
        let uid = Uid::of(&format!("{name}-{number}"));
        ServiceSeen { key: key(name), uid, resource_version: String::new(), lead }
    }

    fn made_for(pod: &str, uid: &str) -> Lead {
        Lead::Pod { name: pod.into(), uid: Uid::of(uid) }
    }

    /// An index after both lists.
    fn index(pods: &[PodSeen], services: &[ServiceSeen]) -> Index {
        let mut index = Index::default();
        relist(&mut index, Watched::Services, services.iter().cloned().map(Change::Service));
        relist(&mut index, Watched::Pods, pods.iter().cloned().map(Change::Pod));
        assert!(index.is_complete());
        index
    }

    fn relist(index: &mut Index, watched: Watched, objects: impl Iterator<Item = Change>) -> Vec<String> {
        let mut found = suspects(&index.note(Change::Listing(watched)));
        for object in objects {
            found.extend(suspects(&index.note(object)));
        }
        found.extend(suspects(&index.note(Change::Listed(watched))));
        found
    }

    fn suspects(findings: &Findings) -> Vec<String> {
        let mut names: Vec<_> = findings.suspects.iter().map(|suspect| suspect.service.name.to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_suspect_before_both_lists_are_complete() {
        let mut index = Index::default();
        let orphan = service("app-0", 1, made_for("app-0", "u1"));
        assert!(suspects(&index.note(Change::Listing(Watched::Services))).is_empty());
        assert!(suspects(&index.note(Change::Service(orphan))).is_empty());
        assert!(suspects(&index.note(Change::Listed(Watched::Services))).is_empty());
        assert!(suspects(&index.note(Change::PodGone(pod("app-0", "u1")))).is_empty());
        assert!(!index.is_complete());
        assert!(suspects(&index.note(Change::Listed(Watched::Pods))).is_empty(), "the first scan finds it");
    }

    #[test]
    fn a_pod_that_goes_makes_its_services_suspect_and_no_other() {
        let mut index = index(
            &[pod("app-0", "u1"), pod("app-1", "u2")],
            &[
                service("app-0", 1, made_for("app-0", "u1")),
                service("fixed-name", 1, made_for("app-0", "u1")),
                service("app-1", 1, made_for("app-1", "u2")),
                service("left-alone", 1, Lead::Nobody(None)),
            ],
        );
        assert_eq!(suspects(&index.note(Change::PodGone(pod("app-0", "u1")))), ["app-0", "fixed-name"]);
        assert_eq!(index.tally(), Tally { services: 4, pods_without_service: 0 });
    }

    #[test]
    fn a_late_word_of_an_earlier_pod_concerns_only_its_own_services() {
        let mut index = index(&[pod("app-0", "u2")], &[service("app-0", 1, made_for("app-0", "u2"))]);
        assert!(suspects(&index.note(Change::PodGone(pod("app-0", "u1")))).is_empty());
        index.note(Change::Service(service("old", 1, made_for("app-0", "u1"))));
        assert_eq!(suspects(&index.note(Change::PodGone(pod("app-0", "u1")))), ["old"]);
    }

    #[test]
    fn a_pod_of_the_same_name_makes_the_services_of_the_earlier_one_suspect_once() {
        let mut index = index(&[pod("app-0", "u1")], &[service("app-0", 1, made_for("app-0", "u1"))]);
        assert_eq!(suspects(&index.note(Change::Pod(pod("app-0", "u2")))), ["app-0"]);
        assert!(suspects(&index.note(Change::Pod(pod("app-0", "u2")))).is_empty(), "an update says nothing new");
        let new = service("app-0", 2, made_for("app-0", "u2"));
        assert!(suspects(&index.note(Change::Service(new))).is_empty());
        assert_eq!(index.tally(), Tally { services: 1, pods_without_service: 0 });
    }

    #[test]
    fn a_service_that_comes_after_its_pod_has_gone_is_suspect_once() {
        let mut index = index(&[], &[]);
        let late = service("app-0", 1, made_for("app-0", "u1"));
        assert_eq!(suspects(&index.note(Change::Service(late.clone()))), ["app-0"]);
        assert!(suspects(&index.note(Change::Service(late))).is_empty(), "an update says nothing new");
        let edited = service("app-0", 1, made_for("app-0", "u9"));
        assert_eq!(suspects(&index.note(Change::Service(edited))), ["app-0"]);
    }

    #[test]
    fn what_may_be_the_original_tools_goes_by_the_name() {
        let mut index = index(&[pod("app-0", "u1")], &[service("app-0", 1, Lead::ByName)]);
        let gone = index.note(Change::PodGone(pod("app-0", "u1")));
        assert_eq!(gone.suspects[0].known, None);
        let back = index.note(Change::Pod(pod("app-0", "u2")));
        assert_eq!((back.suspects.len(), back.cleared), (0, vec![key("app-0")]));
    }

    #[test]
    fn a_list_tells_what_went_while_nobody_watched() {
        let mut index = index(
            &[pod("app-0", "u1"), pod("app-1", "u2")],
            &[service("app-0", 1, made_for("app-0", "u1")), service("app-1", 1, made_for("app-1", "u2"))],
        );
        assert_eq!(relist(&mut index, Watched::Pods, [Change::Pod(pod("app-1", "u2"))].into_iter()), ["app-0"]);
        index.note(Change::Service(service("app-2", 1, made_for("app-2", "u3"))));
        let left = [Change::Pod(pod("app-1", "u2"))].into_iter();
        assert_eq!(
            relist(&mut index, Watched::Pods, left),
            ["app-0", "app-2"],
            "its pod may have come and gone unseen"
        );
        // A list that breaks off and is begun anew counts only what its last try named.
        index.note(Change::Listing(Watched::Pods));
        index.note(Change::Pod(pod("app-1", "u2")));
        assert_eq!(relist(&mut index, Watched::Pods, [].into_iter()), ["app-0", "app-1", "app-2"]);
        relist(&mut index, Watched::Services, [].into_iter());
        assert_eq!((index.tally(), index.pods()), (Tally::default(), 0));
        assert!(index.slots.is_empty() && index.pods_of.is_empty(), "nothing is held in vain");
    }

    #[test]
    fn a_service_that_lost_its_label_is_remembered_until_its_pod_goes() {
        let ours = service("app-0", 1, made_for("app-0", "u1"));
        for leave in [true, false] {
            let mut index = index(&[pod("app-0", "u1")], std::slice::from_ref(&ours));
            if leave {
                index.note(Change::ServiceGone(ours.clone()));
            } else {
                relist(&mut index, Watched::Services, [].into_iter());
            }
            assert_eq!(index.tally(), Tally { services: 0, pods_without_service: 1 });
            let gone = index.note(Change::PodGone(pod("app-0", "u1")));
            let known = Known { service: ours.uid, pod: Uid::of("u1") };
            assert_eq!(gone.suspects[0].known, Some(known));
            assert!(index.slots.is_empty() && index.pods_of.is_empty(), "nothing is held in vain");
        }
    }

    #[test]
    fn a_service_may_come_to_serve_another_pod() {
        let mut index = index(&[pod("app-0", "u1"), pod("app-1", "u2")], &[service("web", 1, made_for("app-0", "u1"))]);
        assert!(suspects(&index.note(Change::Service(service("web", 1, made_for("app-1", "u2"))))).is_empty());
        assert!(suspects(&index.note(Change::PodGone(pod("app-0", "u1")))).is_empty());
        assert_eq!(index.tally(), Tally { services: 1, pods_without_service: 0 });
        assert_eq!(suspects(&index.note(Change::PodGone(pod("app-1", "u2")))), ["web"]);
        index.note(Change::ServiceGone(service("web", 1, made_for("app-1", "u2"))));
        assert!(index.slots.is_empty() && index.pods_of.is_empty(), "nothing is held in vain");
    }

    #[test]
    fn live_pods_without_a_service_are_counted() {
        let ran_nothing = PodSeen { wants_service: false, ..pod("app-2", "u3") };
        let mut index = index(&[pod("app-0", "u1"), pod("app-1", "u2"), ran_nothing], &[]);
        assert_eq!(index.tally().pods_without_service, 2);
        index.note(Change::Service(service("app-0", 1, made_for("app-0", "u1"))));
        index.note(Change::Service(service("app-1", 1, made_for("app-1", "an earlier one"))));
        assert_eq!(index.tally(), Tally { services: 2, pods_without_service: 1 });
        index.note(Change::ServiceGone(service("app-0", 2, made_for("app-0", "u1"))));
        assert_eq!(index.tally().services, 2, "a late word of an earlier Service");
        index.note(Change::Service(service("app-1", 2, Lead::ByName)));
        assert_eq!(index.tally().pods_without_service, 0);
    }
}
