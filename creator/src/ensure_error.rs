//! What can keep a pod from its Service, in words that say what to do.

use std::{fmt, time::Duration};

use common::api::{
    classify::Meaning,
    client::{CallError, PersistError},
};

use crate::{
    judge::{Obsolete, Whose},
    pod::PodGone,
};

/// Something that may pass while the creator waits.
#[derive(Debug)]
pub enum Obstacle {
    /// A Service of this name was there a moment ago.
    NameTaken,
    /// The API has no port to give.
    NoPort(CallError),
    /// The API does not answer, or cannot now.
    Silent(CallError),
    /// The Service of this name is being deleted.
    Terminating {
        /// What keeps it from going.
        finalizers: Vec<String>,
    },
    /// An earlier pod's Service is there, and the creator may not delete it.
    Predecessor {
        /// Whose it is.
        why: Obsolete,
        /// The refusal: of the delete, or of the look at the pod before it.
        source: CallError,
    },
    /// The obsolete Service was changed between the look and the delete.
    Changing(CallError),
}

impl Obstacle {
    /// How long the API asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Silent(error) => error.retry_after(),
            _ => None,
        }
    }

    /// Whether nothing can have been created: a look at the name would find nothing, and be one request too many.
    #[must_use]
    pub fn nothing_done(&self) -> bool {
        matches!(self, Self::Silent(error) if error.never_done())
    }

    /// Whether it is only that the deadline ended the wait for an answer.
    #[must_use]
    pub fn cut_short(&self) -> bool {
        self.cause().is_some_and(CallError::cut_short)
    }

    /// The error of the API behind it.
    #[must_use]
    pub fn cause(&self) -> Option<&CallError> {
        match self {
            Self::NameTaken | Self::Terminating { .. } => None,
            Self::NoPort(error) | Self::Silent(error) | Self::Changing(error) => Some(error),
            Self::Predecessor { source, .. } => Some(source),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken => f.write_str("its name is in use"),
            Self::NoPort(error) => write!(f, "no node port is to be had, because {}", why_no_port(error)),
            Self::Silent(_) => f.write_str("the API server cannot do it now"),
            Self::Terminating { finalizers } => write!(
                f,
                "the Service of this name is being deleted, and kept by finalizers that their controllers, or a hand, must remove: {}",
                finalizers.join(", ")
            ),
            Self::Predecessor { why, .. } => write!(
                f,
                "the existing Service must go first: {why}; the garbage collector or the watcher will delete it, or allow the creator to"
            ),
            Self::Changing(_) => f.write_str("the obsolete Service keeps changing"),
        }
    }
}

/// The pod has no Service.
#[derive(Debug, thiserror::Error)]
pub enum EnsureError {
    /// The API refused to create or delete it.
    #[error(transparent)]
    Refused(CallError),
    /// A read was refused, or the API did not answer in time.
    #[error(transparent)]
    Call(PersistError),
    /// The name is someone else's.
    #[error("Service {service} exists and is left as it is: {whose}")]
    Taken {
        /// Namespace and name.
        service: String,
        /// Whose it is.
        whose: Whose,
    },
    /// A Service that only the creator could remove, and may not.
    #[error("Service {service} must be replaced, because {why}")]
    MayNotReplace {
        /// Namespace and name.
        service: String,
        /// Why it must go.
        why: Obsolete,
        /// The refusal: of the delete, or of the look at the pod before it.
        source: CallError,
    },
    /// This pod does not exist any more.
    #[error(transparent)]
    PodGone(#[from] PodGone),
    /// What was stored is not what was sent.
    #[error(
        "Service {service} was created, but not as asked: {difference}; an admission webhook that changes Services must leave this one alone"
    )]
    Mutated {
        /// Namespace and name.
        service: String,
        /// The first difference.
        difference: String,
    },
    /// The deadline came first.
    #[error("gave up on Service {service} at the timeout: {obstacle}{}", because(.obstacle))]
    TimeIsUp {
        /// Namespace and name.
        service: String,
        /// What was in the way last.
        obstacle: Obstacle,
    },
}

fn why_no_port(error: &CallError) -> &'static str {
    match error.meaning() {
        Some(Meaning::RangeFull) => {
            "every one of the cluster is in use (kube-apiserver's --service-node-port-range); delete Services that nobody needs, or have the range widened"
        }
        Some(Meaning::QuotaExceeded) => {
            "a ResourceQuota of the namespace is used up; delete Services that nobody needs, or have it raised"
        }
        _ => "another Service has one that the template asks for; nodePort: 0 takes any that is free",
    }
}

fn because(obstacle: &Obstacle) -> String {
    match obstacle.cause() {
        Some(error) => format!(": {}", common::api::client::chain(error)),
        None => String::new(),
    }
}
