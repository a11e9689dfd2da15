//! Writes Kubernetes Events about pods whose annotation cannot be read, once for each change of it, where that is permitted;
//! nothing waits for them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use common::api::{
    call::{Call, MetadataOnly},
    classify::Meaning,
    client::{Api, chain},
    resource::Resource,
    retry::Deadline,
};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{names::MANAGER, network::STATUS_ANNOTATION, pod::Pod};

/// How many Events wait at most.
const WAITING: usize = 1000;

/// How long one Event may take to be written.
const TIME: Duration = Duration::from_secs(10);

/// The longest message that the API takes.
const LONGEST: usize = 1024;

/// As much of a pod's name as leaves room for the rest of an Event's name, which may have 253 bytes.
const NAMED: usize = 253 - ".0123456789abcdef".len();

/// The reason that Events name.
const REASON: &str = "InvalidNetworkStatus";

/// Hands what is to be told to the task that writes it.
#[derive(Debug)]
pub struct Telling {
    queue: mpsc::Sender<Told>,
    writing: JoinHandle<()>,
    /// What was told last, by the pod's UID: about which text.
    told: HashMap<Box<str>, u64>,
}

#[derive(Debug)]
struct Told {
    namespace: String,
    name: String,
    event: Value,
}

impl Telling {
    /// Starts the task that writes the Events, one after the other.
    #[must_use]
    pub fn start(api: Api) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        Self { queue, writing: tokio::spawn(write(api, waiting)), told: HashMap::new() }
    }

    /// Tells what is wrong with a pod's annotation, if something is and it was not told yet. Never waits: what finds no place
    /// is told another time.
    pub fn about(&mut self, namespace: &str, pod: &Pod) {
        let Some(problems) = pod.networks.problems.as_deref() else { return };
        if self.told.get(&*pod.uid) == Some(&pod.networks_hash) {
            return;
        }
        let told = event(namespace, pod, problems, Timestamp::now());
        // Closed is no failure: Events are not permitted, which was said.
        if matches!(self.queue.try_send(told), Err(mpsc::error::TrySendError::Full(_))) {
            return;
        }
        tracing::warn!(namespace, pod = %pod.name, problems, "a pod's annotation {STATUS_ANNOTATION} cannot be read whole");
        self.told.insert(pod.uid.as_ref().into(), pod.networks_hash);
    }

    /// Forgets all pods but these `count`, once most of what is remembered is of others: that is seldom, and costs little each
    /// time.
    pub fn keep<'a>(&mut self, count: usize, pods: impl Iterator<Item = &'a Pod>) {
        if self.told.len() > 2 * count {
            let uids: HashSet<&str> = pods.map(|pod| &*pod.uid).collect();
            self.told.retain(|uid, _| uids.contains(&**uid));
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

async fn write(api: Api, mut waiting: mpsc::Receiver<Told>) {
    while let Some(Told { namespace, name, event }) = waiting.recv().await {
        let call = Call::create(Resource::Events, &namespace, &name, event, MANAGER);
        let Err(error) = api.once::<MetadataOnly>(&call, Deadline::after(TIME)).await else { continue };
        match error.meaning() {
            // It was told before this program started.
            Some(Meaning::AlreadyExists) => {}
            Some(Meaning::Rbac) => {
                tracing::info!(error = chain(&error), "no Events are written: that is optional and not permitted");
                return;
            }
            _ => tracing::debug!(namespace, error = chain(&error), "Event dropped"),
        }
    }
}

/// The name follows from the pod and the text, so that nothing is told twice, whoever tells it.
fn event(namespace: &str, pod: &Pod, problems: &str, now: Timestamp) -> Told {
    let pod_name = &pod.name[..pod.name.floor_char_boundary(NAMED)];
    // No part of a name ends otherwise than with a letter or a digit.
    let pod_name = pod_name.trim_end_matches(['-', '.']);
    let name = format!("{pod_name}.{:016x}", pod.networks_hash ^ uid_bits(&pod.uid));
    let mut message = format!("annotation {STATUS_ANNOTATION} {problems}; what can be read of it is used");
    message.truncate(message.floor_char_boundary(LONGEST));
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": name},
        "involvedObject":
            {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": &*pod.name, "uid": &*pod.uid},
        "type": "Warning",
        "reason": REASON,
        "message": message,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
        "reportingInstance": MANAGER,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    Told { namespace: namespace.to_owned(), name, event }
}

/// The first 16 hexadecimal digits of a UID.
fn uid_bits(uid: &str) -> u64 {
    let digits = uid.chars().filter_map(|digit| digit.to_digit(16)).take(16);
    digits.fold(0, |bits, digit| bits << 4 | u64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str, text: &str) -> Pod {
        let status = json!({"metadata": {"name": "a", "uid": uid, "annotations": {STATUS_ANNOTATION: text}}});
        serde_json::from_value::<crate::pod::Object>(status).unwrap().kept("a".into())
    }

    #[tokio::test]
    async fn what_was_told_of_pods_that_are_gone_is_forgotten() {
        let (queue, mut waiting) = mpsc::channel(WAITING);
        let mut telling = Telling { queue, writing: tokio::spawn(async {}), told: HashMap::new() };
        let pods: Vec<_> = ["1", "2", "3", "4", "5"].map(|uid| pod(uid, "{")).into();
        for pod in pods.iter().chain(&pods) {
            telling.about("ns", pod);
        }
        telling.keep(3, pods[..3].iter());
        assert_eq!(telling.told.len(), 5, "not each time");
        telling.keep(2, pods[..2].iter());
        assert_eq!(telling.told.len(), 2);
        telling.about("ns", &pod("1", "[7]"));
        drop(telling);
        let mut count = 0;
        while waiting.recv().await.is_some() {
            count += 1;
        }
        assert_eq!(count, 6, "each once for each change");
    }

    #[test]
    fn behaviour_5_an_event_says_which_pod_and_what_about_it() {
        let told = |pod: &Pod| event("ns", pod, pod.networks.problems.as_deref().unwrap(), Timestamp::UNIX_EPOCH);
        let one = told(&pod("0b6f", "{"));
        assert_eq!(
            one.event["involvedObject"],
            json!({"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "a", "uid": "0b6f"})
        );
        assert_eq!(
            one.event["message"],
            "annotation k8s.v1.cni.cncf.io/network-status is no JSON: EOF while parsing an object at line 1 column 1; \
             what can be read of it is used"
        );
        assert_eq!(one.event["lastTimestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(one.name, told(&pod("0b6f", "{")).name, "the same again");
        assert_ne!(one.name, told(&pod("0b6f", "[7]")).name, "another text");
        assert_ne!(one.name, told(&pod("0b70", "{")).name, "another pod");
        let named = Pod { name: format!("{}-b", "a".repeat(235)).into(), ..pod("0b6f", "{") };
        let name = told(&named).name;
        assert!(name.len() <= 253 && name.starts_with("aaa") && name.contains("aa."), "{name}");
        let long = told(&pod("0b6f", &format!("[\"{}\", 7, 8, 9]", "ä".repeat(3000))));
        assert!(long.event["message"].as_str().unwrap().len() <= LONGEST);
    }
}
