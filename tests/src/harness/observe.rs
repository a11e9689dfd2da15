//! Sees all that happens to the objects of one kind.

use std::fmt::Debug;

use futures_util::StreamExt;
use kube::{
    Api, Resource, ResourceExt,
    api::{WatchEvent, WatchParams},
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// What happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<K> {
    /// It is there, like this.
    There(K),
    /// It is gone; like this in the end.
    Gone(K),
}

/// What `read` makes of each change after a resource version, until `ended` changes or has no sender any more.
///
/// # Panics
/// When the API server refuses to go on.
pub async fn observe<K, T>(
    api: Api<K>,
    mut version: String,
    mut ended: watch::Receiver<()>,
    read: impl Fn(&Change<K>) -> Option<T>,
) -> Vec<T>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let begin = async |version: &str| {
        api.watch(&WatchParams::default(), version).await.unwrap_or_else(|error| panic!("cannot watch: {error}"))
    };
    let mut stream = Box::pin(begin(&version).await);
    let mut seen = Vec::new();
    loop {
        let event = tokio::select! {
            // Only what has not arrived by then is not seen.
            biased;
            event = stream.next() => event,
            _ = ended.changed() => return seen,
        };
        let Some(event) = event else {
            // The API server ends each watch after some minutes; it goes on where it was.
            stream.set(begin(&version).await);
            continue;
        };
        let change = match event.unwrap_or_else(|error| panic!("cannot watch any longer: {error}")) {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => Change::There(object),
            WatchEvent::Deleted(object) => Change::Gone(object),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(error) => panic!("cannot watch any longer: {error:?}"),
        };
        version = change.object().resource_version().expect("each object has one");
        seen.extend(read(&change));
    }
}

impl<K> Change<K> {
    /// The object as it is, or was in the end.
    pub fn object(&self) -> &K {
        match self {
            Self::There(object) | Self::Gone(object) => object,
        }
    }
}
