//! The NetService resource: what its users write, and what the controller tells them. It judges nothing.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

/// The version of the resource, in both groups.
pub const VERSION: &str = "v1alpha1";

/// The resource's name in paths and RBAC rules.
pub const PLURAL: &str = "netservices";

/// The resource's kind.
pub const KIND: &str = "NetService";

/// The groups that serve the resource. A NetService means the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// `netservice.io`
    Own,
    /// `svcctl.metaswitch.com`, of the demonstration that this controller replaces: its samples apply unchanged.
    Original,
}

impl Group {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Original];

    /// The name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "netservice.io",
            Self::Original => "svcctl.metaswitch.com",
        }
    }

    /// Group and version, as in `apiVersion`.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Own => "netservice.io/v1alpha1",
            Self::Original => "svcctl.metaswitch.com/v1alpha1",
        }
    }

    /// The group of an `apiVersion`, whatever its version.
    #[must_use]
    pub fn of_api_version(text: &str) -> Option<Self> {
        let (group, _) = text.split_once('/')?;
        Self::ALL.into_iter().find(|known| known.as_str() == group)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a NetService asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("x-kubernetes-validations" = crate::crd::rules::spec()))
)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// Network whose addresses become endpoints: the name of a NetworkAttachmentDefinition, in the NetService's namespace or
    /// as namespace/name. Absent: the pod network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 317), extend("x-kubernetes-validations" = crate::crd::rules::network()))
    )]
    pub net_attach_def: Option<String>,
    /// Labels of the pods, in the NetService's namespace. Absent or empty: no pod is selected.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::crd::rules::selector"))]
    pub selector: BTreeMap<String, String>,
    /// Type of the Service.
    #[serde(default, rename = "type")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub service_type: ServiceType,
    /// Ports of the Service; may be absent where the type is Headless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            length(max = 100),
            extend(
                "x-kubernetes-list-type" = "map",
                "x-kubernetes-list-map-keys" = ["port", "protocol"],
                "x-kubernetes-validations" = crate::crd::rules::ports()
            )
        )
    )]
    pub ports: Vec<Port>,
    /// Interface in the pods, where they are attached to the network more than once. Absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 15)))]
    pub interface: Option<String>,
    /// Which of a pod's addresses on the network become endpoints.
    #[serde(default)]
    pub address_policy: AddressPolicy,
    /// Families of the endpoints, the first of them the Service's own. Absent: those that the addresses, and for ClusterIP and
    /// NodePort the cluster, have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            length(max = 2),
            extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = crate::crd::rules::families())
        )
    )]
    pub ip_families: Vec<IpFamily>,
    /// Whether pods that are not ready are published as if they were.
    #[serde(default)]
    pub publish_not_ready_addresses: bool,
}

/// The type of the Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum ServiceType {
    /// No address of its own: its name resolves to the endpoints.
    #[default]
    Headless,
    /// An address in the cluster.
    #[serde(rename = "ClusterIP")]
    ClusterIp,
    /// That, and a port on every node.
    NodePort,
}

/// A port of the Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Name of the port; may be absent where there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 63), extend("x-kubernetes-validations" = crate::crd::rules::port_name()))
    )]
    pub name: String,
    /// Port of the Service.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65535)))]
    pub port: u16,
    /// Port of the pods: a number, or the name that it has in the pod. Absent: the same as `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::crd::rules::target_port"))]
    pub target_port: Option<TargetPort>,
    /// Protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Port on the nodes, where the type is NodePort. Absent: Kubernetes chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 65535)))]
    pub node_port: Option<u16>,
    /// Protocol of the application, for those who look into the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 316), extend("x-kubernetes-validations" = crate::crd::rules::app_protocol()))
    )]
    pub app_protocol: Option<String>,
}

/// A port of the pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TargetPort {
    /// By number.
    Number(u16),
    /// By the name of a container's port.
    Name(String),
}

/// A protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[allow(missing_docs, reason = "each is Kubernetes' own")]
pub enum Protocol {
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "UDP")]
    Udp,
    #[serde(rename = "SCTP")]
    Sctp,
}

impl Protocol {
    /// As in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// Which of a pod's addresses become endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum AddressPolicy {
    /// The first of each family.
    First,
    /// All.
    #[default]
    All,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[allow(missing_docs, reason = "each is Kubernetes' own")]
pub enum IpFamily {
    #[serde(rename = "IPv4")]
    V4,
    #[serde(rename = "IPv6")]
    V6,
}

impl IpFamily {
    /// As in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// What the controller tells of a NetService.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Name of the Service; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Ports on the nodes, in the order of `spec.ports`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_ports: Vec<i32>,
    /// Number of endpoints that are ready.
    #[serde(default)]
    pub endpoints: i32,
    /// Generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`: Service and endpoints are what the spec asks for. Its reason and message say what is in the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::crd::conditions"))]
    pub conditions: Vec<Condition>,
}
