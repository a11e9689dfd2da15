//! What is watched, and who hears of it.

use std::fmt;

use common::api::{
    call::{Extent, Selection},
    client::Api,
    resource::Resource,
    watch::{Absence, Audience, Cause, Seen, Watch, Watchable},
};
use tokio::sync::mpsc;

use crate::{
    apply, index::Report, names::SERVICE_NAME_LABEL, net_service, pod, pulse::Pulse, resource::Group, service::Service,
    slices::Slice,
};

/// Pods that have not finished: one that has is no endpoint, and for the watch as if it were gone.
const UNFINISHED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Something that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Watched {
    /// NetServices of a group.
    NetServices(Group),
    /// Pods, of all labels: selectors come and go.
    Pods,
    /// Services, of all labels: any of them may have the name of a NetService.
    Services,
    /// EndpointSlices that clients use, whosever: ours may have lost the label that says so. Only ours are kept.
    Slices,
}

impl Watched {
    /// Each of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Group::ALL.map(Self::NetServices).into_iter().chain([Self::Pods, Self::Services, Self::Slices])
    }

    fn resource(self) -> Resource {
        match self {
            Self::NetServices(group) => apply::resource(group),
            Self::Pods => Resource::Pods,
            Self::Services => Resource::Services,
            Self::Slices => Resource::EndpointSlices,
        }
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource().plural())?;
        match self {
            Self::NetServices(group) => write!(f, ".{group}"),
            Self::Pods | Self::Services | Self::Slices => Ok(()),
        }
    }
}

/// Makes reports of what one watch sees, and shows how it fares.
struct Hearing<T> {
    watched: Watched,
    pulse: Pulse,
    report: fn(Seen<T>) -> Report,
}

impl<T: Watchable> Audience for Hearing<T> {
    type Object = T;
    type Change = Report;

    fn change(&self, seen: Seen<T>) -> Report {
        (self.report)(seen)
    }

    fn up(&self) {
        self.pulse.up(self.watched);
    }

    fn down(&self) {
        self.pulse.down(self.watched);
    }

    fn restarted(&self, cause: Cause) {
        self.pulse.restarted(self.watched, cause);
    }
}

/// Starts all watches of a namespace, or of all; they end when this set is dropped.
pub(crate) fn watch(
    api: &Api,
    namespace: Option<&str>,
    pulse: &Pulse,
    reports: &mpsc::Sender<Report>,
) -> tokio::task::JoinSet<()> {
    let mut all = tokio::task::JoinSet::new();
    let start = Start { api, namespace, pulse, reports };
    let own = |seen| Report::NetService(Group::Own, seen);
    let original = |seen| Report::NetService(Group::Original, seen);
    all.spawn(start.one::<net_service::Object>(Watched::NetServices(Group::Own), own).run());
    all.spawn(start.one::<net_service::Object>(Watched::NetServices(Group::Original), original).run());
    all.spawn(start.one::<pod::Object>(Watched::Pods, Report::Pod).run());
    all.spawn(start.one::<Service>(Watched::Services, Report::Service).run());
    all.spawn(start.one::<Slice>(Watched::Slices, Report::Slice).run());
    all
}

struct Start<'a> {
    api: &'a Api,
    namespace: Option<&'a str>,
    pulse: &'a Pulse,
    reports: &'a mpsc::Sender<Report>,
}

impl Start<'_> {
    fn one<T: Watchable>(&self, watched: Watched, report: fn(Seen<T>) -> Report) -> Watch<Hearing<T>> {
        let (labels, absence) = match watched {
            Watched::NetServices(_) => (String::new(), Absence::Empty),
            Watched::Slices => (SERVICE_NAME_LABEL.to_owned(), Absence::Failure),
            Watched::Pods | Watched::Services => (String::new(), Absence::Failure),
        };
        Watch {
            api: self.api.clone(),
            selection: Selection {
                resource: watched.resource(),
                namespace: self.namespace.map(str::to_owned),
                labels,
                fields: if watched == Watched::Pods { UNFINISHED } else { "" },
                extent: Extent::Full,
            },
            absence,
            changes: self.reports.clone(),
            audience: Hearing { watched, pulse: self.pulse.clone(), report },
        }
    }
}
