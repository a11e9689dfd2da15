//! Whether a deletion was right. Pure: what was deleted, and when which pod lived.

use std::time::Duration;

use cluster_tests::harness::Event;
use common::ownership::{Claim, claim_once_proven};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};

use crate::pods::Life;

/// How long a pod that relies on the original tool's Service of its name must be there to be seen by one who is about to
/// delete that: between its look and its deletion nothing can hold it up, for nothing on the Service changes.
const UNSEEN: Duration = Duration::from_secs(1);

/// The original tool's are deleted after two looks this far apart; a little less for clocks and rounding.
const SECOND_LOOK: Duration = Duration::from_millis(29_500);

/// A Service that was deleted.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    /// As it was then.
    pub(crate) service: Service,
    pub(crate) revision: u64,
    pub(crate) at: Timestamp,
}

impl Deletion {
    /// Reads it from the audit log.
    pub(crate) fn of(event: &Event) -> Self {
        let service: Service = serde_json::from_value(event.answer.clone())
            .unwrap_or_else(|error| panic!("what was deleted is not in {event:?}: {error}"));
        let version = service.metadata.resource_version.as_deref();
        let revision = version.and_then(|version| version.parse().ok()).unwrap_or_else(|| panic!("in {event:?}"));
        let at = event.received.parse().unwrap_or_else(|error| panic!("when was {event:?}: {error}"));
        Self { service, revision, at }
    }

    pub(crate) fn uid(&self) -> &str {
        self.service.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Says what was wrong about it.
    pub(crate) fn judge(&self, lives: &[Life], grace: Duration) -> Result<(), String> {
        // A watcher that knew a Service may delete it though a hand took its label.
        match claim_once_proven(&self.service, |_| true) {
            Claim::Pod(pod) => match lives.iter().find(|life| life.uid == pod.uid) {
                Some(life) if life.gone.is_some_and(|gone| gone <= self.revision) => Ok(()),
                Some(life) if life.finished.is_some_and(|finished| self.after(finished) >= grace) => Ok(()),
                Some(life) => Err(format!("its pod lives: {life:?}")),
                None => Ok(()),
            },
            Claim::OriginalTool { pod_name } => {
                let mut of_name = lives.iter().filter(|life| life.name == pod_name);
                let is_there =
                    |life: &&Life| life.there <= self.revision && life.gone.is_none_or(|gone| gone > self.revision);
                if let Some(life) = of_name.clone().find(|life| is_there(life) && self.after(life.since) > UNSEEN) {
                    return Err(format!("a pod of its name lives: {life:?}"));
                }
                let made = self.service.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default();
                let was_long_absent = self.after(made) >= SECOND_LOOK
                    && of_name.any(|life| life.gone_at.is_some_and(|gone| self.after(gone) >= SECOND_LOOK));
                if was_long_absent { Ok(()) } else { Err("no pod of its name was away for 30 s".to_owned()) }
            }
            claim @ (Claim::Unclear(_) | Claim::Foreign) => Err(format!("nobody can say whose it is: {claim:?}")),
        }
    }

    fn after(&self, then: Timestamp) -> Duration {
        Duration::try_from(self.at.duration_since(then)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pods::Expects;
    use serde_json::{Value, json};

    fn life(gone: Option<u64>, finished: Option<i64>) -> Life {
        Life {
            name: "app-0".into(),
            uid: "u1".into(),
            there: 10,
            since: Timestamp::from_second(100).unwrap(),
            gone,
            gone_at: gone.map(|_| Timestamp::from_second(1_000).unwrap()),
            finished: finished.map(|second| Timestamp::from_second(second).unwrap()),
            expects: Expects::OneService,
        }
    }

    fn deletion(metadata: &Value, revision: u64, second: i64) -> Deletion {
        let service = json!({
            "metadata": metadata, "spec": {"type": "NodePort", "selector": {"ipfPodName": "app-0"}},
        });
        let service = serde_json::from_value(service).unwrap();
        Deletion { service, revision, at: Timestamp::from_second(second).unwrap() }
    }

    #[test]
    fn only_a_dead_pods_service_may_go() {
        let creator = json!({"creator": "ipf-dynamic-nodeport-service-creator"});
        let notes =
            json!({"ipf-dynamic-nodeport-service/pod-name": "app-0", "ipf-dynamic-nodeport-service/pod-uid": "u1"});
        let ours = json!({"name": "app-0", "labels": creator, "annotations": notes});
        let unlabelled = json!({"name": "app-0", "annotations": notes});
        let original = json!({"name": "app-0", "labels": creator, "creationTimestamp": "1970-01-01T00:02:00Z"});
        let labelled = json!({"name": "other", "labels": creator});
        let foreign = json!({"name": "app-0"});
        let table = [
            ("its pod is gone", &ours, 30, 1_001, life(Some(20), None), true),
            ("its pod goes later", &ours, 19, 1_001, life(Some(20), None), false),
            ("its pod lives", &ours, 30, 1_001, life(None, None), false),
            ("finished long ago", &ours, 30, 1_001, life(None, Some(999)), true),
            ("finished just now", &ours, 30, 1_001, life(None, Some(1_000)), false),
            ("no label any more, pod gone", &unlabelled, 30, 1_001, life(Some(20), None), true),
            ("no label any more, pod there", &unlabelled, 30, 1_001, life(None, None), false),
            ("the original tool's, absent long enough", &original, 30, 1_031, life(Some(20), None), true),
            ("the original tool's, not long enough", &original, 30, 1_015, life(Some(20), None), false),
            ("the original tool's, pod there", &original, 30, 1_031, life(None, None), false),
            ("of another shape", &labelled, 30, 1_001, life(Some(20), None), false),
            ("someone else's", &foreign, 30, 1_001, life(Some(20), None), false),
        ];
        for (case, metadata, revision, second, life, is_right) in table {
            let judged = deletion(metadata, revision, second).judge(&[life], Duration::from_secs(2));
            assert_eq!(judged.is_ok(), is_right, "{case}: {judged:?}");
        }
    }
}
