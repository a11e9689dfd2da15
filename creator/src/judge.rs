//! Decides what to do about an existing Service of the wanted name; it never does it.

use std::{collections::BTreeMap, fmt};

use common::ownership::{self, Doubt, PodRef, Relation};
use k8s_openapi::api::core::v1::Service;

use crate::{
    ports::{Granted, difference, granted},
    service::Port,
};

/// What an existing Service is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The pod that runs this.
    pub pod: &'a PodRef,
    /// The template's selector.
    pub selector: &'a BTreeMap<String, String>,
    /// The template's ports.
    pub ports: &'a [Port],
}

/// What to do about an existing Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is this pod's, and as the template wants it: its ports are the pod's.
    Adopt(Granted),
    /// It is being deleted already: its name becomes free, or never does, whatever the creator does.
    Wait,
    /// It must go before a new one can come.
    Replace(Obsolete),
    /// It is not ours to touch.
    Refuse(Whose),
}

/// Why a Service must go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obsolete {
    /// An earlier pod's. The garbage collector or the watcher would remove it too.
    EarlierPod {
        /// That pod's UID.
        uid: String,
    },
    /// The original tool's, for a pod of this name. Nothing else would remove it while the pod lives.
    OriginalTool,
    /// This pod's own, made from another template. Nothing else would remove it while the pod lives.
    Outdated {
        /// The first difference.
        difference: String,
    },
}

impl Obsolete {
    /// Whether the Service disappears by itself, so that waiting helps where `delete` is not allowed.
    #[must_use]
    pub fn goes_by_itself(&self) -> bool {
        matches!(self, Self::EarlierPod { .. })
    }
}

impl fmt::Display for Obsolete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EarlierPod { uid } => write!(f, "it belongs to an earlier pod of this name (UID {uid})"),
            Self::OriginalTool => f.write_str("the original tool made it, for a pod of this name"),
            Self::Outdated { difference } => write!(f, "it no longer matches the template: {difference}"),
        }
    }
}

/// Whose a Service is that must not be touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Another pod's.
    OtherPod {
        /// That pod's name.
        name: String,
    },
    /// It carries our marks, but nobody can tell whose it is.
    Unclear(Doubt),
    /// Someone else's.
    Foreign,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPod { name } => {
                write!(
                    f,
                    "it belongs to pod {name}; use {{{{.PodName}}}} in the template's metadata.name, so that each pod gets its own"
                )
            }
            Self::Unclear(doubt) => write!(f, "nobody can tell whose it is: {doubt}; delete it if nobody needs it"),
            Self::Foreign => f.write_str(
                "it was not made by this program; rename or delete it, or use another metadata.name in the template",
            ),
        }
    }
}

/// Judges an existing Service of the wanted name.
#[must_use]
pub fn judge(service: &Service, wanted: Wanted<'_>) -> Verdict {
    if service.metadata.deletion_timestamp.is_some() {
        return Verdict::Wait;
    }
    match ownership::relation(service, wanted.pod) {
        Relation::ThisPod => match answers(service, wanted) {
            Ok(granted) => Verdict::Adopt(granted),
            Err(difference) => Verdict::Replace(Obsolete::Outdated { difference }),
        },
        Relation::EarlierPod { uid } => Verdict::Replace(Obsolete::EarlierPod { uid }),
        Relation::OriginalTool => Verdict::Replace(Obsolete::OriginalTool),
        Relation::OtherPod { name } => Verdict::Refuse(Whose::OtherPod { name }),
        Relation::Unclear(doubt) => Verdict::Refuse(Whose::Unclear(doubt)),
        Relation::Foreign => Verdict::Refuse(Whose::Foreign),
    }
}

