//! Objects as far as the controller reads them; what it does not name is passed over.

use std::collections::BTreeMap;

use common::key::Key;
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// The metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct Metadata {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub generation: Option<i64>,
    pub creation_timestamp: Option<Timestamp>,
    pub deletion_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "nothing_for_null")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "nothing_for_null")]
    pub owner_references: Vec<OwnerReference>,
    #[serde(deserialize_with = "nothing_for_null")]
    pub finalizers: Vec<String>,
}

impl Metadata {
    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.namespace, &self.name)
    }

    /// Its controller, if it has one.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// The resource version as the number that it is (KEP-5504), so that of two states the later is known; none where it is
    /// none.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        self.resource_version.parse().ok()
    }
}

/// Reads a list or a map. Go writes an empty one as null where it writes it at all.
///
/// # Errors
/// Where it is something else.
pub fn nothing_for_null<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Who owns an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub controller: bool,
}
