//! Judges a rendered template before anything is asked of Kubernetes: which Service to create, and whether it may be.

mod field;
mod metadata;
mod ports;
mod problem;
mod selector;

use std::collections::BTreeMap;

use common::labels::{ADVERTISED_HOST_ANNOTATION, CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_UID_ANNOTATION};
use serde_json::{Value as Json, json};

use self::{field::Field, problem::Flaw};
pub use self::{
    ports::{Port, Protocol, TargetPort},
    problem::{ServiceError, ServiceProblem, Warning},
};
use crate::{
    choices::OwnerReference,
    place::{Place, Source},
    pod::PodIdentity,
    yaml::{Node, Value},
};

/// Whether some output needs the two ports that Akka is reached at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AkkaPorts {
    /// A `.conf` file is written: both must be there.
    Required,
    /// No output names them.
    Optional,
}

/// What the settings ask of the Service.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Name of the port of Artery, Akka's remoting.
    pub artery_port: &'a str,
    /// Name of the port of Akka Management.
    pub management_port: &'a str,
    /// Whether both must be there.
    pub akka_ports: AkkaPorts,
    /// What becomes the Service's owner.
    pub owner_reference: OwnerReference,
}

/// The Service to create, and what must be true of the pod for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// The Service's name.
    pub name: String,
    /// The object to send to the API. Fields that Kubernetes does not know are in it, for strict validation to refuse.
    pub body: Json,
    /// The whole selector.
    pub selector: BTreeMap<String, String>,
    /// The selector's labels that are to be put on the pod: those rendered from its identity.
    pub pod_labels: BTreeMap<String, String>,
    /// The selector's other labels: the pod must have them already, or the Service selects nothing.
    pub required_labels: BTreeMap<String, String>,
    /// The ports, in the template's order.
    pub ports: Vec<Port>,
    /// What is probably not meant.
    pub warnings: Vec<Warning>,
}

impl ServicePlan {
    /// The plan with the address that is written to the application's file as an annotation of the Service.
    #[must_use]
    pub fn with_advertised_host(mut self, host: &str) -> Self {
        self.body["metadata"]["annotations"][ADVERTISED_HOST_ANNOTATION] = Json::from(host);
        self
    }
}

/// Judges the rendered template `tree`, which was read from `template`.
///
/// # Errors
/// The first field that a Service for this pod cannot have, with its path and place.
pub fn validate(
    tree: &Node,
    template: &Source,
    pod: &PodIdentity,
    wanted: &Wanted<'_>,
) -> Result<ServicePlan, ServiceError> {
    plan(tree, template, pod, wanted).map_err(|flaw| flaw.of(template))
}

fn plan(tree: &Node, template: &Source, pod: &PodIdentity, wanted: &Wanted<'_>) -> Result<ServicePlan, Flaw> {
    let root = Field::root(tree);
    metadata::check_kind(&root)?;
    let metadata = root.require("metadata", "name: {{PodName}} under it")?;
    metadata.mapping()?;
    let name = metadata::name(&metadata)?;
    metadata::check_owner(&metadata, pod)?;
    metadata::check_server_fields(&root, &metadata)?;

    let spec = root.require("spec", "type, selector and ports under it")?;
    spec.mapping()?;
    check_type(&spec)?;
    let selector = selector::selector(&spec, pod)?;
    let list = spec.require("ports", "at least one port")?;
    let ports = ports::ports(&list)?;
    check_akka_ports(&list, &ports, wanted)?;
    let warnings = not_ready_addresses(&spec, &ports, wanted, template)?;

    let all = selector.all();
    let mut body = tree.to_json();
    body["metadata"]["name"] = Json::from(name.as_str());
    body["metadata"]["labels"] = json!(metadata::labels(&metadata)?);
    body["metadata"]["labels"][CREATOR_LABEL] = Json::from(CREATOR);
    body["metadata"]["annotations"] = json!(metadata::annotations(&metadata)?);
    body["metadata"]["annotations"][POD_NAME_ANNOTATION] = Json::from(pod.name.as_str());
    body["metadata"]["annotations"][POD_UID_ANNOTATION] = Json::from(pod.uid.as_str());
    body["spec"]["selector"] = json!(all);
    if wanted.owner_reference == OwnerReference::Pod {
        // No blockOwnerDeletion: setting it takes a permission on pods/finalizers that the documented Role has not.
        body["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}]);
    }
    Ok(ServicePlan {
        name,
        body,
        selector: all,
        pod_labels: selector.own,
        required_labels: selector.required,
        ports,
        warnings,
    })
}

fn check_type(spec: &Field<'_>) -> Result<(), Flaw> {
    let field = spec.require("type", "type: NodePort")?;
    match field.text()?.as_str() {
        "NodePort" => Ok(()),
        other => Err(field.flaw(ServiceProblem::ServiceType(other.to_owned()))),
    }
}

fn check_akka_ports(list: &Field<'_>, ports: &[Port], wanted: &Wanted<'_>) -> Result<(), Flaw> {
    if wanted.akka_ports == AkkaPorts::Optional {
        return Ok(());
    }
    let needed = [
        (wanted.artery_port, "akka-artery-management-port-name"),
        (wanted.management_port, "akka-management-port-name"),
    ];
    for (name, option) in needed {
        if ports.iter().all(|port| port.name.as_deref() != Some(name)) {
            let there = ports.iter().map(|port| port.name.clone().unwrap_or_else(|| "one without a name".to_owned()));
            let (wanted, there) = (name.to_owned(), there.collect());
            return Err(list.flaw(ServiceProblem::AkkaPort { wanted, option, there }));
        }
    }
    Ok(())
}

/// Warns where members could never find each other: Akka Management answers only once it was reached.
fn not_ready_addresses(
    spec: &Field<'_>,
    ports: &[Port],
    wanted: &Wanted<'_>,
    template: &Source,
) -> Result<Vec<Warning>, Flaw> {
    let field = spec.get("publishNotReadyAddresses");
    let published = match &field {
        None => false,
        Some(field) => match field.node.value {
            Value::Bool(published) => published,
            _ => return Err(field.not("true or false, without quotes")),
        },
    };
    let has_management = ports.iter().any(|port| port.name.as_deref() == Some(wanted.management_port));
    if published || !has_management {
        return Ok(Vec::new());
    }
    let location = field.map_or(spec.location, |field| field.location);
    Ok(vec![Warning::NotReadyAddresses { place: Place { template: template.clone(), location } }])
}

#[cfg(test)]
mod tests;
