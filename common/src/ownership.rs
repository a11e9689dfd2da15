//! Decides whose a Service is, from the Service alone; it never asks the API and never acts.
//!
//! Both programs judge by this module only: the creator before it takes over or replaces a Service of its name, the
//! watcher before it deletes one. Evidence, strongest first:
//!
//! 1. our annotations `pod-name` and `pod-uid`, together with the creator label or an owner reference to that pod
//!    (annotations alone are also on a copy that a hand made),
//! 2. the creator label together with an owner reference to a pod (where the annotations were lost by hand),
//! 3. the creator label on a NodePort Service with a selector `ipfPodName` equal to its own name, and no owner and no UID
//!    anywhere: a Service of the original tool.
//!
//! Evidence that contradicts itself is no evidence: such a Service is [`Claim::Unclear`], and left alone.

use std::fmt;

use k8s_openapi::api::core::v1::Service;

use crate::labels::{CREATOR, CREATOR_LABEL, POD_NAME_ANNOTATION, POD_NAME_LABEL, POD_UID_ANNOTATION};
use crate::names::is_dns_subdomain;

/// One pod, once: a name can be used again, a UID cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {} (UID {})", self.name, self.uid)
    }
}

/// For whom a Service says that it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Made by our creator for this pod.
    Pod(PodRef),
    /// Made by the original tool for the pod of this name; which of the pods of that name, nothing says.
    OriginalTool {
        /// The pod's name, which is the Service's too.
        pod_name: String,
    },
    /// Marked as ours, yet it does not say for whom, or contradicts itself.
    Unclear(Doubt),
    /// Not made by either.
    Foreign,
}

/// Why a Service that is marked as ours cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The annotations name one pod and the owner reference another.
    AnnotationsContradictOwner {
        /// The pod of the annotations.
        annotated: PodRef,
        /// The pod of the owner reference.
        owner: PodRef,
    },
    /// Several pods own it.
    SeveralOwners,
    /// One of the two annotations is there without the other, and no owner reference that fits completes it.
    HalfAnnotated,
    /// The annotations stand alone, without label and owner.
    OnlyAnnotated,
    /// The creator label stands alone.
    OnlyLabelled,
    /// It names a pod that there cannot be.
    NoPodName {
        /// The name, which is no DNS subdomain.
        name: String,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnnotationsContradictOwner { annotated, owner } => {
                write!(f, "its annotations name {annotated}, its owner reference {owner}")
            }
            Self::SeveralOwners => f.write_str("several pods own it"),
            Self::HalfAnnotated => {
                write!(
                    f,
                    "it has only one of the annotations {POD_NAME_ANNOTATION} and {POD_UID_ANNOTATION}, and no owner that fits"
                )
            }
            Self::OnlyAnnotated => {
                write!(
                    f,
                    "it has our annotations, but neither the label {CREATOR_LABEL}={CREATOR} nor the pod as its owner, as a copy would"
                )
            }
            Self::OnlyLabelled => {
                write!(f, "it has the label {CREATOR_LABEL}={CREATOR}, and nothing on it says which pod it serves")
            }
            Self::NoPodName { name } => write!(f, "it says that it serves pod {name:?}, which no pod can be called"),
        }
    }
}

/// What a Service is to one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Made for this very pod.
    ThisPod,
    /// Made for an earlier pod of the same name.
    EarlierPod {
        /// That pod's UID.
        uid: String,
    },
    /// Made by the original tool for a pod of this name.
    OriginalTool,
    /// Made for a pod of another name.
    OtherPod {
        /// That pod's name.
        name: String,
    },
    /// Marked as ours, but nobody can tell whose.
    Unclear(Doubt),
    /// Someone else's.
    Foreign,
}

/// Reads from a Service for whom it was made.
#[must_use]
pub fn claim(service: &Service) -> Claim {
    match evidence(service) {
        // It becomes part of a request.
        Claim::Pod(pod) if !is_dns_subdomain(&pod.name) => Claim::Unclear(Doubt::NoPodName { name: pod.name }),
        claim => claim,
    }
}

