//! Everything that can end a run, and the exit code of each.

use common::{
    api::{
        classify::Meaning,
        client::{CallError, PersistError},
        connect::ConnectError,
    },
    exit::Exit,
};

use crate::{
    address::NoAddress,
    ensure_error::{EnsureError, Obstacle},
    facts::FactsError,
    identity::IdentityError,
    label::LabelError,
    output::{WriteError, render::RenderError},
    rejection::Rejection,
    selector::SelectorError,
    service::ServiceError,
    source::SourceError,
    template::TemplateError,
};

/// Why a run ended without its file.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[allow(missing_docs, reason = "each variant is one operation, whose error type says what can fail")]
pub enum Error {
    Connect(#[from] ConnectError),
    Identity(#[from] IdentityError),
    Facts(#[from] FactsError),
    Source(#[from] SourceError),
    Template(#[from] TemplateError),
    Advertise(TemplateError),
    Service(#[from] ServiceError),
    Selector(#[from] SelectorError),
    Address(#[from] NoAddress),
    Render(#[from] RenderError),
    Label(#[from] LabelError),
    Ensure(#[from] EnsureError),
    Rejected(#[from] Rejection),
    Write(#[from] WriteError),
}

impl Error {
    /// The exit code, as docs/troubleshooting.md lists them.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Connect(_) | Self::Identity(_) | Self::Address(_) | Self::Advertise(_) => Exit::Usage,
            Self::Template(_) | Self::Service(_) | Self::Render(_) | Self::Rejected(_) => Exit::Template,
            Self::Selector(SelectorError::NoContainerPort { .. }) => Exit::Template,
            Self::Selector(SelectorError::Unmatched { .. }) => Exit::Taken,
            Self::Write(_) => Exit::Unwritable,
            Self::Facts(error) => of_facts(error),
            Self::Source(SourceError::Call(error)) => of_call(error),
            Self::Source(_) => Exit::Template,
            Self::Label(LabelError::Call(error)) => of_call(error),
            Self::Label(_) => Exit::Taken,
            Self::Ensure(error) => of_ensure(error),
        }
    }
}

fn of_facts(error: &FactsError) -> Exit {
    match error {
        FactsError::NoPod { .. } | FactsError::HostNetwork { .. } | FactsError::NoNode(_) => Exit::Usage,
        FactsError::Gone(_) => Exit::Taken,
        FactsError::Unset { .. } => Exit::Timeout,
        FactsError::Call(error) => of_call(error),
    }
}

fn of_ensure(error: &EnsureError) -> Exit {
    match error {
        EnsureError::Refused(error) => of_refusal(error),
        EnsureError::Call(error) => of_call(error),
        EnsureError::Taken { .. } | EnsureError::PodGone(_) => Exit::Taken,
        EnsureError::MayNotReplace { .. } | EnsureError::Mutated { .. } => Exit::Forbidden,
        EnsureError::TimeIsUp { obstacle, .. } => match obstacle {
            Obstacle::NoPort(_) => Exit::NoPort,
            Obstacle::NameTaken
            | Obstacle::Silent(_)
            | Obstacle::Terminating { .. }
            | Obstacle::Predecessor { .. }
            | Obstacle::Changing(_) => Exit::Timeout,
        },
    }
}

fn of_call(error: &PersistError) -> Exit {
    match error {
        PersistError::TimeIsUp(_) => Exit::Timeout,
        PersistError::Final(error) => of_refusal(error),
    }
}

fn of_refusal(error: &CallError) -> Exit {
    match error.meaning() {
        None | Some(Meaning::Unauthorized | Meaning::Unavailable) => Exit::Timeout,
        Some(Meaning::Rbac | Meaning::Policy) => Exit::Forbidden,
        Some(Meaning::Invalid) => Exit::Template,
        Some(meaning) if meaning.is_no_port() => Exit::NoPort,
        // Of what is created, only the namespace can be missing.
        Some(Meaning::NotFound) => Exit::Usage,
        Some(_) => Exit::Other,
    }
}
