//! The Services of a sequence: who makes them, and what hands do to them.

use cluster_tests::harness::{Namespace, Run, eventually};
use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_UID_ANNOTATION};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    operation::{Edit, Label, Maker, NAMES, Owner},
    pods::{Expects, Living},
    settled::DEADLINE,
};

/// Holds a Service that is being deleted, until a hand takes it away.
const FINALIZER: &str = "example.org/hold";

/// A Service that came into being.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) uid: String,
    pub(crate) owner: Owner,
}

/// Makes Services and changes them.
pub(crate) struct Hands<'a> {
    namespace: &'a Namespace<'a>,
    api: Api<Service>,
    pub(crate) made: Vec<Made>,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(namespace: &'a Namespace<'a>) -> Self {
        Self { namespace, api: namespace.api(), made: Vec::new() }
    }

    /// Gives a pod its Service. Returns what came of it.
    pub(crate) async fn make(&mut self, living: &mut Living<'a>, maker: Maker) -> String {
        let name = living.life.name.clone();
        let there = self.there(&name).await;
        let is_held = there.as_ref().is_some_and(|service| service.metadata.finalizers.is_some());
        match maker {
            Maker::Nobody => "none".to_owned(),
            // A creator would wait for the finalizer.
            Maker::Program(_) | Maker::Hand(_) if is_held => "none: an earlier one is held".to_owned(),
            Maker::OriginalTool => {
                living.set_label(Label::PodName, true).await;
                if there.is_some() {
                    return "takes the one that is there".to_owned();
                }
                let service = self.namespace.original_tools_service(&name).create().await;
                self.note(service.uid(), Owner::None)
            }
            Maker::Hand(owner) => {
                if let Some(earlier) = there {
                    self.remove(&earlier).await;
                }
                living.set_label(Label::PodName, true).await;
                let service = living.pod.service();
                let service = if owner == Owner::Pod { service } else { service.without_owner() };
                let service = service.create().await;
                living.life.expects = Expects::OneService;
                self.note(service.uid(), owner)
            }
            Maker::Program(owner) => {
                let run = Run::creator(&living.pod).await.args(["--timeout", "20s"]);
                let run = if owner == Owner::Pod { run } else { run.args(["--owner-reference", "none"]) };
                let outcome = run.run().await;
                let Some(0) = outcome.code() else {
                    return format!("the creator ended with {:?}: {}", outcome.code(), outcome.termination_message());
                };
                living.life.expects = Expects::OneService;
                // A watcher may have been faster, which is for the judge.
                match self.there(&name).await {
                    Some(service) if annotation(&service, POD_UID_ANNOTATION) == Some(living.life.uid.as_str()) => {
                        self.note(service.metadata.uid.as_deref().unwrap_or_default(), owner)
                    }
                    other => format!("made, and not there any more: {:?}", other.map(|service| service.metadata)),
                }
            }
        }
    }

    /// Changes the Service of this name, if there is one. Returns what came of it.
    pub(crate) async fn edit(&self, name: &str, edit: Edit, living: Option<&mut Living<'a>>) -> String {
        let Some(service) = self.there(name).await else { return "there is none".to_owned() };
        let is_of_living = living
            .as_ref()
            .is_some_and(|living| annotation(&service, POD_UID_ANNOTATION) == Some(living.life.uid.as_str()));
        if let (true, Edit::Delete | Edit::RemoveAnnotations, Some(living)) = (is_of_living, edit, living) {
            living.life.expects = Expects::Anything;
        }
        let of = service.metadata.uid.unwrap_or_default();
        let changed = match edit {
            Edit::Delete => self.api.delete(name, &DeleteParams::default()).await.err(),
            Edit::RemoveLabel => self.patch(name, json!({"metadata": {"labels": {CREATOR_LABEL: null}}})).await,
            Edit::RestoreLabel => self.patch(name, json!({"metadata": {"labels": {CREATOR_LABEL: CREATOR}}})).await,
            Edit::RemoveAnnotations => {
                let annotations = json!({POD_NAME_ANNOTATION: null, POD_UID_ANNOTATION: null});
                self.patch(name, json!({"metadata": {"annotations": annotations}})).await
            }
            Edit::AddFinalizer => self.patch(name, json!({"metadata": {"finalizers": [FINALIZER]}})).await,
            Edit::RemoveFinalizer => self.patch(name, json!({"metadata": {"finalizers": null}})).await,
            Edit::ChangePorts => {
                let ports = json!([{"name": "akka-management", "port": 8559}, {"name": "akka-artery", "port": 55002}]);
                self.patch(name, json!({"spec": {"ports": ports}})).await
            }
            Edit::Annotate => self.patch(name, json!({"metadata": {"annotations": {"example.org/note": "x"}}})).await,
        };
        match changed {
            None => format!("of {of}"),
            Some(error) => format!("of {of}: {error}"),
        }
    }

    /// No hand holds any Service any longer.
    pub(crate) async fn let_go(&self) {
        for name in NAMES {
            self.patch(name, json!({"metadata": {"finalizers": null}})).await;
        }
    }

    pub(crate) async fn all(&self) -> Vec<Service> {
        let all = self.api.list(&ListParams::default()).await;
        all.unwrap_or_else(|error| panic!("cannot list Services: {error}")).items
    }

    async fn there(&self, name: &str) -> Option<Service> {
        self.api.get_opt(name).await.unwrap_or_else(|error| panic!("cannot read Service {name}: {error}"))
    }

    /// Takes an earlier pod's Service out of the way, as the creator does.
    async fn remove(&self, earlier: &Service) {
        let name = earlier.metadata.name.as_deref().unwrap_or_default();
        let this = kube::api::Preconditions { uid: earlier.metadata.uid.clone(), resource_version: None };
        // A watcher may be faster.
        let _ = self.api.delete(name, &DeleteParams::default().preconditions(this)).await;
        eventually(DEADLINE, &format!("Service {name} is gone"), async || match self.there(name).await {
            None => Ok(()),
            Some(service) => Err(format!("{:?}", service.metadata)),
        })
        .await;
    }

    /// Refusals are part of life: the Service may be gone by now, or on its way.
    async fn patch(&self, name: &str, patch: Value) -> Option<kube::Error> {
        self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.err()
    }

    fn note(&mut self, uid: &str, owner: Owner) -> String {
        self.made.push(Made { uid: uid.to_owned(), owner });
        format!("Service {uid}")
    }
}

/// An annotation of a Service.
pub(crate) fn annotation<'s>(service: &'s Service, key: &str) -> Option<&'s str> {
    service.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}
