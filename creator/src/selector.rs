//! Checks the template against the pod as it is: labels that the selector takes for granted, and named target ports.

use std::collections::BTreeMap;

use crate::{
    pod::ObservedPod,
    service::{Port, TargetPort},
};

/// The Service would not reach the pod.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The selector asks for a label that the pod does not have.
    #[error(
        "the template's selector asks for the label {key}={wanted}, and pod {pod} has {}: add the label to the pod's template, or take it out of the selector",
        found.as_ref().map_or_else(|| "no label of this key".to_owned(), |found| format!("{key}={found}"))
    )]
    Unmatched {
        /// The pod's name.
        pod: String,
        /// The label's key.
        key: String,
        /// The value that the selector asks for.
        wanted: String,
        /// The value that the pod has.
        found: Option<String>,
    },
    /// A targetPort is a name that no container of the pod has.
    #[error(
        "the template's port {port} has the targetPort {name:?}, and no container of pod {pod} has a port of this name and protocol; it has {}: name the container's port, or write its number",
        listed(.there)
    )]
    NoContainerPort {
        /// The pod's name.
        pod: String,
        /// The Service's port.
        port: String,
        /// The name.
        name: String,
        /// The names there are.
        there: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no named ports".to_owned() } else { names.join(", ") }
}

/// Checks that the pod has the labels whose values the template fixes: the creator sets only those that name the pod.
///
/// # Errors
/// The first label that is missing or has another value.
pub fn check_labels(name: &str, pod: &ObservedPod, literal: &BTreeMap<String, String>) -> Result<(), SelectorError> {
    for (key, wanted) in literal {
        let found = pod.labels.get(key);
        if found != Some(wanted) {
            return Err(SelectorError::Unmatched {
                pod: name.to_owned(),
                key: key.clone(),
                wanted: wanted.clone(),
                found: found.cloned(),
            });
        }
    }
    Ok(())
}

/// The number of the pod's port that a Service's port targets.
///
/// # Errors
/// Where it is a name that no container of the pod has.
pub fn target(name: &str, pod: Option<&ObservedPod>, port: &Port) -> Result<Option<u16>, SelectorError> {
    let target = match &port.target_port {
        TargetPort::Number(number) => return Ok(Some(*number)),
        TargetPort::Name(target) => target,
    };
    let Some(pod) = pod else { return Ok(None) };
    match pod.ports.iter().find(|there| there.name == *target && there.protocol == port.protocol) {
        Some(there) => Ok(Some(there.number)),
        None => Err(SelectorError::NoContainerPort {
            pod: name.to_owned(),
            port: port.name.clone().unwrap_or_else(|| port.port.to_string()),
            name: target.clone(),
            there: pod.ports.iter().map(|there| format!("{} ({})", there.name, there.protocol)).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pod::NamedPort, service::Protocol};

    fn pod() -> ObservedPod {
        ObservedPod {
            labels: BTreeMap::from([("app".into(), "shop".into())]),
            ports: [("artery", Protocol::UDP, 1), ("artery", Protocol::TCP, 25520), ("artery", Protocol::TCP, 2)]
                .map(|(name, protocol, number)| NamedPort { name: name.into(), protocol, number })
                .into(),
            ..ObservedPod::default()
        }
    }

    fn port(target_port: TargetPort) -> Port {
        Port { name: Some("akka-artery".into()), port: 1, protocol: Protocol::TCP, target_port, node_port: None }
    }

    #[test]
    fn literal_labels_must_be_on_the_pod() {
        let check = |key: &str, value: &str| {
            check_labels("app-0", &pod(), &BTreeMap::from([(key.into(), value.into())])).map_err(|e| e.to_string())
        };
        assert_eq!(check("app", "shop"), Ok(()));
        assert!(check("app", "x").unwrap_err().contains("asks for the label app=x, and pod app-0 has app=shop"));
        assert!(check("tier", "x").unwrap_err().contains("has no label of this key"));
    }

    #[test]
    fn named_targets_are_the_containers_ports() {
        assert_eq!(target("app-0", None, &port(TargetPort::Number(7))), Ok(Some(7)));
        assert_eq!(target("app-0", None, &port(TargetPort::Name("artery".into()))), Ok(None));
        assert_eq!(target("app-0", Some(&pod()), &port(TargetPort::Name("artery".into()))), Ok(Some(25520)));
        let error = target("app-0", Some(&pod()), &port(TargetPort::Name("x".into()))).unwrap_err().to_string();
        assert!(error.contains("\"x\"") && error.contains("it has artery (UDP), artery (TCP)"), "{error}");
    }
}
