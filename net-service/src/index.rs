//! Holds what the watches report, and decides which NetServices a change concerns; it never asks the API.

use std::collections::BTreeSet;

use common::{api::watch::Seen, key::Key};
use k8s_openapi::jiff::Timestamp;

use crate::{
    net_service::{self, Edition, NetService},
    plan::Situation,
    pod::{self, Pod},
    refusal::What,
    resource::Group,
    selector::Left,
    service::Service,
    slices::{Slice, Whose},
    store::{Recent, Store},
    work::Cause,
};

/// What a watch reports.
#[derive(Debug)]
pub enum Report {
    /// Of the NetServices of a group.
    NetService(Group, Seen<net_service::Object>),
    /// Of pods.
    Pod(Seen<pod::Object>),
    /// Of Services.
    Service(Seen<Service>),
    /// Of EndpointSlices.
    Slice(Seen<Slice>),
    /// A slice of somebody else has this name.
    SliceNameTaken(Key),
}

/// A NetService, of one of the groups.
pub type Name = (Key, Group);

/// Everything that is there.
#[derive(Debug, Default)]
pub struct Index {
    own: Store<NetService>,
    original: Store<NetService>,
    pods: Store<Pod>,
    services: Store<Service>,
    slices: Store<Slice>,
    /// Names of slices of others, which are not held otherwise, since the last list.
    taken: BTreeSet<Key>,
}

impl Recent for NetService {
    fn revision(&self) -> Option<u64> {
        self.revision
    }
}

/// Only watches tell of pods, and these in their order.
impl Recent for Pod {
    fn revision(&self) -> Option<u64> {
        None
    }
}

impl Recent for Service {
    fn revision(&self) -> Option<u64> {
        self.metadata.revision()
    }
}

impl Recent for Slice {
    fn revision(&self) -> Option<u64> {
        self.metadata.revision()
    }
}

