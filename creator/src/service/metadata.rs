//! The Service's kind, name, labels and annotations.

use std::collections::BTreeMap;

use common::names;

use super::{
    field::Field,
    problem::{Flaw, ServiceProblem},
};
use crate::{pod::PodIdentity, yaml::Text};

/// Refuses every other kind of object.
pub(super) fn check_kind(root: &Field<'_>) -> Result<(), Flaw> {
    let api_version = root.require("apiVersion", "apiVersion: v1")?;
    let kind = root.require("kind", "kind: Service")?;
    let expected = [(kind, "Service"), (api_version, "v1")];
    for (field, expected) in expected {
        let found = field.text()?.as_str();
        if found != expected {
            return Err(field.flaw(ServiceProblem::NotAService(found.to_owned())));
        }
    }
    Ok(())
}

/// The Service's name: as rendered, or its short form where Kubernetes would refuse that.
pub(super) fn name(metadata: &Field<'_>) -> Result<String, Flaw> {
    if let Some(generated) = metadata.get("generateName") {
        return Err(generated.flaw(ServiceProblem::GeneratedName));
    }
    let field = metadata.require("name", "name: {{PodName}}")?;
    let text = field.text()?;
    let is_usable = names::is_service_name(text.as_str()) || !(text.is_literal() || text.as_str().is_empty());
    if !is_usable {
        return Err(field.flaw(ServiceProblem::Name(text.as_str().to_owned())));
    }
    Ok(names::service_name(text.as_str()))
}

/// Refuses another namespace, and owners that the template names.
pub(super) fn check_owner(metadata: &Field<'_>, pod: &PodIdentity) -> Result<(), Flaw> {
    if let Some(field) = metadata.get("namespace") {
        let found = field.text()?.as_str();
        if found != pod.namespace {
            let (found, own) = (found.to_owned(), pod.namespace.clone());
            return Err(field.flaw(ServiceProblem::Namespace { found, own }));
        }
    }
    if let Some(field) = metadata.get("ownerReferences") {
        return Err(field.flaw(ServiceProblem::OwnerReferences));
    }
    match metadata.get("finalizers") {
        Some(field) => Err(field.flaw(ServiceProblem::Finalizers)),
        None => Ok(()),
    }
}

/// Refuses what only the API server sets: it is there in a template that was copied from a cluster.
pub(super) fn check_server_fields(root: &Field<'_>, metadata: &Field<'_>) -> Result<(), Flaw> {
    const METADATA: [&str; 7] =
        ["creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];
    let there = METADATA.iter().find_map(|key| metadata.get(key)).or_else(|| root.get("status"));
    there.map_or(Ok(()), |field| Err(field.flaw(ServiceProblem::ServerField)))
}

/// The labels, each as rendered or in its short form.
pub(super) fn labels(metadata: &Field<'_>) -> Result<BTreeMap<String, String>, Flaw> {
    texts(metadata, "labels", label_value)
}

/// The annotations.
pub(super) fn annotations(metadata: &Field<'_>) -> Result<BTreeMap<String, String>, Flaw> {
    texts(metadata, "annotations", |_, text| Ok(text.as_str().to_owned()))
}

fn texts(
    metadata: &Field<'_>,
    key: &str,
    read: fn(&Field<'_>, &Text) -> Result<String, Flaw>,
) -> Result<BTreeMap<String, String>, Flaw> {
    let entries = metadata.get(key).map_or(Ok(Vec::new()), |field| field.entries())?;
    entries.into_iter().map(|(key, field)| Ok((key.to_owned(), read(&field, field.text()?)?))).collect()
}

/// A label value: as rendered, or its short form where it is only too long.
pub(super) fn label_value(field: &Field<'_>, text: &Text) -> Result<String, Flaw> {
    let written = text.as_str();
    let is_usable = names::is_label_value(written) || (!text.is_literal() && names::has_label_characters(written));
    if !is_usable {
        return Err(field.flaw(ServiceProblem::LabelValue(written.to_owned())));
    }
    Ok(names::label_value(written))
}
