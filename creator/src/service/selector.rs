//! The selector, which must fit this pod and no other: a shared one spreads one member's traffic over all.

use std::collections::BTreeMap;

use common::labels::STATEFULSET_POD_NAME_LABEL;

use super::{
    field::Field,
    metadata::label_value,
    problem::{Flaw, ServiceProblem},
};
use crate::{pod::PodIdentity, values};

/// The selector's labels, by who puts them on the pod.
#[derive(Debug, Default)]
pub(super) struct Selector {
    /// Rendered from the pod's identity: the creator sets them.
    pub own: BTreeMap<String, String>,
    /// The pod's name as the StatefulSet controller sets it before the pod starts: there is nothing to set or to read.
    pub stateful_set: BTreeMap<String, String>,
    /// All others: they must be there.
    pub required: BTreeMap<String, String>,
}

impl Selector {
    /// The whole selector.
    pub(super) fn all(&self) -> BTreeMap<String, String> {
        let labels = self.own.iter().chain(&self.stateful_set).chain(&self.required);
        labels.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

pub(super) fn selector(spec: &Field<'_>, pod: &PodIdentity) -> Result<Selector, Flaw> {
    let field = spec.require("selector", "ipfPodName: {{PodName}} under it")?;
    let mut selector = Selector::default();
    for (key, entry) in field.entries()? {
        let text = entry.text()?;
        let value = label_value(&entry, text)?;
        let labels = if key == STATEFULSET_POD_NAME_LABEL {
            check_stateful_set(&entry, text.as_str(), pod)?;
            &mut selector.stateful_set
        } else if text.carries_identity() {
            &mut selector.own
        } else {
            &mut selector.required
        };
        labels.insert(key.to_owned(), value);
    }
    if selector.own.is_empty() && selector.stateful_set.is_empty() {
        return Err(field.flaw(ServiceProblem::SharedSelector));
    }
    Ok(selector)
}

/// The label's value is the pod's whole name, and only a StatefulSet's pods have it.
fn check_stateful_set(field: &Field<'_>, value: &str, pod: &PodIdentity) -> Result<(), Flaw> {
    if value != pod.name {
        return Err(field.flaw(ServiceProblem::OtherPod { found: value.to_owned(), pod: pod.name.clone() }));
    }
    if values::ordinal(&pod.name).is_none() {
        return Err(field.flaw(ServiceProblem::NoStatefulSet(pod.name.clone())));
    }
    Ok(())
}
