//! The watcher behind the fault proxy, and its requests by what they ask for.

use cluster_tests::{
    harness::{Namespace, Run},
    proxy::{self, Action, Proxy, Seen},
};
use http::Method;

/// What a watcher asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    ListPods,
    ListServices,
    WatchPods,
    WatchServices,
    ReadPod,
    ReadService,
    DeleteService,
}

impl Ask {
    pub(crate) const WATCHES: [Self; 2] = [Self::WatchPods, Self::WatchServices];
    pub(crate) const LISTS: [Self; 2] = [Self::ListPods, Self::ListServices];

    pub(crate) const LOOKING: [Self; 4] = [Self::ListPods, Self::ListServices, Self::WatchPods, Self::WatchServices];

    pub(crate) fn is(self, seen: &Seen) -> bool {
        let has = |part: &str| seen.path_and_query.contains(part);
        let is_watch = has("watch=true");
        match self {
            Self::ListPods => seen.method == Method::GET && has("/pods?") && !is_watch,
            Self::ListServices => seen.method == Method::GET && has("/services?") && !is_watch,
            Self::WatchPods => seen.method == Method::GET && has("/pods?") && is_watch,
            Self::WatchServices => seen.method == Method::GET && has("/services?") && is_watch,
            Self::ReadPod => seen.method == Method::GET && has("/pods/"),
            Self::ReadService => seen.method == Method::GET && has("/services/"),
            Self::DeleteService => seen.method == Method::DELETE && has("/services/"),
        }
    }

    pub(crate) fn is_any(asks: &[Self], seen: &Seen) -> bool {
        asks.iter().any(|ask| ask.is(seen))
    }

    /// How many of these the proxy has seen.
    pub(crate) fn count(self, proxy: &Proxy) -> usize {
        proxy.requests().iter().filter(|request| self.is(&request.seen)).count()
    }
}

/// A watcher that reaches the apiserver through the proxy.
pub(crate) async fn through(proxy: &Proxy, namespace: &Namespace<'_>) -> Run {
    Run::watcher(namespace).await.server(&proxy.url())
}

/// A rule: these requests suffer, as many of them; all others pass.
pub(crate) fn times(
    asks: &'static [Ask],
    left: usize,
    action: impl Fn() -> Action + Send + 'static,
) -> impl FnMut(&Seen) -> Action + Send + 'static {
    proxy::times(|seen| Ask::is_any(asks, seen), left, action)
}

/// A rule: these requests suffer, all others pass.
pub(crate) fn always(
    asks: &'static [Ask],
    action: impl Fn() -> Action + Send + 'static,
) -> impl FnMut(&Seen) -> Action + Send + 'static {
    times(asks, usize::MAX, action)
}

/// A rule: the first of these requests suffers, all others pass.
pub(crate) fn first(ask: Ask, action: Action) -> impl FnMut(&Seen) -> Action + Send + 'static {
    let mut action = Some(action);
    move |seen| if ask.is(seen) { action.take().unwrap_or(Action::Pass) } else { Action::Pass }
}
