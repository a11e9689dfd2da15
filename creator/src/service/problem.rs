//! What can be wrong with a rendered Service.

use crate::place::{Location, Place, Source};

/// A rendered template is no Service that this program may create.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {path} {problem}")]
pub struct ServiceError {
    /// Where in which template.
    pub place: Box<Place>,
    /// The field, as the API names it: `spec.ports[1].nodePort`.
    pub path: String,
    /// What is wrong with it.
    pub problem: ServiceProblem,
}

/// What is wrong with a field. Messages go on from the field's name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceProblem {
    /// A field that must be there.
    #[error("is missing: write {0}")]
    Missing(String),
    /// A field of another type.
    #[error("is {found} and must be {wanted}")]
    Type {
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// Another object, or a list of them.
    #[error("is {0}: the template must be one Service, with apiVersion: v1 and kind: Service")]
    NotAService(String),
    /// A name that the template's author wrote.
    #[error("{0:?} is no Service name: at most 63 of a-z, 0-9 and -, beginning with a letter and not ending with -")]
    Name(String),
    /// A name that would differ from run to run.
    #[error("is refused: the Service must have the same name on every run; write metadata.name: {{{{PodName}}}}")]
    GeneratedName,
    /// Not the pod's namespace.
    #[error("is {found:?}, and the pod is in {own:?}: a Service selects pods of its own namespace; leave it out")]
    Namespace {
        /// What the template says.
        found: String,
        /// Where the pod is.
        own: String,
    },
    /// The owner is ours to set.
    #[error("is refused: the pod becomes the owner; set owner-reference to none for a Service without one")]
    OwnerReferences,
    /// A finalizer keeps the Service after its pod.
    #[error("is refused: it would keep the Service, its ports and its name after the pod; leave it out")]
    Finalizers,
    /// A field that only the API server sets.
    #[error("is set by the API server: leave it out")]
    ServerField,
    /// A Service without node ports, or with more than that.
    #[error("is {0}: write NodePort")]
    ServiceType(String),
    /// A value that is no label value.
    #[error("{0:?} is no label value: at most 63 letters, digits, -, _ and ., with a letter or digit at either end")]
    LabelValue(String),
    /// The selector fits other pods too.
    #[error(
        "selects more pods than this one: at least one value must be rendered from its name or UID, as in \
         ipfPodName: {{{{PodName}}}}"
    )]
    SharedSelector,
    /// A StatefulSet's label with another value.
    #[error("is {found:?}, and the pod is {pod:?}: write {{{{PodName}}}}")]
    OtherPod {
        /// What the template says.
        found: String,
        /// The pod's name.
        pod: String,
    },
    /// A StatefulSet's label, and the pod is not from one.
    #[error("is a label of StatefulSets' pods, and {0:?} is none: select by ipfPodName: {{{{PodName}}}}")]
    NoStatefulSet(String),
    /// Not a port number.
    #[error("{0} is no port number: 1 to 65535")]
    PortNumber(i64),
    /// Not a node port.
    #[error("{0} is no node port: 1 to 65535, or 0 to have one allocated")]
    NodePort(i64),
    /// Not a port name.
    #[error("{0:?} is no port name: at most 63 of a-z, 0-9 and -, not beginning or ending with -")]
    PortName(String),
    /// Two ports of one name.
    #[error("{0:?} is the name of an earlier port too")]
    DuplicatePortName(String),
    /// One node port for two ports that cannot share it.
    #[error("{0} is there twice: only ports of the same number and of different protocols can share a node port")]
    SharedNodePort(u16),
    /// Not the name of a container's port.
    #[error(
        "{0:?} is no name of a container's port: at most 15 of a-z, 0-9 and -, with a letter; a number has no quotes"
    )]
    TargetPort(String),
    /// No transport protocol.
    #[error("{0:?} is no protocol: TCP, UDP or SCTP")]
    Protocol(String),
    /// The file for Akka needs a port that is not there.
    #[error(
        "has no port named {wanted}, which the .conf file needs; there are {}: rename one, or set {option}",
        there.join(", ")
    )]
    AkkaPort {
        /// The name that is looked for.
        wanted: String,
        /// The option that says so.
        option: &'static str,
        /// The ports' names.
        there: Vec<String>,
    },
}

/// What may be meant, but probably is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// Akka's probes never reach a member that is not ready yet, and it gets ready only once it was probed.
    #[error(
        "{place}: spec.publishNotReadyAddresses is not true: no member can be reached before it is ready, and \
         none becomes ready before it was reached"
    )]
    NotReadyAddresses {
        /// Where the field is, or the `spec` that lacks it.
        place: Place,
    },
}

/// A problem of a field, before it is known which template it is in.
#[derive(Debug)]
pub(super) struct Flaw {
    pub location: Location,
    pub path: String,
    pub problem: ServiceProblem,
}

impl Flaw {
    pub(super) fn of(self, template: &Source) -> ServiceError {
        let place = Box::new(Place { template: template.clone(), location: self.location });
        ServiceError { place, path: self.path, problem: self.problem }
    }
}