impl Index {
    /// Whether everything was listed once. Until then nothing can be planned: what lacks is only not there yet.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let (own, original) = (self.own.is_complete(), self.original.is_complete());
        own && original && self.pods.is_complete() && self.services.is_complete() && self.slices.is_complete()
    }

    /// All NetServices.
    pub fn net_services(&self) -> impl Iterator<Item = &NetService> {
        self.own.iter().chain(self.original.iter()).map(|(_, net_service)| net_service)
    }

    /// How many pods are held.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.pods.len()
    }

    /// All pods.
    pub fn all_pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().map(|(_, pod)| pod)
    }

    /// Which spec a NetService has, if it is there.
    #[must_use]
    pub fn edition(&self, (key, group): &Name) -> Option<Edition> {
        self.store(*group).get(key).map(NetService::edition)
    }

    /// Takes in what a watch reports. The NetServices that it may concern, and how.
    pub fn note(&mut self, report: Report) -> (BTreeSet<Name>, Cause) {
        match report {
            Report::NetService(group, seen) => self.note_net_service(group, seen),
            Report::Pod(seen) => (self.note_pod(seen), Cause::Input),
            Report::Service(seen) => (self.note_service(seen), Cause::Output),
            Report::Slice(seen) => (self.note_slice(seen), Cause::Output),
            Report::SliceNameTaken(key) => {
                self.taken.insert(key);
                (BTreeSet::new(), Cause::Output)
            }
        }
    }

    fn note_net_service(&mut self, group: Group, seen: Seen<net_service::Object>) -> (BTreeSet<Name>, Cause) {
        let seen = seen.map(|object| (object.key(), object.kept(group)));
        let store = self.of_group(group);
        let mut cause = Cause::Input;
        let mut keys = Vec::new();
        for (key, before) in store.note(seen) {
            match (before, store.get(&key)) {
                (Some(before), Some(now)) if now.says_the_same(&before) => continue,
                (Some(before), Some(now)) if now.asks_the_same(&before) => cause = Cause::Output,
                _ => {}
            }
            keys.push(key);
        }
        // The one of the other group may have waited for the name, and what is gone is to be forgotten.
        let concerned = keys.into_iter().flat_map(|key| self.called(&key).chain([(key, group)]));
        (concerned.collect(), cause)
    }

    fn note_pod(&mut self, seen: Seen<pod::Object>) -> BTreeSet<Name> {
        let seen = seen.map(|object| {
            let key = object.key();
            (key.clone(), object.kept(key.name))
        });
        let changed = self.pods.note(seen);
        changed.iter().flat_map(|(key, before)| self.selecting(key, before.iter().chain(self.pods.get(key)))).collect()
    }

    fn note_service(&mut self, seen: Seen<Service>) -> BTreeSet<Name> {
        let changed = self.services.note(seen.map(|service| (service.metadata.key(), service.kept())));
        changed.iter().flat_map(|(key, _)| self.called(key)).collect()
    }

    fn note_slice(&mut self, seen: Seen<Slice>) -> BTreeSet<Name> {
        if matches!(seen, Seen::Listing) {
            self.taken.clear();
        }
        let seen = match seen {
            // One that is not kept may have been ours before.
            Seen::There(slice) => self.kept(slice),
            seen => seen,
        };
        let changed = self.slices.note(seen.map(|slice| (slice.metadata.key(), slice)));
        let states = |(key, before): &(Key, Option<Slice>)| {
            let states = before.iter().chain(self.slices.get(key));
            states.flat_map(|slice| self.concerned(slice)).collect::<Vec<_>>()
        };
        changed.iter().flat_map(states).collect()
    }

    /// What is kept of a slice that is there; one of which nothing is might as well be gone. Until everything is listed nobody
    /// knows which Services are NetServices'.
    fn kept(&self, slice: Slice) -> Seen<Slice> {
        let is_kept = match slice.whose() {
            Whose::NetService(_) => return Seen::There(slice),
            Whose::Service(name) | Whose::Endpoints(name) => {
                !self.is_complete() || self.called(&Key::new(&slice.metadata.namespace, name)).next().is_some()
            }
            Whose::Foreign => false,
        };
        if is_kept { Seen::There(slice.outlined()) } else { Seen::Gone(slice) }
    }

    /// Forgets the slices of Services that are no NetService's.
    pub fn forget_foreign_slices(&mut self) {
        let is_kubernetes = |slice: &Slice| matches!(slice.whose(), Whose::Service(_) | Whose::Endpoints(_));
        let foreign: Vec<_> = self
            .slices
            .iter()
            .filter(|(_, slice)| is_kubernetes(slice) && self.concerned(slice).next().is_none())
            .map(|(_, slice)| slice.clone())
            .collect();
        for slice in foreign {
            self.slices.remove(&slice.metadata.key(), &slice);
        }
    }

    fn concerned(&self, slice: &Slice) -> impl Iterator<Item = Name> + use<> {
        let name = match slice.whose() {
            Whose::NetService(name) | Whose::Service(name) | Whose::Endpoints(name) => {
                Some(Key::new(&slice.metadata.namespace, name))
            }
            Whose::Foreign => None,
        };
        name.map(|key| self.called(&key)).into_iter().flatten()
    }

    /// What is there for a NetService, and itself.
    #[must_use]
    pub fn situation<'a>(
        &'a self,
        name: &Name,
        refused: Vec<(What, &'a str)>,
        now: Timestamp,
    ) -> Option<(&'a NetService, Situation<'a>)> {
        let (key, group) = name;
        let net_service = self.store(*group).get(key)?;
        let service = self.services.get(key);
        let own_service = service.filter(|service| service.is_of(net_service)).map(|service| &service.metadata.uid);
        let is_of = |slice: &Slice, uid: &str| slice.metadata.controller().is_some_and(|owner| owner.uid == uid);
        let (mut slices, mut left) = (Vec::new(), Left::default());
        for (_, slice) in self.slices.in_namespace(&key.namespace) {
            match slice.whose() {
                Whose::NetService(name) => {
                    let is_mine = match slice.metadata.controller() {
                        Some(_) => is_of(slice, &net_service.uid),
                        None => *name == *key.name,
                    };
                    slices.extend(is_mine.then_some(slice));
                }
                Whose::Service(_) => left.slices.extend(own_service.filter(|uid| is_of(slice, uid)).map(|_| slice)),
                Whose::Endpoints(name) => {
                    left.mirrored.extend(own_service.filter(|_| *name == *key.name).map(|_| slice));
                }
                Whose::Foreign => {}
            }
        }
        let held = self.slices.in_namespace(&key.namespace).map(|(key, _)| &*key.name);
        let taken = self.taken.iter().filter(|taken| taken.namespace == key.namespace).map(|taken| &*taken.name);
        let situation = Situation {
            first: Some(self.first(key)?).filter(|first| first != group),
            service,
            slices,
            left,
            slice_names: held.chain(taken).collect(),
            pods: self.pods.in_namespace(&key.namespace).map(|(_, pod)| pod).collect(),
            refused,
            now,
        };
        Some((net_service, situation))
    }

    /// Of the NetServices of a name, the group of the one that has it: the Service's owner, else the one that was told that it
    /// has one, which may be about to be made anew, else the older.
    fn first(&self, key: &Key) -> Option<Group> {
        let all = || Group::ALL.into_iter().filter_map(|group| self.store(group).get(key));
        let owner = self.services.get(key).and_then(|service| service.metadata.controller());
        let holder = owner.and_then(|owner| all().find(|net_service| net_service.uid == owner.uid));
        holder
            .or_else(|| all().min_by_key(|found| (found.status.service.is_none(), found.created, found.group)))
            .map(|found| found.group)
    }

    fn called(&self, key: &Key) -> impl Iterator<Item = Name> + use<> {
        let groups: Vec<_> = Group::ALL.into_iter().filter(|group| self.store(*group).get(key).is_some()).collect();
        let key = key.clone();
        groups.into_iter().map(move |group| (key.clone(), group))
    }

    /// The NetServices that select one of these states of a pod.
    fn selecting<'a>(&self, pod: &Key, states: impl IntoIterator<Item = &'a Pod>) -> BTreeSet<Name> {
        let states: Vec<_> = states.into_iter().collect();
        let all = [&self.own, &self.original].into_iter().flat_map(|store| store.in_namespace(&pod.namespace));
        let selecting = all.filter(|(_, net_service)| {
            let spec = net_service.spec.as_ref();
            spec.is_ok_and(|spec| states.iter().any(|pod| pod.is_selected_by(&spec.selector)))
        });
        selecting.map(|(key, net_service)| (key.clone(), net_service.group)).collect()
    }

    fn store(&self, group: Group) -> &Store<NetService> {
        match group {
            Group::Own => &self.own,
            Group::Original => &self.original,
        }
    }

    fn of_group(&mut self, group: Group) -> &mut Store<NetService> {
        match group {
            Group::Own => &mut self.own,
            Group::Original => &mut self.original,
        }
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
