//! A Service as far as it is remembered, and whose it is; what becomes of it is decided elsewhere.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    names::{MANAGED_BY, MANAGED_BY_LABEL},
    net_service::NetService,
    object::{Metadata, OwnerReference, nothing_for_null},
    resource::{Group, IpFamily, KIND, Protocol, TargetPort},
};

/// A Service, as far as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// `metadata`
    pub metadata: Metadata,
    /// `spec`; nothing where no NetService ever had to do with it.
    pub spec: ServiceSpec,
}

/// What is read of a Service's spec.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct ServiceSpec {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "clusterIP")]
    pub cluster_ip: String,
    #[serde(deserialize_with = "nothing_for_null")]
    pub selector: BTreeMap<String, String>,
    #[serde(deserialize_with = "nothing_for_null")]
    pub ports: Vec<ServicePort>,
    pub publish_not_ready_addresses: bool,
    #[serde(deserialize_with = "nothing_for_null")]
    pub ip_families: Vec<IpFamily>,
    pub ip_family_policy: String,
    #[serde(rename = "externalIPs", deserialize_with = "nothing_for_null")]
    pub external_ips: Vec<String>,
    pub external_name: String,
    pub internal_traffic_policy: String,
    pub external_traffic_policy: String,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "each field is Kubernetes' own")]
pub struct ServicePort {
    pub name: String,
    pub port: u16,
    pub target_port: Option<TargetPort>,
    pub protocol: Protocol,
    pub node_port: Option<u16>,
    pub app_protocol: Option<String>,
}

impl common::api::watch::Watchable for Service {
    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

impl Service {
    /// What is kept of it: of what no NetService has to do with, that it is there.
    #[must_use]
    pub fn kept(self) -> Self {
        let Self { mut metadata, spec } = self;
        metadata.owner_references.retain(|owner| owner.controller);
        let is_ours = net_service_of(&metadata).is_some() || is_labelled(&metadata);
        if is_ours {
            return Self { metadata, spec };
        }
        metadata.labels.clear();
        Self { metadata, spec: ServiceSpec::default() }
    }

    /// Whether it belongs to this very NetService. One that lost its owner reference to somebody's edit still does.
    #[must_use]
    pub fn is_of(&self, net_service: &NetService) -> bool {
        match self.metadata.controller() {
            Some(owner) => owner.uid == net_service.uid,
            None => {
                is_labelled(&self.metadata) && net_service.status.service.as_deref() == Some(&*net_service.key.name)
            }
        }
    }

    /// Whether it is headless.
    pub(crate) fn is_headless(&self) -> bool {
        self.spec.cluster_ip == "None"
    }

    /// Its ports on the nodes, in the order of its ports.
    #[must_use]
    pub fn node_ports(&self) -> Vec<i32> {
        self.spec.ports.iter().filter_map(|port| port.node_port).filter(|port| *port != 0).map(i32::from).collect()
    }
}

/// The NetService that controls an object.
#[must_use]
pub fn net_service_of(metadata: &Metadata) -> Option<&OwnerReference> {
    let is_net_service =
        |owner: &&OwnerReference| owner.kind == KIND && Group::of_api_version(&owner.api_version).is_some();
    metadata.controller().filter(is_net_service)
}

/// Whether it has the label of what the controller made.
pub(crate) fn is_labelled(metadata: &Metadata) -> bool {
    metadata.labels.get(MANAGED_BY_LABEL).is_some_and(|value| value == MANAGED_BY)
}
