//! What was allocated to the pod.

use std::num::NonZeroU16;

use crate::{host::Host, pod::PodIdentity};

/// What was allocated to one pod: all that an output file can tell.
///
/// An empty host or a port 0 cannot be said in these types: an application would take either and start wrongly
/// (Akka accepts `""` as a host, and replaces port 0 by its default).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Where others reach the pod.
    pub host: Host,
    /// Every address of the node that is known, `host` first.
    pub addresses: Vec<Host>,
    /// The Service's ports, in the Service's order.
    pub ports: Vec<AllocatedPort>,
    /// Whose they are.
    pub pod: PodIdentity,
    /// The node that the pod runs on, if it was needed and so is known.
    pub node: Option<String>,
    /// The Service's name.
    pub service: String,
}

/// One port of the Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatedPort {
    /// Its name; Kubernetes lets it be missing where the Service has no other port.
    pub name: Option<String>,
    /// The port on the node.
    pub node_port: NonZeroU16,
    /// The pod's port that `targetPort` means; `None` where it is a name that no container of the pod has.
    pub target: Option<NonZeroU16>,
}

/// What a port without a name is called in the files. No other port can be called so: it is the only one.
pub const UNNAMED: &str = "port";

impl AllocatedPort {
    /// The port's name in the files.
    #[must_use]
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }
}

/// A port's name within a variable's: upper case, `-` becomes `_`.
///
/// Two ports never get one variable: a Service's port names are DNS labels (lower-case letters, digits and hyphens),
/// so nothing else becomes an upper-case letter or an underscore.
#[must_use]
pub fn variable(port: &str) -> String {
    port.to_ascii_uppercase().replace('-', "_")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn number(number: u16) -> NonZeroU16 {
        NonZeroU16::new(number).unwrap()
    }

    pub(crate) fn port(name: &str, node_port: u16, target: u16) -> AllocatedPort {
        AllocatedPort {
            name: (!name.is_empty()).then(|| name.to_owned()),
            node_port: number(node_port),
            target: NonZeroU16::new(target),
        }
    }

    /// The documented Service of the pod `app-0` on `node-1`.
    pub(crate) fn documented() -> Allocation {
        Allocation {
            host: "node-1".parse().unwrap(),
            addresses: ["node-1", "10.0.0.5", "fd00::5"].map(|host| host.parse().unwrap()).to_vec(),
            ports: vec![port("akka-management", 31235, 8558), port("akka-artery", 31234, 55001)],
            pod: PodIdentity {
                name: "app-0".to_owned(),
                namespace: "default".to_owned(),
                uid: "8f6c5d2e-0000-4000-8000-000000000001".to_owned(),
            },
            node: Some("node-1".to_owned()),
            service: "app-0".to_owned(),
        }
    }

    #[test]
    fn every_port_name_has_a_variable_of_its_own() {
        // Every DNS label of up to four characters over one of each kind.
        let mut labels: Vec<String> = vec![String::new()];
        let mut seen = BTreeMap::new();
        for _ in 0..4 {
            labels = labels.iter().flat_map(|label| ["a", "b", "0", "-"].map(|c| format!("{label}{c}"))).collect();
            for label in labels.iter().filter(|label| !label.starts_with('-') && !label.ends_with('-')) {
                assert_eq!(seen.insert(variable(label), label.clone()), None, "{label}");
            }
        }
        assert_eq!(variable("akka-artery"), "AKKA_ARTERY");
        assert_eq!(variable("a--b"), "A__B");
    }

    #[test]
    fn an_only_port_without_a_name_has_a_key() {
        assert_eq!(port("", 31234, 80).key(), "port");
        assert_eq!(port("web", 31234, 80).key(), "web");
    }
}
