//! What is to be found when it has become quiet.

use std::time::Duration;

use common::{
    labels::{CREATOR, CREATOR_LABEL, POD_UID_ANNOTATION},
    ownership::{Claim, claim, claim_once_proven},
};
use k8s_openapi::api::core::v1::Service;

use crate::{
    pods::{Expects, Life},
    services::annotation,
};

/// How long it may take until nothing is left that has to go: the longest pause of a watcher whose API was away is 15 s, and
/// Services of the original tool's kind need two looks 30 s apart.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// What has to become of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
    /// A watcher that knew it before a hand took its label deletes it; another one does not know it.
    Either,
}

fn fate(service: &Service, living: &[&Life]) -> Fate {
    let labels = service.metadata.labels.as_ref();
    let is_labelled = labels.and_then(|labels| labels.get(CREATOR_LABEL)).is_some_and(|value| value == CREATOR);
    let is_alive = |uid: &str| living.iter().any(|life| life.uid == uid && life.finished.is_none());
    match claim_once_proven(service, |_| true) {
        Claim::Pod(pod) if is_alive(&pod.uid) => Fate::Stays,
        Claim::Pod(_) if is_labelled => Fate::Goes,
        Claim::Pod(_) => Fate::Either,
        Claim::OriginalTool { pod_name } if living.iter().any(|life| life.name == pod_name) => Fate::Stays,
        Claim::OriginalTool { .. } => Fate::Goes,
        Claim::Unclear(_) | Claim::Foreign => Fate::Stays,
    }
}

/// Says which Services still have to go.
pub(crate) fn nothing_left(services: &[Service], living: &[&Life]) -> Result<(), String> {
    let left: Vec<_> = services.iter().filter(|service| fate(service, living) == Fate::Goes).collect();
    if left.is_empty() { Ok(()) } else { Err(describe(&left)) }
}

/// Says which live pod that ran the creator does not have exactly one Service.
pub(crate) fn one_each(services: &[Service], living: &[&Life]) -> Result<(), String> {
    for life in living.iter().filter(|life| life.expects == Expects::OneService && life.finished.is_none()) {
        let own: Vec<_> = services
            .iter()
            .filter(|service| {
                annotation(service, POD_UID_ANNOTATION) == Some(life.uid.as_str())
                    || matches!(claim(service), Claim::Pod(pod) if pod.uid == life.uid)
            })
            .filter(|service| !service.metadata.name.as_deref().unwrap_or_default().starts_with("foreign"))
            .collect();
        if own.len() != 1 {
            return Err(format!("{life:?} has {} Services: {}", own.len(), describe(&own)));
        }
    }
    Ok(())
}

fn describe(services: &[&Service]) -> String {
    let lines: Vec<_> = services.iter().map(|service| format!("{:?} {:?}", claim(service), service.metadata)).collect();
    lines.join("\n")
}
