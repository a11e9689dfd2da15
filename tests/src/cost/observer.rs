//! When pods and Services were seen to go, by watches of an admin in one process: one clock for all.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    thread,
    time::{Duration, Instant},
};

use common::labels::{CREATOR_LABEL, PRODUCT_LABEL};
use http::{Request, header::ACCEPT};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde::Deserialize;
use tokio::{runtime, sync::watch};

use crate::harness::{
    ControlPlane,
    access::{self, Credentials},
};

/// The user that watches, as the audit log has it.
pub(super) const USER: &str = "observer";

/// Of objects only the metadata is wanted.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// How long anything may take to be seen, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Pods.
    Pod,
    /// Services.
    Service,
}

/// Watches the pods of the product and the Services of the creator, in all namespaces. It has a thread of its own, so that nothing else that the process
/// does delays the time at which it sees something. Objects are told apart by name: names must not repeat.
pub(super) struct Observer {
    seen: watch::Receiver<Seen>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pods: Objects,
    services: Objects,
    ended: Option<String>,
}

#[derive(Debug, Default)]
struct Objects {
    /// The watch is there: from now on nothing is missed.
    watched: bool,
    live: HashSet<String>,
    gone: HashMap<String, Instant>,
}

impl Observer {
    /// Starts both watches, and waits until they are there.
    ///
    /// # Panics
    /// When they cannot be started.
    pub(super) async fn start(control_plane: &ControlPlane) -> Self {
        let identity = control_plane.certificates().client(USER, &["system:masters"]);
        let credentials = Credentials::Certificate(identity.expect("a client certificate can be made"));
        let url = control_plane.url();
        let authority = control_plane.certificates().authority_der().to_vec();
        let (sender, seen) = watch::channel(Seen::default());
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a thread of its own can wait for the network");
        thread::spawn(move || {
            runtime.block_on(async {
                let client = access::client(&url, &authority, &credentials);
                let error = tokio::select! {
                    error = follow(&client, Kind::Pod, &sender) => error,
                    error = follow(&client, Kind::Service, &sender) => error,
                    () = sender.closed() => return,
                };
                sender.send_modify(|seen| seen.ended = Some(error.to_string()));
            });
        });
        let observer = Self { seen };
        observer.until("both watches are there", |seen| seen.pods.watched && seen.services.watched).await;
        observer
    }

    /// Waits until what was seen fulfills a condition.
    ///
    /// # Panics
    /// When it takes too long, or a watch has ended.
    pub(super) async fn until(&self, what: &str, condition: impl Fn(&Seen) -> bool) {
        let mut seen = self.seen.clone();
        let waited = tokio::time::timeout(DEADLINE, async {
            seen.wait_for(|seen| seen.ended.is_some() || condition(seen)).await.map(|seen| seen.ended.clone())
        })
        .await;
        match waited {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(error))) => panic!("the observer's watch has ended: {error}"),
            Ok(Err(_)) => panic!("the observer's thread has ended"),
            Err(_) => {
                let seen = self.seen.borrow();
                let [pods, services] = [Kind::Pod, Kind::Service].map(|kind| seen.live(kind));
                panic!("{DEADLINE:?} were not enough until {what}; there are {pods} pods and {services} Services");
            }
        }
    }

    /// Waits until all objects of these names are gone.
    pub(super) async fn until_gone(&self, kind: Kind, names: &[String]) {
        let what = format!("{} of kind {kind:?} are gone", names.len());
        self.until(&what, |seen| names.iter().all(|name| seen.objects(kind).gone.contains_key(name))).await;
    }

    /// When the object of this name was seen to go.
    ///
    /// # Panics
    /// When it was not.
    #[must_use]
    pub(super) fn gone(&self, kind: Kind, name: &str) -> Instant {
        let gone = self.seen.borrow().objects(kind).gone.get(name).copied();
        gone.unwrap_or_else(|| panic!("{kind:?} {name} was not seen to go"))
    }
}

impl Seen {
    /// How many there are.
    #[must_use]
    pub(super) fn live(&self, kind: Kind) -> usize {
        self.objects(kind).live.len()
    }

    fn objects(&self, kind: Kind) -> &Objects {
        match kind {
            Kind::Pod => &self.pods,
            Kind::Service => &self.services,
        }
    }

    fn objects_mut(&mut self, kind: Kind) -> &mut Objects {
        match kind {
            Kind::Pod => &mut self.pods,
            Kind::Service => &mut self.services,
        }
    }
}

/// Follows one kind for ever; returns why it cannot go on.
async fn follow(client: &Client, kind: Kind, sender: &watch::Sender<Seen>) -> Box<dyn Error> {
    let mut version = String::new();
    loop {
        // The apiserver closes a watch whose client does not keep up. It goes on where it was.
        if let Err(error) = read(client, kind, sender, &mut version).await {
            return error;
        }
    }
}

/// Reads one watch to its end, from a resource version on, or from what there is now when there is none.
async fn read(
    client: &Client,
    kind: Kind,
    sender: &watch::Sender<Seen>,
    version: &mut String,
) -> Result<(), Box<dyn Error>> {
    // The pods of others are many, and nobody asks when they go.
    let (resource, labels) = match kind {
        Kind::Pod => ("pods", PRODUCT_LABEL),
        Kind::Service => ("services", CREATOR_LABEL),
    };
    // Bookmarks, once a minute, keep the client from taking a quiet connection for a dead one.
    let path = format!(
        "/api/v1/{resource}?watch=true&labelSelector={labels}&allowWatchBookmarks=true&timeoutSeconds=86400&resourceVersion={version}"
    );
    let request = Request::get(path).header(ACCEPT, METADATA).body(Body::from(Vec::new()))?;
    let response = client.send(request).await?;
    if !response.status().is_success() {
        return Err(format!("the apiserver answered {}", response.status()).into());
    }
    sender.send_modify(|seen| seen.objects_mut(kind).watched = true);
    let mut body = response.into_body();
    let mut buffer = Vec::new();
    while let Some(frame) = body.frame().await {
        let received = Instant::now();
        let Ok(data) = frame?.into_data() else { continue };
        buffer.extend_from_slice(&data);
        let Some(end) = buffer.iter().rposition(|byte| *byte == b'\n') else { continue };
        let events = buffer[..end].split(|byte| *byte == b'\n').map(serde_json::from_slice::<Event>);
        let events = events.collect::<Result<Vec<_>, _>>()?;
        buffer.drain(..=end);
        if let Some(event) = events.iter().find(|event| event.kind == "ERROR") {
            return Err(format!("the API sent an error: {}", event.object.message).into());
        }
        if let Some(event) = events.last() {
            version.clone_from(&event.object.metadata.resource_version);
        }
        sender.send_modify(|seen| {
            for event in events {
                seen.objects_mut(kind).note(event, received);
            }
        });
    }
    Ok(())
}

/// The parts of a watch event that are used.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Object,
}

/// An object, or the Status of an error.
#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    resource_version: String,
}

impl Objects {
    fn note(&mut self, event: Event, received: Instant) {
        let name = event.object.metadata.name;
        match event.kind.as_str() {
            "ADDED" => {
                self.live.insert(name);
            }
            "DELETED" => {
                self.live.remove(&name);
                self.gone.insert(name, received);
            }
            _ => {}
        }
    }
}