/// What a Service has, provided that it is as the template wants it.
///
/// # Errors
/// The first difference.
pub fn answers(service: &Service, wanted: Wanted<'_>) -> Result<Granted, String> {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    if selector.is_none_or(|selector| selector != wanted.selector) {
        return Err("the selector differs".to_owned());
    }
    let granted = granted(service).map_err(|error| error.to_string())?;
    match difference(wanted.ports, &granted.ports) {
        Some(difference) => Err(difference),
        None => Ok(granted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Protocol, TargetPort};
    use serde_json::{Value, json};

    const TIME: &str = "2026-01-01T00:00:00Z";

    fn service(metadata: &Value, spec: &Value) -> Service {
        let mut service = json!({"metadata": {"name": "app-0"}, "spec": {
            "type": "NodePort",
            "selector": {"ipfPodName": "app-0"},
            "ports": [{"name": "akka-artery", "port": 55001, "targetPort": 55001, "protocol": "TCP", "nodePort": 30001}],
        }});
        for (part, changes) in [("metadata", metadata), ("spec", spec)] {
            for (key, value) in changes.as_object().unwrap() {
                service[part][key] = value.clone();
            }
        }
        serde_json::from_value(service).unwrap()
    }

    fn annotated(uid: &str) -> Value {
        json!({
            "labels": {"creator": "ipf-dynamic-nodeport-service-creator"},
            "annotations": {"ipf-dynamic-nodeport-service/pod-name": "app-0", "ipf-dynamic-nodeport-service/pod-uid": uid},
        })
    }

    fn with(mut metadata: Value, key: &str, value: Value) -> Value {
        metadata[key] = value;
        metadata
    }

    #[test]
    fn the_verdict_on_every_state() {
        let pod = PodRef { name: "app-0".into(), uid: "mine".into() };
        let selector = BTreeMap::from([("ipfPodName".into(), "app-0".into())]);
        let ports = [Port {
            name: Some("akka-artery".into()),
            port: 55001,
            protocol: Protocol::TCP,
            target_port: TargetPort::Number(55001),
            node_port: None,
        }];
        let wanted = Wanted { pod: &pod, selector: &selector, ports: &ports };
        let outdated = |text: &str| Verdict::Replace(Obsolete::Outdated { difference: text.into() });
        let same = json!({});
        let labelled = json!({"labels": {"creator": "ipf-dynamic-nodeport-service-creator"}});
        let table = [
            (
                "mine, as wanted",
                annotated("mine"),
                same.clone(),
                Verdict::Adopt(granted(&service(&same, &same)).unwrap()),
            ),
            (
                "mine, other selector",
                annotated("mine"),
                json!({"selector": {"ipfPodName": "app-1"}}),
                outdated("the selector differs"),
            ),
            ("mine, selector gone", annotated("mine"), json!({"selector": null}), outdated("the selector differs")),
            (
                "mine, other port",
                annotated("mine"),
                json!({"ports": [{"name": "akka-artery", "port": 1, "nodePort": 30001}]}),
                outdated("port akka-artery differs"),
            ),
            (
                "mine, without node port",
                annotated("mine"),
                json!({"type": "ClusterIP", "ports": [{"name": "akka-artery", "port": 55001, "targetPort": 55001}]}),
                outdated("port akka-artery has no node port"),
            ),
            (
                "mine, being deleted",
                with(annotated("mine"), "deletionTimestamp", json!(TIME)),
                same.clone(),
                Verdict::Wait,
            ),
            (
                "an earlier pod's",
                annotated("other"),
                same.clone(),
                Verdict::Replace(Obsolete::EarlierPod { uid: "other".into() }),
            ),
            (
                "an earlier pod's, being deleted",
                with(annotated("other"), "deletionTimestamp", json!(TIME)),
                same.clone(),
                Verdict::Wait,
            ),
            ("the original tool's", labelled.clone(), same.clone(), Verdict::Replace(Obsolete::OriginalTool)),
            (
                "another pod's",
                json!({"labels": {"creator": "ipf-dynamic-nodeport-service-creator"}, "annotations": {"ipf-dynamic-nodeport-service/pod-name": "app-1", "ipf-dynamic-nodeport-service/pod-uid": "x"}}),
                same.clone(),
                Verdict::Refuse(Whose::OtherPod { name: "app-1".into() }),
            ),
            ("a user's", json!({}), same.clone(), Verdict::Refuse(Whose::Foreign)),
            ("a user's, being deleted", json!({"deletionTimestamp": TIME}), same.clone(), Verdict::Wait),
            (
                "labelled by hand",
                labelled,
                json!({"selector": {"app": "x"}}),
                Verdict::Refuse(Whose::Unclear(Doubt::OnlyLabelled)),
            ),
        ];
        for (case, metadata, spec, expected) in table {
            assert_eq!(judge(&service(&metadata, &spec), wanted), expected, "{case}");
        }
    }

    #[test]
    fn only_an_earlier_pods_service_goes_by_itself() {
        assert!(Obsolete::EarlierPod { uid: "u".into() }.goes_by_itself());
        assert!(!Obsolete::OriginalTool.goes_by_itself());
        assert!(!Obsolete::Outdated { difference: "x".into() }.goes_by_itself());
    }
}
