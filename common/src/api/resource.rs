//! What the API calls resources and verbs, in RBAC rules, paths and messages; which of them are asked for is the caller's.

use http::Method;

/// A resource that the programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `services`
    Services,
    /// `pods`
    Pods,
    /// `configmaps`
    ConfigMaps,
    /// `nodes`, which have no namespace.
    Nodes,
    /// `events`
    Events,
    /// `endpointslices`
    EndpointSlices,
    /// `leases`
    Leases,
    /// `netservices` of netservice.io
    NetServices,
    /// `netservices` of svcctl.metaswitch.com, the group of the tool that had them first.
    OriginalNetServices,
}

impl Resource {
    /// The name in RBAC rules and request paths.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Services => "services",
            Self::Pods => "pods",
            Self::ConfigMaps => "configmaps",
            Self::Nodes => "nodes",
            Self::Events => "events",
            Self::EndpointSlices => "endpointslices",
            Self::Leases => "leases",
            Self::NetServices | Self::OriginalNetServices => "netservices",
        }
    }

    /// The API group in RBAC rules; empty for the core group.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::Services | Self::Pods | Self::ConfigMaps | Self::Nodes | Self::Events => "",
            Self::EndpointSlices => "discovery.k8s.io",
            Self::Leases => "coordination.k8s.io",
            Self::NetServices => "netservice.io",
            Self::OriginalNetServices => "svcctl.metaswitch.com",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::NetServices | Self::OriginalNetServices => "v1alpha1",
            _ => "v1",
        }
    }

    /// The kind, for messages.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Services => "Service",
            Self::Pods => "Pod",
            Self::ConfigMaps => "ConfigMap",
            Self::Nodes => "Node",
            Self::Events => "Event",
            Self::EndpointSlices => "EndpointSlice",
            Self::Leases => "Lease",
            Self::NetServices | Self::OriginalNetServices => "NetService",
        }
    }
}

/// An RBAC verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// GET
    Get,
    /// GET of many
    List,
    /// GET of many, and of every change
    Watch,
    /// POST
    Create,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
}

impl Verb {
    /// The verb in RBAC rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    pub(super) fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Watch => Method::GET,
            Self::Create => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}
