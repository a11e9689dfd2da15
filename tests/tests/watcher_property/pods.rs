//! The pods of a sequence: when each lived, by the API's own revisions.

use cluster_tests::harness::{Namespace, Phase, Pod};
use common::labels::POD_NAME_LABEL;
use k8s_openapi::{api::core::v1::Pod as PodObject, jiff::Timestamp};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;
use std::time::Duration;

use crate::operation::{End, Label};

/// One pod, once.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) name: String,
    pub(crate) uid: String,
    /// It was there at this revision.
    pub(crate) there: u64,
    /// And not before this time.
    pub(crate) since: Timestamp,
    /// It is gone since this revision.
    pub(crate) gone: Option<u64>,
    /// And was gone at this time.
    pub(crate) gone_at: Option<Timestamp>,
    /// Its last container ended then; where none ran, nobody can have seen it finished before.
    pub(crate) finished: Option<Timestamp>,
    /// What is to be found when it has become quiet.
    pub(crate) expects: Expects,
}

/// What a live pod is to have in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    /// It ran the creator.
    OneService,
    /// It did not, or a hand has interfered.
    Anything,
}

/// A pod that lives, and its record.
pub(crate) struct Living<'a> {
    pub(crate) pod: Pod<'a>,
    pub(crate) life: Life,
}

fn revision(version: Option<&str>) -> u64 {
    version.and_then(|version| version.parse().ok()).unwrap_or_else(|| panic!("a revision: {version:?}"))
}

fn api(namespace: &Namespace<'_>) -> Api<PodObject> {
    namespace.api()
}

impl<'a> Living<'a> {
    pub(crate) async fn create(namespace: &'a Namespace<'a>, name: &str) -> Self {
        let since = Timestamp::now();
        let pod = namespace.pod(name).create().await;
        let life = Life {
            name: name.to_owned(),
            uid: pod.uid().to_owned(),
            there: revision(pod.object().metadata.resource_version.as_deref()),
            since,
            gone: None,
            gone_at: None,
            finished: None,
            expects: Expects::Anything,
        };
        Self { pod, life }
    }

    /// Deletes it; it is gone when this returns.
    pub(crate) async fn delete(mut self) -> Life {
        let now = DeleteParams::default().grace_period(0);
        let deleted = api(self.pod.namespace()).delete(self.pod.name(), &now).await;
        let deleted = deleted.unwrap_or_else(|error| panic!("cannot delete pod {}: {error}", self.life.name));
        let object = deleted.left().unwrap_or_else(|| panic!("the deletion of a pod answers with the pod"));
        assert_eq!(object.metadata.uid.as_ref(), Some(&self.life.uid));
        self.life.gone = Some(revision(object.metadata.resource_version.as_deref()));
        self.life.gone_at = Some(Timestamp::now());
        self.life
    }

    pub(crate) async fn finish(&mut self, end: End) {
        let before = Timestamp::now();
        match end {
            End::Succeeded => self.pod.finish(Phase::Succeeded, Duration::ZERO).await,
            End::Failed => self.pod.finish(Phase::Failed, Duration::ZERO).await,
            End::Evicted => self.pod.evict().await,
        }
        // The API keeps whole seconds.
        self.life.finished = Some(match end {
            End::Evicted => before,
            End::Succeeded | End::Failed => Timestamp::from_second(before.as_second()).unwrap(),
        });
    }

    /// Where it has finished already, nothing happens.
    pub(crate) async fn ask_to_end(&self) {
        if self.life.finished.is_none() {
            self.pod.ask_to_end().await;
        }
    }

    pub(crate) async fn set_label(&self, label: Label, is_there: bool) {
        let product = json!({"product": is_there.then_some("ipfv2")});
        let pod_name = json!({POD_NAME_LABEL: is_there.then_some(&self.life.name)});
        let labels = match label {
            Label::Product => product,
            Label::PodName => pod_name,
            Label::Both => json!({"product": product["product"], POD_NAME_LABEL: pod_name[POD_NAME_LABEL]}),
        };
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        let patched = api(self.pod.namespace()).patch(self.pod.name(), &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("cannot label pod {}: {error}", self.life.name));
    }
}
