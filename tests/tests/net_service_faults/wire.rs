//! The controller behind the fault proxy, and its requests by what they ask for.

use cluster_tests::{
    harness::{Namespace, Run},
    net_service,
    proxy::{Proxy, Seen},
};
use http::Method;

/// What a controller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    CreateService,
    PatchService,
    DeleteService,
    CreateSlice,
    PatchSlice,
    DeleteSlice,
    TellStatus,
    CreateLease,
    ReadLease,
    RenewLease,
    List,
    Watch,
}

impl Ask {
    pub(crate) fn is(self, seen: &Seen) -> bool {
        let has = |part: &str| seen.path_and_query.contains(part);
        let asks = |method: Method, part: &str| seen.method == method && has(part);
        match self {
            Self::CreateService => asks(Method::POST, "/services?"),
            Self::PatchService => asks(Method::PATCH, "/services/"),
            Self::DeleteService => asks(Method::DELETE, "/services/"),
            Self::CreateSlice => asks(Method::POST, "/endpointslices?"),
            Self::PatchSlice => asks(Method::PATCH, "/endpointslices/"),
            Self::DeleteSlice => asks(Method::DELETE, "/endpointslices/"),
            Self::TellStatus => asks(Method::PATCH, "/status?"),
            Self::CreateLease => asks(Method::POST, "/leases?"),
            Self::ReadLease => asks(Method::GET, "/leases/"),
            Self::RenewLease => asks(Method::PATCH, "/leases/"),
            Self::List => seen.method == Method::GET && has("limit="),
            Self::Watch => asks(Method::GET, "watch=true"),
        }
    }

    /// How many of these the proxy has seen.
    pub(crate) fn count(self, proxy: &Proxy) -> usize {
        proxy.requests().iter().filter(|request| self.is(&request.seen)).count()
    }
}

/// A controller that reaches the apiserver through the proxy.
pub(crate) async fn through(proxy: &Proxy, namespace: &Namespace<'_>) -> Run {
    net_service::controller(namespace).await.server(&proxy.url())
}
