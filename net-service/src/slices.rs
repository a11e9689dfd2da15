//! Decides which EndpointSlices a NetService has: pure. What is in the right slice already stays there, so that a change
//! rewrites few.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    endpoints::{Endpoint, Set, SlicePort},
    names::{HEADLESS_LABEL, SERVICE_NAME_LABEL, SLICES_MANAGED_BY, SLICES_MANAGED_BY_LABEL},
    net_service::NetService,
    object::{Metadata, nothing_for_null},
    resource::{ServiceType, Spec},
    service::net_service_of,
};

/// The most endpoints in a slice, as Kubernetes' own controller has it.
pub const MOST: usize = 100;

/// An EndpointSlice, as far as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Slice {
    /// `metadata`
    pub metadata: Metadata,
    /// `addressType`
    pub address_type: Box<str>,
    /// `endpoints`
    #[serde(deserialize_with = "nothing_for_null")]
    pub endpoints: Vec<Endpoint>,
    /// `ports`
    #[serde(deserialize_with = "nothing_for_null")]
    pub ports: Vec<SlicePort>,
}

impl common::api::watch::Watchable for Slice {
    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

/// Who writes slices for Services with a selector, as the label says.
const KUBERNETES: &str = "endpointslice-controller.k8s.io";

/// Who makes slices of Endpoints objects of Services without one.
const MIRRORING: &str = "endpointslicemirroring-controller.k8s.io";

/// Label of the Endpoints that Kubernetes wrote, and of the slices that it makes of them; those that somebody wrote by hand lack
/// it.
const ENDPOINTS_MANAGED_BY_LABEL: &str = "endpoints.kubernetes.io/managed-by";

/// Value of [`ENDPOINTS_MANAGED_BY_LABEL`].
const ENDPOINTS_MANAGED_BY: &str = "endpoint-controller";

/// Whose a slice is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// That of the NetService of this name: its controller, or by its labels, if it has none.
    NetService(&'a str),
    /// Kubernetes wrote it for the Service of this name. There is none for a Service without a selector, but where somebody gave
    /// it one for a moment: Kubernetes leaves it alone then, and clients use it for ever.
    Service(&'a str),
    /// Kubernetes made it of the Endpoints that it wrote for the Service of this name then.
    Endpoints(&'a str),
    /// Somebody else's.
    Foreign,
}

impl Slice {
    /// Whose it is.
    #[must_use]
    pub fn whose(&self) -> Whose<'_> {
        let label = |name: &str| self.metadata.labels.get(name).map(String::as_str);
        let controller = self.metadata.controller();
        if let Some(owner) = net_service_of(&self.metadata) {
            return Whose::NetService(&owner.name);
        }
        match (label(SLICES_MANAGED_BY_LABEL), controller, label(SERVICE_NAME_LABEL)) {
            (Some(SLICES_MANAGED_BY), None, Some(service)) => Whose::NetService(service),
            (Some(KUBERNETES), Some(owner), _) if owner.kind == "Service" => Whose::Service(&owner.name),
            (Some(MIRRORING), _, Some(service)) if label(ENDPOINTS_MANAGED_BY_LABEL) == Some(ENDPOINTS_MANAGED_BY) => {
                Whose::Endpoints(service)
            }
            _ => Whose::Foreign,
        }
    }

    /// What is kept of one that Kubernetes wrote: that it is there, and whether it has endpoints.
    #[must_use]
    pub fn outlined(self) -> Self {
        Self { endpoints: self.endpoints.into_iter().take(1).collect(), ports: Vec::new(), ..self }
    }
}

/// What becomes of a slice.
#[derive(Clone, Debug, PartialEq)]
pub enum SliceChange {
    /// This one is created, under this name.
    Create(String, Value),
    /// The one of this name is changed by this merge patch.
    Patch(String, Value),
    /// This one is deleted.
    Delete {
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
        /// Its resource version.
        resource_version: String,
    },
}

/// What a slice holds, or is going to.
struct Draft<'a> {
    /// The slice; none is there yet for what is new.
    seen: Option<&'a Slice>,
    endpoints: Vec<Endpoint>,
    is_changed: bool,
}

impl Draft<'_> {
    fn room(&self) -> usize {
        MOST.saturating_sub(self.endpoints.len())
    }

