//! An API server in memory: what is there, and what reads, lists and watches tell of it.

use std::{cell::Cell, collections::BTreeMap, rc::Rc};

use common::key::Key;
use k8s_openapi::{
    api::core::v1::{Pod, Service},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use watcher::{examine::Deletion, object};

/// Both kinds of objects.
pub(crate) struct Server {
    pub(crate) pods: Store<Pod>,
    pub(crate) services: Store<Service>,
}

/// The objects of one kind.
pub(crate) struct Store<T> {
    /// The version of the last change of any kind.
    version: Rc<Cell<u64>>,
    objects: BTreeMap<Key, T>,
    history: Vec<Event<T>>,
}

/// A change of one object.
pub(crate) struct Event<T> {
    pub(crate) version: u64,
    pub(crate) before: Option<T>,
    pub(crate) after: Option<T>,
}

/// What a watch tells of a change.
pub(crate) enum Told<T> {
    There(T),
    Gone(T),
}

/// A kind of objects.
pub(crate) trait Kind: Clone + PartialEq + k8s_openapi::Metadata<Ty = ObjectMeta> {
    /// The first letter of its UIDs.
    const LETTER: char;
}

impl Kind for Pod {
    const LETTER: char = 'p';
}

impl Kind for Service {
    const LETTER: char = 's';
}

/// The object of this name is there already.
pub(crate) struct AlreadyExists;

impl Default for Server {
    fn default() -> Self {
        let version = Rc::new(Cell::new(0));
        Self { pods: Store::new(Rc::clone(&version)), services: Store::new(version) }
    }
}

impl Server {
    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.pods.version.get()
    }
}

impl<T: Kind> Store<T> {
    fn new(version: Rc<Cell<u64>>) -> Self {
        Self { version, objects: BTreeMap::new(), history: Vec::new() }
    }

    /// The version of the last change of any kind.
    pub(crate) fn version(&self) -> u64 {
        self.version.get()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&T> {
        self.objects.get(key)
    }

    /// All objects, as they are now.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.objects.iter()
    }

    /// All changes since the beginning.
    pub(crate) fn history(&self) -> &[Event<T>] {
        &self.history
    }

    /// What a watch of some of the objects tells of the change number `at`; nothing where it does not concern them. An
    /// object that is selected no more is told as gone, in its last selected state but with the new resource version.
    pub(crate) fn told(&self, at: usize, selects: impl Fn(&T) -> bool) -> Option<Told<T>> {
        let Event { version, before, after } = &self.history[at];
        if let Some(after) = after.as_ref().filter(|after| selects(after)) {
            return Some(Told::There(after.clone()));
        }
        let mut last = before.clone().filter(|before| selects(before))?;
        last.metadata_mut().resource_version = Some(version.to_string());
        Some(Told::Gone(last))
    }

    pub(crate) fn create(&mut self, key: &Key, mut object: T) -> Result<String, AlreadyExists> {
        if self.objects.contains_key(key) {
            return Err(AlreadyExists);
        }
        let uid = format!("{}{}", T::LETTER, self.version.get() + 1);
        let metadata = object.metadata_mut();
        metadata.namespace = Some(key.namespace.to_string());
        metadata.name = Some(key.name.to_string());
        metadata.uid = Some(uid.clone());
        self.write(key, Some(object));
        Ok(uid)
    }

    /// Changes an object; one that is being deleted goes with its last finalizer.
    pub(crate) fn update(&mut self, key: &Key, change: impl FnOnce(&mut T)) -> bool {
        let Some(before) = self.objects.get(key) else { return false };
        let mut after = before.clone();
        change(&mut after);
        if after == *before {
            return false;
        }
        let is_over = after.metadata().deletion_timestamp.is_some() && !is_held(&after);
        self.write(key, Some(after));
        if is_over {
            self.write(key, None);
        }
        true
    }

    /// Deletes an object, if it still has this UID and resource version.
    pub(crate) fn delete_if(&mut self, key: &Key, uid: &str, resource_version: &str) -> Deletion {
        let Some(metadata) = self.objects.get(key).map(T::metadata) else { return Deletion::NotFound };
        let is_same = metadata.uid.as_deref() == Some(uid);
        if !is_same || metadata.resource_version.as_deref() != Some(resource_version) {
            return Deletion::Conflict;
        }
        self.delete(key);
        Deletion::Done
    }

    /// Deletes an object, as far as its finalizers let it.
    pub(crate) fn delete(&mut self, key: &Key) {
        match self.objects.get(key) {
            None => {}
            Some(object) if !is_held(object) => self.write(key, None),
            Some(_) => self.begin_deletion(key),
        }
    }

    /// Only gives it a deletion timestamp, as a finalizer or a grace period has it.
    pub(crate) fn begin_deletion(&mut self, key: &Key) {
        let Some(mut object) = self.objects.get(key).cloned() else { return };
        object.metadata_mut().deletion_timestamp.get_or_insert(Time(Timestamp::UNIX_EPOCH));
        if self.objects.get(key) != Some(&object) {
            self.write(key, Some(object));
        }
    }

    fn write(&mut self, key: &Key, mut after: Option<T>) {
        let version = self.version.get() + 1;
        self.version.set(version);
        let before = match &mut after {
            None => self.objects.remove(key),
            Some(after) => {
                after.metadata_mut().resource_version = Some(version.to_string());
                self.objects.insert(key.clone(), after.clone())
            }
        };
        self.history.push(Event { version, before, after });
    }
}

fn is_held<T: Kind>(object: &T) -> bool {
    object.metadata().finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}

/// An object's namespace and name.
pub(crate) fn key<T: Kind>(object: &T) -> Key {
    let text = |value: &Option<String>| value.as_deref().unwrap_or_default().into();
    Key { namespace: text(&object.metadata().namespace), name: text(&object.metadata().name) }
}

/// An object's UID.
pub(crate) fn uid<T: Kind>(object: &T) -> &str {
    object.metadata().uid.as_deref().unwrap_or_default()
}

/// The version at which the object of this UID came into being.
pub(crate) fn born(uid: &str) -> u64 {
    uid[1..].parse().expect("a UID here is a letter and a version")
}

/// An object's metadata, on the way that they take from the API to the watcher.
pub(crate) fn metadata<T: Kind>(object: &T) -> object::Metadata {
    let sent = serde_json::json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object.metadata(),
    });
    let read: object::Object = serde_json::from_str(&sent.to_string()).expect("the API's own form");
    read.metadata
}

/// Whether the pods' watch and lists select it by its phase.
pub(crate) fn is_unfinished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed"))
}

/// An object's label.
pub(crate) fn label<'a, T: Kind>(object: &'a T, key: &str) -> Option<&'a str> {
    object.metadata().labels.as_ref()?.get(key).map(String::as_str)
}