fn evidence(service: &Service) -> Claim {
    let labelled = service.metadata.labels.as_ref().and_then(|labels| labels.get(CREATOR_LABEL)).map(String::as_str)
        == Some(CREATOR);
    let mut owners = pod_owners(service);
    let owner = owners.next();
    let several = owners.next().is_some();

    match (annotated(service), owner) {
        (Annotated::Fully(_) | Annotated::Half(_), _) if several => Claim::Unclear(Doubt::SeveralOwners),
        (Annotated::Fully(annotated), Some(owner)) if annotated != owner => {
            Claim::Unclear(Doubt::AnnotationsContradictOwner { annotated, owner })
        }
        (Annotated::Fully(_), None) if !labelled => Claim::Unclear(Doubt::OnlyAnnotated),
        (Annotated::Fully(pod), _) => Claim::Pod(pod),
        (Annotated::Half(half), Some(owner)) if labelled && half.fits(&owner) => Claim::Pod(owner),
        (Annotated::Half(_), _) => Claim::Unclear(Doubt::HalfAnnotated),
        (Annotated::Not, _) if !labelled => Claim::Foreign,
        (Annotated::Not, Some(_)) if several => Claim::Unclear(Doubt::SeveralOwners),
        (Annotated::Not, Some(owner)) => Claim::Pod(owner),
        (Annotated::Not, None) => match made_by_original_tool(service) {
            Some(pod_name) => Claim::OriginalTool { pod_name },
            None => Claim::Unclear(Doubt::OnlyLabelled),
        },
    }
}

/// The same for a Service that was seen before with all evidence: as the same object, by its UID, it is no copy. So where a
/// hand has since taken label and owner away, its annotations still count, if `proven` knows their pod as the one then.
#[must_use]
pub fn claim_once_proven(service: &Service, proven: impl FnOnce(&PodRef) -> bool) -> Claim {
    match (claim(service), annotated(service)) {
        (Claim::Unclear(Doubt::OnlyAnnotated), Annotated::Fully(pod))
            if proven(&pod) && is_dns_subdomain(&pod.name) =>
        {
            Claim::Pod(pod)
        }
        (claim, _) => claim,
    }
}

/// What a Service is to `pod`; both are in the same namespace, since a Service's owner and selector cannot leave it.
#[must_use]
pub fn relation(service: &Service, pod: &PodRef) -> Relation {
    match claim(service) {
        Claim::Pod(claimed) if claimed == *pod => Relation::ThisPod,
        Claim::Pod(claimed) if claimed.name == pod.name => Relation::EarlierPod { uid: claimed.uid },
        Claim::Pod(claimed) => Relation::OtherPod { name: claimed.name },
        Claim::OriginalTool { pod_name } if pod_name == pod.name => Relation::OriginalTool,
        Claim::OriginalTool { pod_name } => Relation::OtherPod { name: pod_name },
        Claim::Unclear(doubt) => Relation::Unclear(doubt),
        Claim::Foreign => Relation::Foreign,
    }
}

enum Annotated {
    Fully(PodRef),
    Half(Half),
    Not,
}

/// The one annotation that is there.
enum Half {
    Name(String),
    Uid(String),
}

impl Half {
    fn fits(&self, owner: &PodRef) -> bool {
        match self {
            Self::Name(name) => *name == owner.name,
            Self::Uid(uid) => *uid == owner.uid,
        }
    }
}

fn annotated(service: &Service) -> Annotated {
    let value = |key| {
        let annotations = service.metadata.annotations.as_ref()?;
        annotations.get(key).filter(|value| !value.is_empty()).cloned()
    };
    match (value(POD_NAME_ANNOTATION), value(POD_UID_ANNOTATION)) {
        (Some(name), Some(uid)) => Annotated::Fully(PodRef { name, uid }),
        (Some(name), None) => Annotated::Half(Half::Name(name)),
        (None, Some(uid)) => Annotated::Half(Half::Uid(uid)),
        (None, None) => Annotated::Not,
    }
}

fn pod_owners(service: &Service) -> impl Iterator<Item = PodRef> {
    service
        .metadata
        .owner_references
        .iter()
        .flatten()
        .filter(|owner| owner.api_version == "v1" && owner.kind == "Pod")
        .map(|owner| PodRef { name: owner.name.clone(), uid: owner.uid.clone() })
}