    fn take(&mut self, from: &mut Vec<Endpoint>) {
        let count = self.room().min(from.len());
        self.is_changed |= count > 0;
        self.endpoints.extend(from.drain(..count));
    }
}

/// What is to be changed about these slices, so that they hold these endpoints. `taken` are the names of all slices that are
/// known, whosever: nobody's name is taken away.
#[must_use]
pub fn changes(
    net_service: &NetService,
    spec: &Spec,
    sets: &[Set],
    seen: &[&Slice],
    taken: &[&str],
) -> Vec<SliceChange> {
    let mut seen = seen.to_vec();
    seen.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    seen.retain(|slice| slice.metadata.deletion_timestamp.is_none());
    let mut names: HashSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    let mut writes = Vec::new();
    let mut deletes = Vec::new();
    let mut rest = seen;
    for set in sets {
        let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|slice| is_of(slice, set));
        rest = others;
        for draft in drafts(net_service, spec, set, &own) {
            match draft.seen {
                Some(slice) if draft.endpoints.is_empty() => deletes.push(delete(slice)),
                Some(_) if !draft.is_changed => {}
                Some(slice) => {
                    let patch = patch(net_service, spec, slice, set, &draft.endpoints);
                    writes.push(SliceChange::Patch(slice.metadata.name.clone(), patch));
                }
                None => {
                    let name = free_name(net_service, set, &names);
                    let slice = create(net_service, spec, &name, set, &draft.endpoints);
                    writes.push(SliceChange::Create(name.clone(), slice));
                    names.insert(name);
                }
            }
        }
    }
    deletes.extend(rest.into_iter().map(delete));
    // What comes is there before what goes: clients rather see an endpoint twice than never.
    writes.append(&mut deletes);
    writes
}

/// Slices that Kubernetes wrote for the Service while somebody had given it a selector: they are deleted.
#[must_use]
pub fn leftovers(seen: &[&Slice]) -> Vec<SliceChange> {
    seen.iter().filter(|slice| slice.metadata.deletion_timestamp.is_none()).map(|slice| delete(slice)).collect()
}

/// Slices that are deleted because the Service of the name is somebody else's, whose endpoints they would be. Of one without an
/// owner nobody knows whose it is.
#[must_use]
pub fn left(seen: &[&Slice]) -> Vec<SliceChange> {
    let owned = seen.iter().filter(|slice| slice.metadata.controller().is_some());
    owned.filter(|slice| slice.metadata.deletion_timestamp.is_none()).map(|slice| delete(slice)).collect()
}

fn is_of(slice: &Slice, set: &Set) -> bool {
    *slice.address_type == *set.family.as_str() && slice.ports == set.ports
}

/// Distributes the endpoints of a set.
fn drafts<'a>(net_service: &NetService, spec: &Spec, set: &Set, own: &[&'a Slice]) -> Vec<Draft<'a>> {
    let mut wanted: HashMap<&str, &Endpoint> =
        set.endpoints.iter().map(|endpoint| (address(endpoint), endpoint)).collect();
    let mut drafts: Vec<_> = own
        .iter()
        .map(|slice| {
            let kept =
                slice.endpoints.iter().take(MOST).filter_map(|endpoint| wanted.remove(address(endpoint)).cloned());
            let endpoints: Vec<_> = kept.collect();
            let is_changed = endpoints != slice.endpoints || !is_marked(net_service, spec, &slice.metadata);
            Draft { seen: Some(slice), endpoints, is_changed }
        })
        .collect();
    let is_new = |endpoint: &&Endpoint| wanted.contains_key(address(endpoint));
    let mut new: Vec<_> = set.endpoints.iter().filter(is_new).cloned().collect();
    // First what is rewritten anyway, …
    drafts.iter_mut().filter(|draft| draft.is_changed).for_each(|draft| draft.take(&mut new));
    // … then the fullest that has room for what then makes no full slice, …
    let remainder = new.len() % MOST;
    if remainder > 0 {
        let fits = |draft: &&mut Draft<'_>| !draft.is_changed && draft.room() >= remainder;
        if let Some(draft) = drafts.iter_mut().filter(fits).min_by_key(|draft| draft.room()) {
            let mut some = new.split_off(new.len() - remainder);
            draft.take(&mut some);
        }
    }
    // … then new ones.
    while !new.is_empty() {
        let mut draft = Draft { seen: None, endpoints: Vec::new(), is_changed: true };
        draft.take(&mut new);
        drafts.push(draft);
    }
    drafts
}

