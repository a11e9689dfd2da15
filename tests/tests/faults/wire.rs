//! A creator behind the fault proxy, and the requests of a run by what they ask for.

use cluster_tests::{
    harness::{Pod, Run},
    proxy::{Action, Proxy, Seen},
};
use http::Method;

/// What a creator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    ReadConfigMap,
    LabelPod,
    CreateService,
    ReadService,
    ReadPod,
    DeleteService,
}

impl Ask {
    /// All requests of a run that finds nothing of its own; the last two are sent at the same time.
    pub(crate) const FRESH: [Self; 3] = [Self::ReadConfigMap, Self::LabelPod, Self::CreateService];

    pub(crate) fn is(self, seen: &Seen) -> bool {
        let (method, resource) = match self {
            Self::ReadConfigMap => (Method::GET, "/configmaps/"),
            Self::LabelPod => (Method::PATCH, "/pods/"),
            Self::CreateService => (Method::POST, "/services?"),
            Self::ReadService => (Method::GET, "/services/"),
            Self::ReadPod => (Method::GET, "/pods/"),
            Self::DeleteService => (Method::DELETE, "/services/"),
        };
        seen.method == method && seen.path_and_query.contains(resource)
    }

    /// How many of these the proxy has seen.
    pub(crate) fn count(self, proxy: &Proxy) -> usize {
        proxy.requests().iter().filter(|request| self.is(&request.seen)).count()
    }
}

/// A creator for this pod that reaches the apiserver through the proxy.
pub(crate) async fn through(proxy: &Proxy, pod: &Pod<'_>) -> Run {
    Run::creator(pod).await.server(&proxy.url())
}

/// A rule: the first request of this kind suffers, all others pass.
pub(crate) fn first(ask: Ask, action: Action) -> impl FnMut(&Seen) -> Action + Send + 'static {
    nth(ask, 0, action)
}

/// A rule: of the requests of this kind one suffers, `skip` having passed, as all others do.
pub(crate) fn nth(ask: Ask, mut skip: usize, action: Action) -> impl FnMut(&Seen) -> Action + Send + 'static {
    let mut action = Some(action);
    move |seen| {
        if !ask.is(seen) {
            return Action::Pass;
        }
        if skip > 0 {
            skip -= 1;
            return Action::Pass;
        }
        action.take().unwrap_or(Action::Pass)
    }
}

/// A rule: as many requests suffer, whatever they ask for; then all pass.
pub(crate) fn times(
    mut left: usize,
    action: impl Fn() -> Action + Send + 'static,
) -> impl FnMut(&Seen) -> Action + Send + 'static {
    move |_| {
        if left == 0 {
            return Action::Pass;
        }
        left -= 1;
        action()
    }
}
