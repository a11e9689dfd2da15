//! Remembers what was told about which Service, so that it is told once; it tells nothing itself.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use crate::uid::Uid;

/// What was told.
#[derive(Debug, Default)]
pub struct Told {
    versions: HashMap<Uid, u64>,
}

impl Told {
    /// Notes that something is told about a Service; whether it is the first time.
    pub fn is_first(&mut self, service: Uid, resource_version: &str) -> bool {
        self.versions.insert(service, hash(resource_version)).is_none()
    }

    /// Whether something was told about the Service as it is: looking at it again would find the same.
    #[must_use]
    pub fn knows(&self, service: Uid, resource_version: &str) -> bool {
        self.versions.get(&service) == Some(&hash(resource_version))
    }

    /// Forgets all Services but these.
    pub fn keep(&mut self, services: &HashSet<Uid>) {
        self.versions.retain(|service, _| services.contains(service));
    }

    /// About how many something was told.
    #[must_use]
    pub fn len(&self) -> usize {
        self.versions.len()
    }

    /// Whether nothing was told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