/// An endpoint's one address; what has more, or none, is nobody's of ours.
fn address(endpoint: &Endpoint) -> &str {
    match &endpoint.addresses[..] {
        [address] => address,
        _ => "",
    }
}

/// Whether it has the labels and the owner that it should have.
fn is_marked(net_service: &NetService, spec: &Spec, metadata: &Metadata) -> bool {
    let labels = labels(net_service, spec);
    metadata.controller() == Some(&net_service.owner_reference())
        && labels.iter().all(|(key, value)| metadata.labels.get(*key).map(String::as_str) == value.as_deref())
}

/// Labels, and those that must not be there.
fn labels(net_service: &NetService, spec: &Spec) -> [(&'static str, Option<String>); 3] {
    [
        (SERVICE_NAME_LABEL, Some(net_service.key.name.to_string())),
        (SLICES_MANAGED_BY_LABEL, Some(SLICES_MANAGED_BY.to_owned())),
        (HEADLESS_LABEL, (spec.service_type == ServiceType::Headless).then(String::new)),
    ]
}

fn create(net_service: &NetService, spec: &Spec, name: &str, set: &Set, endpoints: &[Endpoint]) -> Value {
    let labels: HashMap<_, _> = labels(net_service, spec).into_iter().filter(|(_, value)| value.is_some()).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": &*net_service.key.namespace,
            "name": name,
            "labels": labels,
            "ownerReferences": [net_service.owner_reference()],
        },
        "addressType": set.family,
        "endpoints": endpoints,
        "ports": set.ports,
    })
}

fn patch(net_service: &NetService, spec: &Spec, slice: &Slice, set: &Set, endpoints: &[Endpoint]) -> Value {
    let labels: HashMap<_, _> = labels(net_service, spec).into_iter().collect();
    let mut patch = json!({
        "metadata": {
            "uid": slice.metadata.uid,
            "resourceVersion": slice.metadata.resource_version,
            "labels": labels,
        },
        "endpoints": endpoints,
        "ports": set.ports,
    });
    // Lists are replaced: where ours is in it, those of others stay.
    if slice.metadata.controller() != Some(&net_service.owner_reference()) {
        patch["metadata"]["ownerReferences"] = json!([net_service.owner_reference()]);
    }
    patch
}

fn delete(slice: &Slice) -> SliceChange {
    let Metadata { name, uid, resource_version, .. } = slice.metadata.clone();
    SliceChange::Delete { name, uid, resource_version }
}

/// A name that follows from what the slice is for: a creation whose answer is lost is not made twice.
fn free_name(net_service: &NetService, set: &Set, taken: &HashSet<String>) -> String {
    let mut hasher = DefaultHasher::new();
    (&net_service.uid, &set.ports).hash(&mut hasher);
    let prefix = format!(
        "{}-{}-{:08x}",
        net_service.key.name,
        set.family.as_str().to_lowercase(),
        hasher.finish() & 0xffff_ffff
    );
    let mut number: usize = 0;
    loop {
        let name = format!("{prefix}-{number}");
        if !taken.contains(&name) {
            return name;
        }
        number += 1;
    }
}
