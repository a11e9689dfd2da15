//! What can become of one call, in words; whether it is sent again is decided elsewhere.

use std::{error::Error, fmt, time::Duration};

use super::{
    call::Call,
    classify::{Meaning, Refusal, missing_rule},
};

/// How long one try may take. An API server under load answers within seconds; one that has
/// said nothing for this long has lost the request.
pub(super) const ATTEMPT: Duration = Duration::from_secs(20);

/// Whether a request without an answer can have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// No connection came about.
    Never,
    /// The answer is lost, the request may not be.
    Perhaps,
}

/// Why the wait for an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Silence {
    /// This try has taken long enough.
    #[error("nothing came within {} s", ATTEMPT.as_secs())]
    Attempt,
    /// There is no time left at all.
    #[error("nothing came before the timeout")]
    Deadline,
}

/// One call that did not succeed.
#[derive(Debug)]
pub enum CallError {
    /// The API said no.
    Refused {
        /// What was asked.
        call: Box<Call>,
        /// What was answered.
        refusal: Refusal,
    },
    /// RBAC said no right after the API server was away: one that has just started does not know every role yet.
    Unsettled {
        /// What was asked.
        call: Box<Call>,
        /// What was answered.
        refusal: Refusal,
    },
    /// The API said nothing, or not all of it.
    NoAnswer {
        /// What was asked.
        call: Box<Call>,
        /// Whether it can have been carried out.
        sent: Sent,
        /// What happened instead.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The API's answer is none to what was asked.
    Unreadable {
        /// What was asked.
        call: Box<Call>,
        /// What is wrong with the answer.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl CallError {
    /// What the answer means; `None` where there was none.
    #[must_use]
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.meaning()),
            Self::Unsettled { .. } => Some(Meaning::Unavailable),
            Self::NoAnswer { .. } | Self::Unreadable { .. } => None,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.meaning().is_none_or(Meaning::may_pass)
    }

    /// Whether any other call would fare alike: the API server is away, overloaded, or does not know who asks.
    #[must_use]
    pub fn concerns_every_call(&self) -> bool {
        match self {
            Self::Refused { refusal, .. } => {
                refusal.meaning().may_pass() && matches!(refusal.code, 401 | 403 | 429 | 502..=504)
            }
            Self::Unsettled { .. } | Self::NoAnswer { .. } => true,
            Self::Unreadable { .. } => false,
        }
    }

    /// Whether the call certainly was not carried out: no connection came about, or the API turned it away unread.
    #[must_use]
    pub fn never_done(&self) -> bool {
        match self {
            Self::Refused { refusal, .. } => refusal.is_unread(),
            Self::Unsettled { .. } => true,
            Self::NoAnswer { sent, .. } => *sent == Sent::Never,
            Self::Unreadable { .. } => false,
        }
    }

    /// Whether only the deadline ended the wait for an answer: what went wrong earlier tells more than this.
    #[must_use]
    pub fn cut_short(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Unsettled { .. } | Self::Unreadable { .. } => false,
            Self::NoAnswer { source, .. } => source.downcast_ref::<Silence>() == Some(&Silence::Deadline),
        }
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { refusal, .. } => refusal.retry_after,
            Self::Unsettled { .. } | Self::NoAnswer { .. } | Self::Unreadable { .. } => None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { call, refusal } if refusal.meaning() == Meaning::Rbac => {
                write!(f, "cannot {call}: {}", missing_rule(call, refusal))
            }
            Self::Refused { call, refusal } if refusal.meaning() == Meaning::Unauthorized => write!(
                f,
                "cannot {call}: the API server does not accept the service account token ({}); it may be empty or have expired, or the pod it is bound to may be gone",
                refusal.code
            ),
            Self::Unsettled { call, refusal } => write!(
                f,
                "cannot {call} yet: the API server was away, and says now that {}",
                missing_rule(call, refusal)
            ),
            Self::Refused { call, refusal } => write!(f, "cannot {call}: {refusal}"),
            Self::NoAnswer { call, .. } => write!(f, "no answer to {call} from the API server"),
            Self::Unreadable { call, .. } => write!(f, "the API server's answer to {call} cannot be read"),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused { .. } | Self::Unsettled { .. } => None,
            Self::NoAnswer { source, .. } | Self::Unreadable { source, .. } => Some(source.as_ref()),
        }
    }
}
