//! Decides which selector the Service of a NetService has: none, but while Kubernetes is to forget which pods another one
//! selected. Pure.
//!
//! Whoever gives the Service a selector makes Kubernetes write pod-network addresses: into slices, and into an Endpoints object.
//! When the selector is taken away, both stay as they are, and of the Endpoints object Kubernetes makes further slices, for ever.
//! Nobody but Kubernetes is to touch that object. It empties it while the Service has a selector that no pod meets.

use std::collections::BTreeMap;

use crate::{net_service::NetService, slices::Slice};

/// Label of no pod; its value is the NetService's UID.
const NO_POD_LABEL: &str = "netservice.io/no-pod";

/// What Kubernetes wrote of the pods that a Service selected.
#[derive(Debug, Default)]
pub struct Left<'a> {
    /// Its slices for the Service.
    pub slices: Vec<&'a Slice>,
    /// Those that it makes of its Endpoints object for the Service.
    pub mirrored: Vec<&'a Slice>,
}

impl Left<'_> {
    /// Whether Kubernetes has seen a selector that no pod meets: it has a slice without endpoints then, and none of the other
    /// kind.
    fn is_emptied(&self) -> bool {
        let is_empty = |slice: &&Slice| slice.endpoints.is_empty();
        !self.slices.is_empty() && self.slices.iter().all(is_empty) && self.mirrored.is_empty()
    }
}

/// The selector that the Service is to have, which has this one now.
#[must_use]
pub fn wanted(net_service: &NetService, now: &BTreeMap<String, String>, left: &Left<'_>) -> BTreeMap<String, String> {
    let nobody = BTreeMap::from([(NO_POD_LABEL.to_owned(), net_service.uid.to_string())]);
    let is_clean = if *now == nobody { left.is_emptied() } else { now.is_empty() && left.mirrored.is_empty() };
    if is_clean { BTreeMap::new() } else { nobody }
}
