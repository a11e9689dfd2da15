//! Runs NetServices for ever: takes in what the watches report, and has plans made and carried out. What is to be done, and
//! when, is decided elsewhere.

use std::time::{Duration, Instant};

use common::api::{
    client::{Api, CallError, chain},
    outage::Outage,
};
use k8s_openapi::jiff::Timestamp;
use tokio::{sync::mpsc, task::JoinSet, time::sleep_until};

use crate::{
    apply::{Applier, Failure, Outcome},
    index::{Index, Name, Report},
    net_service::Edition,
    plan::{Change, Situation, plan},
    pulse::{Held, Pulse},
    refusal::Refusal,
    status::{READY, Reason},
    telling::Telling,
    work::{Cause, End, Failing, Work},
};

/// So many NetServices are worked on at the same time.
const AT_ONCE: usize = 8;

/// Longer than any program runs.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The controller of NetServices.
pub struct Controller {
    api: Api,
    pulse: Pulse,
    index: Index,
    work: Work,
    telling: Telling,
    outage: Outage,
    running: JoinSet<Ended>,
    has_begun: bool,
}

/// A plan that was carried out, or not.
struct Ended {
    name: Name,
    edition: Edition,
    /// What the look ends with if all went well.
    done: End,
    outcome: Outcome,
}

impl Controller {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(api: Api, pulse: Pulse) -> Self {
        Self {
            telling: Telling::start(api.clone()),
            api,
            pulse,
            index: Index::default(),
            work: Work::default(),
            outage: Outage::default(),
            running: JoinSet::new(),
            has_begun: false,
        }
    }

    /// Runs until nobody reports any more. What is under way when this is dropped ends with it.
    pub async fn run(mut self, mut reports: mpsc::Receiver<Report>) {
        loop {
            self.begin_due();
            let next_due = self.next_due();
            tokio::select! {
                biased;
                Some(Ok(ended)) = self.running.join_next() => self.ended(ended),
                report = reports.recv() => match report {
                    Some(report) => self.note(report),
                    None => return,
                },
                () = sleep_until(next_due.into()) => {}
            }
        }
    }

    fn next_due(&self) -> Instant {
        let has_room = self.index.is_complete() && self.running.len() < AT_ONCE;
        let due = if has_room { self.work.next_due() } else { None };
        due.unwrap_or_else(|| Instant::now() + NEVER)
    }

    fn note(&mut self, report: Report) {
        let frees = matches!(&report, Report::Service(common::api::watch::Seen::Gone(_)));
        let (concerned, cause) = self.index.note(report);
        let now = Instant::now();
        concerned.into_iter().for_each(|name| self.work.changed(name, cause, now));
        if frees {
            self.work.freed(now);
        }
        if !self.has_begun && self.index.is_complete() {
            self.has_begun = true;
            self.index.forget_foreign_slices();
            let all: Vec<_> = self.index.net_services().map(|found| (found.key.clone(), found.group)).collect();
            tracing::info!(net_services = all.len(), pods = self.index.pods(), "watching NetServices");
            all.into_iter().for_each(|name| self.work.changed(name, Cause::Input, now));
            self.show();
        }
    }

    /// Plans what is due, and has it carried out.
    fn begin_due(&mut self) {
        if !self.index.is_complete() {
            return;
        }
        let mut has_looked = false;
        while self.running.len() < AT_ONCE {
            let now = Instant::now();
            let Some(name) = self.work.begin(now) else { break };
            has_looked = true;
            self.look(name, now);
        }
        if has_looked {
            self.show();
        }
    }

    fn look(&mut self, name: Name, now: Instant) {
        let refused = self.index.edition(&name).map(|edition| self.work.refused(&name, &edition)).unwrap_or_default();
        let Some((net_service, situation)) = self.index.situation(&name, refused, Timestamp::now()) else {
            self.work.forget(&name);
            return;
        };
        tell(&mut self.telling, net_service, &situation);
        self.telling.keep(self.index.pods(), self.index.all_pods());
        let changes = plan(net_service, &situation);
        if changes.is_empty() {
            self.work.ended(&name, End::NothingToDo, now);
            return;
        }
        let (api, edition) = (self.api.clone(), net_service.edition());
        let is_service = |change: &Change| !matches!(change, Change::Slice(_) | Change::Status(_));
        // The Service comes first, and alone.
        let done = if changes.iter().any(is_service) { End::Halfway } else { End::Done };
        self.running.spawn(async move {
            let (key, group) = &name;
            let outcome = Applier { api: &api, group: *group, key }.apply(changes).await;
            Ended { name, edition, done, outcome }
        });
    }

    fn ended(&mut self, ended: Ended) {
        let Ended { name, edition, done, outcome: Outcome { reports, failure } } = ended;
        let now = Instant::now();
        let has_done = !reports.is_empty();
        // Others may be concerned, of the same name; itself is looked at again anyway.
        for report in reports {
            let (concerned, cause) = self.index.note(report);
            concerned.into_iter().filter(|other| *other != name).for_each(|other| self.work.changed(other, cause, now));
        }
        let (key, _) = &name;
        let (namespace, net_service) = (key.namespace.to_string(), key.name.to_string());
        let (end, error) = match failure {
            None => (done, None),
            Some(Failure::Refused(what, error)) => {
                (End::Refused(Refusal { what, text: chain(&error), edition }), Some(error))
            }
            Some(Failure::Outdated(error)) => {
                tracing::debug!(namespace, net_service, error = chain(&error), "something has changed meanwhile");
                (End::Failed(error.retry_after()), None)
            }
            Some(Failure::Other(error)) => (End::Failed(error.retry_after()), Some(error)),
        };
        let failing = self.work.ended(&name, end, now);
        match error {
            Some(error) => self.failed(&namespace, &net_service, &error, failing),
            None if has_done => {
                if let Some(after) = self.outage.ended(now) {
                    tracing::info!(after_ms = common::logging::millis(after), "the API answers NetServices again");
                }
            }
            None => {}
        }
    }

    /// An API that is away is told once, and not for each NetService.
    fn failed(&mut self, namespace: &str, net_service: &str, error: &CallError, failing: Failing) {
        let is_news = match error.concerns_every_call() {
            true => self.outage.failed(error, Instant::now()),
            false => failing == Failing::News,
        };
        let error = chain(error);
        if is_news {
            tracing::warn!(namespace, net_service, error, "a NetService cannot be served; trying again");
        } else {
            tracing::debug!(namespace, net_service, error, "a NetService still cannot be served; trying again");
        }
    }

    fn show(&self) {
        let mut held = Held::default();
        for net_service in self.index.net_services() {
            held.net_services += 1;
            let ready = net_service.status.conditions.iter().find(|condition| condition.type_ == READY);
            held.not_ready += usize::from(ready.is_none_or(|ready| ready.reason != Reason::Reconciled.as_str()));
            held.endpoints += usize::try_from(net_service.status.endpoints).unwrap_or_default();
        }
        self.pulse.holds(held);
    }
}

/// Tells of pods whose annotation is needed and cannot be read whole.
fn tell(telling: &mut Telling, net_service: &crate::net_service::NetService, situation: &Situation<'_>) {
    let Ok(spec) = &net_service.spec else { return };
    if spec.net_attach_def.is_none() {
        return;
    }
    let selected = situation.pods.iter().filter(|pod| pod.is_selected_by(&spec.selector));
    selected.for_each(|pod| telling.about(&net_service.key.namespace, pod));
}