/// The original tool creates a NodePort Service named after the pod, selects that name, and sets no owner.
fn made_by_original_tool(service: &Service) -> Option<String> {
    let spec = service.spec.as_ref()?;
    let selected = spec.selector.as_ref()?.get(POD_NAME_LABEL)?;
    let is_owned = service.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    let is_node_port = spec.type_.as_deref() == Some("NodePort");
    (is_node_port && !is_owned && Some(selected) == service.metadata.name.as_ref()).then(|| selected.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ServiceSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
    use std::collections::BTreeMap;

    /// A Service named `app-0`, built up by what marks it.
    #[derive(Default)]
    struct Marks(Service);

    impl Marks {
        fn new() -> Self {
            Self(Service {
                metadata: ObjectMeta { name: Some("app-0".into()), ..ObjectMeta::default() },
                ..Service::default()
            })
        }
        fn label(mut self) -> Self {
            self.0.metadata.labels = Some(BTreeMap::from([(CREATOR_LABEL.into(), CREATOR.into())]));
            self
        }
        fn note(mut self, key: &str, value: &str) -> Self {
            self.0.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
            self
        }
        fn notes(self, name: &str, uid: &str) -> Self {
            self.note(POD_NAME_ANNOTATION, name).note(POD_UID_ANNOTATION, uid)
        }
        fn owner(mut self, kind: &str, name: &str, uid: &str) -> Self {
            self.0.metadata.owner_references.get_or_insert_default().push(OwnerReference {
                api_version: if kind == "Pod" { "v1" } else { "apps/v1" }.into(),
                kind: kind.into(),
                name: name.into(),
                uid: uid.into(),
                ..OwnerReference::default()
            });
            self
        }
        fn selects(mut self, name: &str) -> Self {
            self.0.spec = Some(ServiceSpec {
                type_: Some("NodePort".into()),
                selector: Some(BTreeMap::from([(POD_NAME_LABEL.into(), name.into())])),
                ..ServiceSpec::default()
            });
            self
        }
    }

    fn pod(name: &str, uid: &str) -> PodRef {
        PodRef { name: name.into(), uid: uid.into() }
    }

    fn of_type(mut marks: Marks, type_: &str) -> Marks {
        marks.0.spec.as_mut().unwrap().type_ = Some(type_.into());
        marks
    }

    #[test]
    fn claim_follows_the_evidence() {
        let contradiction =
            Doubt::AnnotationsContradictOwner { annotated: pod("app-0", "u1"), owner: pod("app-0", "u2") };
        let table = [
            (
                "as the creator makes it",
                Marks::new().label().notes("app-0", "u1").owner("Pod", "app-0", "u1").selects("app-0"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "owner-reference none",
                Marks::new().label().notes("app-0", "u1").selects("app-0"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "label lost by hand",
                Marks::new().notes("app-0", "u1").owner("Pod", "app-0", "u1"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "annotations lost by hand",
                Marks::new().label().owner("Pod", "app-0", "u1").selects("app-0"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "an owner that is no pod adds nothing",
                Marks::new().label().notes("app-0", "u1").owner("StatefulSet", "app", "s"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "one annotation lost, owner there",
                Marks::new().label().note(POD_UID_ANNOTATION, "u1").owner("Pod", "app-0", "u1"),
                Claim::Pod(pod("app-0", "u1")),
            ),
            (
                "one annotation lost, another pod owns it",
                Marks::new().label().note(POD_UID_ANNOTATION, "u1").owner("Pod", "app-0", "u2"),
                Claim::Unclear(Doubt::HalfAnnotated),
            ),
            (
                "one annotation lost, no owner",
                Marks::new().label().note(POD_UID_ANNOTATION, "u1"),
                Claim::Unclear(Doubt::HalfAnnotated),
            ),
            ("one annotation empty", Marks::new().label().notes("app-0", ""), Claim::Unclear(Doubt::HalfAnnotated)),
            (
                "half annotated, not labelled",
                Marks::new().note(POD_NAME_ANNOTATION, "app-0").owner("Pod", "app-0", "u1"),
                Claim::Unclear(Doubt::HalfAnnotated),
            ),
            (
                "annotations against owner",
                Marks::new().label().notes("app-0", "u1").owner("Pod", "app-0", "u2"),
                Claim::Unclear(contradiction),
            ),
            (
                "two pods own it",
                Marks::new().label().notes("app-0", "u1").owner("Pod", "app-0", "u1").owner("Pod", "app-1", "u2"),
                Claim::Unclear(Doubt::SeveralOwners),
            ),
            (
                "two pods own it, no annotations",
                Marks::new().label().owner("Pod", "app-0", "u1").owner("Pod", "app-1", "u2"),
                Claim::Unclear(Doubt::SeveralOwners),
            ),
            (
                "the original tool's",
                Marks::new().label().selects("app-0"),
                Claim::OriginalTool { pod_name: "app-0".into() },
            ),
            (
                "labelled, selects another name",
                Marks::new().label().selects("app-1"),
                Claim::Unclear(Doubt::OnlyLabelled),
            ),
            ("labelled by hand", Marks::new().label(), Claim::Unclear(Doubt::OnlyLabelled)),
            (
                "a copy by hand, without the label",
                Marks::new().notes("app-0", "u1").selects("app-0"),
                Claim::Unclear(Doubt::OnlyAnnotated),
            ),
            (
                "a copy by hand that a StatefulSet owns",
                Marks::new().notes("app-0", "u1").owner("StatefulSet", "app", "s"),
                Claim::Unclear(Doubt::OnlyAnnotated),
            ),
            (
                "as the original tool's, but a StatefulSet owns it",
                Marks::new().label().selects("app-0").owner("StatefulSet", "app", "s"),
                Claim::Unclear(Doubt::OnlyLabelled),
            ),
            (
                "as the original tool's, but of another type",
                of_type(Marks::new().label().selects("app-0"), "LoadBalancer"),
                Claim::Unclear(Doubt::OnlyLabelled),
            ),
            (
                "a name that would be another request",
                Marks::new().label().notes("app-0/log?x", "u1"),
                Claim::Unclear(Doubt::NoPodName { name: "app-0/log?x".into() }),
            ),
            (
                "an owner of such a name",
                Marks::new().label().owner("Pod", "..", "u1"),
                Claim::Unclear(Doubt::NoPodName { name: "..".into() }),
            ),
            ("a user's own", Marks::new(), Claim::Foreign),
            ("a user's own with our selector", Marks::new().selects("app-0"), Claim::Foreign),
            ("a user's own, owned by a pod", Marks::new().owner("Pod", "app-0", "u1"), Claim::Foreign),
        ];
        for (case, marks, expected) in table {
            assert_eq!(claim(&marks.0), expected, "{case}");
        }
    }

    #[test]
    fn what_was_proven_once_needs_no_label_any_more() {
        let is_known = |pod: &PodRef| *pod == PodRef { name: "app-0".into(), uid: "u1".into() };
        let known = Claim::Pod(PodRef { name: "app-0".into(), uid: "u1".into() });
        let contradiction = Marks::new().notes("app-0", "u1").owner("Pod", "app-0", "u2");
        let table = [
            ("label taken away", Marks::new().notes("app-0", "u1"), known.clone()),
            ("all there", Marks::new().label().notes("app-0", "u1"), known),
            ("another pod's", Marks::new().notes("app-0", "u2"), Claim::Unclear(Doubt::OnlyAnnotated)),
            ("one annotation left", Marks::new().note(POD_UID_ANNOTATION, "u1"), Claim::Unclear(Doubt::HalfAnnotated)),
            ("all taken away", Marks::new(), Claim::Foreign),
            (
                "contradicts itself",
                Marks::new().notes("app-0", "u1").owner("Pod", "app-0", "u2"),
                claim(&contradiction.0),
            ),
        ];
        for (case, marks, expected) in table {
            assert_eq!(claim_once_proven(&marks.0, is_known), expected, "{case}");
        }
    }

    #[test]
    fn another_value_of_the_creator_label_is_someone_elses() {
        let mut marks = Marks::new().label().selects("app-0");
        marks.0.metadata.labels = Some(BTreeMap::from([(CREATOR_LABEL.into(), "helm".into())]));
        assert_eq!(claim(&marks.0), Claim::Foreign);
    }

    #[test]
    fn relation_tells_this_pod_from_every_other() {
        let me = pod("app-0", "u2");
        let table = [
            (Marks::new().label().notes("app-0", "u2"), Relation::ThisPod),
            (Marks::new().label().notes("app-0", "u1"), Relation::EarlierPod { uid: "u1".into() }),
            (Marks::new().label().notes("app-1", "u2"), Relation::OtherPod { name: "app-1".into() }),
            (Marks::new().label().notes("app-1", "u3"), Relation::OtherPod { name: "app-1".into() }),
            (Marks::new().label().selects("app-0"), Relation::OriginalTool),
            (Marks::new().label(), Relation::Unclear(Doubt::OnlyLabelled)),
            (Marks::new(), Relation::Foreign),
        ];
        for (marks, expected) in table {
            assert_eq!(relation(&marks.0, &me), expected, "{:?}", marks.0);
        }
        let mut fixed_name = Marks::new().label().selects("web");
        fixed_name.0.metadata.name = Some("web".into());
        assert_eq!(relation(&fixed_name.0, &me), Relation::OtherPod { name: "web".into() });
    }
}
