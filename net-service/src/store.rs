//! Holds the objects of one kind that a watch reports, by name; what they mean is not its business.

use std::collections::BTreeMap;

use common::{api::watch::Seen, key::Key};

/// What is held must say how recent it is.
pub trait Recent {
    /// The resource version as a number; none where nobody knows, and then whatever comes later is newer.
    fn revision(&self) -> Option<u64>;
}

/// The objects.
#[derive(Debug)]
pub struct Store<T> {
    objects: BTreeMap<Key, Held<T>>,
    /// The number of the present list.
    listing: u32,
    is_complete: bool,
}

#[derive(Debug)]
struct Held<T> {
    object: T,
    /// The list it was last in.
    listing: u32,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), listing: 0, is_complete: false }
    }
}

impl<T: Recent> Store<T> {
    /// Whether a list has been complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The one of this name.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.objects.get(key).map(|held| &held.object)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.objects.iter().map(|(key, held)| (key, &held.object))
    }

    /// Those of a namespace.
    pub fn in_namespace<'a>(&'a self, namespace: &str) -> impl Iterator<Item = (&'a Key, &'a T)> + use<'a, T> {
        let from = Key::new(namespace, "");
        let namespace = from.namespace.clone();
        let range = self.objects.range(from..).take_while(move |(key, _)| key.namespace == namespace);
        range.map(|(key, held)| (key, &held.object))
    }

    /// Takes in what a watch has seen. What has changed by that, and how it was before, if it was there.
    pub fn note(&mut self, seen: Seen<(Key, T)>) -> Vec<(Key, Option<T>)>
    where
        T: PartialEq,
    {
        match seen {
            Seen::Listing => {
                self.begin_list();
                Vec::new()
            }
            Seen::Listed => self.end_list().into_iter().map(|(key, before)| (key, Some(before))).collect(),
            Seen::There((key, object)) => match self.put(key.clone(), object) {
                Ok(before) if before.as_ref() != self.get(&key) => vec![(key, before)],
                Ok(_same) => Vec::new(),
                Err(_older) => Vec::new(),
            },
            Seen::Gone((key, last)) => self.remove(&key, &last).map(|before| (key, Some(before))).into_iter().collect(),
        }
    }

    /// A list begins.
    pub fn begin_list(&mut self) {
        self.listing = self.listing.wrapping_add(1);
    }

    /// The list is complete: what it did not name is gone.
    pub fn end_list(&mut self) -> Vec<(Key, T)> {
        self.is_complete = true;
        let listing = self.listing;
        let gone: Vec<_> =
            self.objects.iter().filter(|(_, held)| held.listing != listing).map(|(key, _)| key.clone()).collect();
        gone.into_iter().filter_map(|key| self.objects.remove(&key).map(|held| (key, held.object))).collect()
    }

    /// It is there. What was there before, or the object back where a later state of it is known. What a list says counts more
    /// than what was known before it, however late that was: after a restored backup resource versions begin anew.
    ///
    /// # Errors
    /// With the object that is too old.
    pub fn put(&mut self, key: Key, object: T) -> Result<Option<T>, T> {
        let listing = self.listing;
        if let Some(held) = self.objects.get_mut(&key) {
            let was_known_before = std::mem::replace(&mut held.listing, listing) != listing;
            if !was_known_before && is_before(&object, &held.object) {
                return Err(object);
            }
            return Ok(Some(std::mem::replace(&mut held.object, object)));
        }
        self.objects.insert(key, Held { object, listing });
        Ok(None)
    }

    /// It is gone; this is how it was last. What was there, unless a later state is known: another one of the name.
    pub fn remove(&mut self, key: &Key, last: &T) -> Option<T> {
        let held = self.objects.get(key)?;
        if is_before(last, &held.object) {
            return None;
        }
        self.objects.remove(key).map(|held| held.object)
    }
}

fn is_before<T: Recent>(one: &T, other: &T) -> bool {
    matches!((one.revision(), other.revision()), (Some(one), Some(other)) if one < other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct At(u64);

    impl Recent for At {
        fn revision(&self) -> Option<u64> {
            (self.0 > 0).then_some(self.0)
        }
    }

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    #[test]
    fn what_the_list_does_not_name_is_gone() {
        let mut store = Store::default();
        store.begin_list();
        for name in ["a", "b"] {
            store.put(key(name), At(1)).unwrap();
        }
        assert!(!store.is_complete());
        assert_eq!(store.end_list(), []);
        assert!(store.is_complete());
        store.begin_list();
        store.put(key("b"), At(1)).unwrap();
        store.put(key("c"), At(2)).unwrap();
        assert_eq!(store.end_list(), [(key("a"), At(1))]);
        assert_eq!(store.in_namespace("ns").map(|(key, _)| key.name.to_string()).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn an_earlier_state_never_replaces_a_later() {
        let mut store = Store::default();
        assert_eq!(store.put(key("a"), At(5)), Ok(None));
        assert_eq!(store.put(key("a"), At(4)), Err(At(4)));
        assert_eq!(store.remove(&key("a"), &At(4)), None, "the end of the one before");
        assert_eq!(store.put(key("a"), At(6)), Ok(Some(At(5))));
        assert_eq!(store.put(key("a"), At(0)), Ok(Some(At(6))), "nobody knows");
        assert_eq!(store.remove(&key("a"), &At(7)), Some(At(0)));
        assert_eq!(store.remove(&key("a"), &At(7)), None);
    }

    #[test]
    fn a_list_counts_though_a_later_state_was_known_as_after_a_restored_backup() {
        let mut store = Store::default();
        store.begin_list();
        store.put(key("a"), At(5)).unwrap();
        store.end_list();
        store.begin_list();
        assert_eq!(store.put(key("a"), At(3)), Ok(Some(At(5))));
        assert_eq!(store.put(key("a"), At(4)), Ok(Some(At(3))), "written while it is listed");
        assert_eq!(store.put(key("a"), At(3)), Err(At(3)), "the list knows nothing of that");
        store.end_list();
        assert_eq!(store.remove(&key("a"), &At(4)), Some(At(4)));
    }

    #[test]
    fn a_namespace_is_not_taken_for_another_that_begins_alike() {
        let mut store = Store::default();
        for (namespace, name) in [("a", "x"), ("a-b", "y"), ("a", "z"), ("b", "w")] {
            store.put(Key::new(namespace, name), At(1)).unwrap();
        }
        let names = |namespace| store.in_namespace(namespace).map(|(key, _)| key.name.to_string()).collect::<Vec<_>>();
        assert_eq!(
            (names("a"), names("a-b"), names("c")),
            (vec!["x".to_owned(), "z".to_owned()], vec!["y".to_owned()], vec![])
        );
    }
}
