//! The name of a namespaced object.

use std::{fmt, sync::Arc};

/// A namespaced name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `metadata.namespace`
    pub namespace: Arc<str>,
    /// `metadata.name`
    pub name: Arc<str>,
}

impl Key {
    /// Of these texts.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Another name in the same namespace.
    #[must_use]
    pub fn sibling(&self, name: &Arc<str>) -> Self {
        Self { namespace: Arc::clone(&self.namespace), name: Arc::clone(name) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
