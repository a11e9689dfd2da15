//! One run of a watcher: the real index, suspects and examinations, and in place of its thin I/O steps that are taken one
//! by one, each when the test wants it.

use std::{rc::Rc, time::Instant};

use common::labels::{CREATOR, CREATOR_LABEL, POD_NAME_LABEL, PRODUCT, PRODUCT_LABEL};
use k8s_openapi::api::core::v1::{Pod, Service};
use watcher::{
    examine::{Deletion, Examination, Finding, Step},
    index::{Change, Findings, Index, Tally},
    orphan::{Kept, Read},
    scan::Candidates,
    suspects::{Case, Next, Suspects},
    told::Told,
    uid::Uid,
    watched::Watched,
};

use crate::{
    facts::{Facts, Found, PodRead},
    op::{Request, Resource},
    server::{self, is_unfinished, label, metadata},
    stream::Stream,
    world::{Violation, Warrant, World},
};

/// So many Services are examined at a time.
const AT_ONCE: usize = 16;

/// A watcher that runs.
#[derive(Default)]
pub(crate) struct Process {
    facts: Rc<Facts>,
    index: Index,
    suspects: Suspects,
    told: Told,
    pods: Stream<Pod>,
    services: Stream<Service>,
    examinations: Vec<Examined>,
    scan: Scan,
}

/// An examination under way.
struct Examined {
    case: Case,
    examination: Examination,
    step: Step,
    begun: u64,
    /// When the requests of this step were sent.
    asked: u64,
    /// What the API has answered, and the watcher not yet received.
    service: Option<Option<Service>>,
    pod: Option<(Option<Pod>, PodRead)>,
    deletion: Option<Deletion>,
}

/// A scan.
#[derive(Default)]
enum Scan {
    /// None is under way, and none is due.
    #[default]
    Idle,
    /// One must come: the lists have just become complete, or one has failed.
    Due,
    /// The Services were listed.
    Services(Candidates),
    /// So were the watched pods.
    WatchedPods(Candidates),
}

/// The pods that are watched.
pub(crate) fn is_watched(pod: &Pod) -> bool {
    has_product(pod) && is_unfinished(pod)
}

/// The Services that are looked after.
pub(crate) fn is_labelled(service: &Service) -> bool {
    label(service, CREATOR_LABEL) == Some(CREATOR)
}

fn has_product(pod: &Pod) -> bool {
    label(pod, PRODUCT_LABEL) == Some(PRODUCT)
}

impl Process {
    /// A watch reports one thing; false where there is nothing.
    pub(crate) fn deliver(&mut self, resource: Resource, world: &mut World) -> bool {
        let tick = world.tick();
        let change = match resource {
            Resource::Pods => self.pods.next(&world.server.pods, is_watched).map(|line| {
                let mut known = self.facts.get_mut();
                match &line.object {
                    Some(told) => known.tell_pod(told, line.version, tick),
                    None if line.is_beginning() => known.forget_pods(),
                    None => {}
                }
                line.change(
                    Watched::Pods,
                    |pod| Change::Pod(metadata(pod).into()),
                    |pod| Change::PodGone(metadata(pod).into()),
                )
            }),
            Resource::Services => self.services.next(&world.server.services, is_labelled).map(|line| {
                if let Some(told) = &line.object {
                    self.facts.get_mut().tell_service(told);
                }
                line.change(
                    Watched::Services,
                    |service| Change::Service(metadata(service).into()),
                    |service| Change::ServiceGone(metadata(service).into()),
                )
            }),
        };
        let Some(change) = change else { return false };
        world.note(|| format!("  told: {change:?}"));
        self.note(change, world);
        true
    }

    pub(crate) fn replay(&mut self, resource: Resource, back: usize) {
        match resource {
            Resource::Pods => self.pods.replay(back),
            Resource::Services => self.services.replay(back),
        }
    }

    pub(crate) fn relist(&mut self, resource: Resource) {
        match resource {
            Resource::Pods => self.pods = Stream::default(),
            Resource::Services => self.services = Stream::default(),
        }
    }

    fn note(&mut self, change: Change, world: &World) {
        let was_complete = self.index.is_complete();
        let Findings { suspects, cleared } = self.index.note(change);
        for service in cleared {
            self.suspects.clear(&service);
        }
        for suspect in suspects {
            self.suspects.add(suspect, world.now(), world.now());
        }
        if !was_complete && self.index.is_complete() {
            self.scan = Scan::Due;
        }
    }

    /// Begins what is due, as far as there is room; false where there is nothing.
    pub(crate) fn begin(&mut self, world: &mut World) -> bool {
        let mut has_begun = false;
        while self.examinations.len() < AT_ONCE
            && let Some(case) = self.suspects.take(world.now())
        {
            world.note(|| format!("  examines {:?}", case.suspect));
            let (examination, step) = Examination::new(case.clone(), world.rules);
            let begun = world.tick();
            let (service, pod, deletion) = (None, None, None);
            self.examinations.push(Examined { case, examination, step, begun, asked: begun, service, pod, deletion });
            has_begun = true;
        }
        has_begun
    }

    pub(crate) fn examinations(&self) -> usize {
        self.examinations.len()
    }

    /// The API carries out a request, if it is one of those on their way.
    pub(crate) fn serve(&mut self, number: usize, request: Request, world: &mut World) -> Result<(), Violation> {
        let facts = &self.facts;
        let examined = &mut self.examinations[number];
        let service = examined.case.suspect.service.clone();
        match (&examined.step, request) {
            (Step::ReadBoth(_), Request::ForService) if examined.service.is_none() => {
                world.count_request();
                let found = world.server.services.get(&service).cloned();
                world.note(|| format!("  GET Service {service}: {}", found.as_ref().map_or("none", server::uid)));
                examined.service = Some(found);
            }
            (Step::ReadBoth(name), Request::ForPod) | (Step::ReadPod(name), _) if examined.pod.is_none() => {
                world.count_request();
                let pod = service.sibling(name);
                let found = world.server.pods.get(&pod).cloned();
                let read = PodRead {
                    service,
                    at: world.elapsed(),
                    tick: world.tick(),
                    version: world.server.version(),
                    found: Found::of(found.as_ref()),
                    pod,
                };
                world.note(|| format!("  GET pod {}: {:?}", read.pod, read.found));
                examined.pod = Some((found, read));
            }
            (Step::Delete(_), _) if examined.deletion.is_none() => {
                examined.deletion = examined.warrant(facts).map(|warrant| world.execute(&warrant)).transpose()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The answers to the requests of one step arrive.
    pub(crate) fn answer(&mut self, number: usize, world: &mut World) -> Result<(), Violation> {
        self.serve(number, Request::ForService, world)?;
        self.serve(number, Request::ForPod, world)?;
        let examined = &mut self.examinations[number];
        let read = examined.pod.take().map(|(pod, read)| {
            self.facts.get_mut().reads.push(read);
            Read::of(pod.as_ref(), world.time_of_day())
        });
        let now = world.now();
        let examination = &mut examined.examination;
        examined.step = match (&examined.step, examined.service.take(), read, examined.deletion.take()) {
            (Step::ReadBoth(_), Some(service), Some(read), _) => examination.read_both(service, &read, now),
            (Step::ReadPod(name), _, Some(read), _) => examination.read_pod(name, &read, now),
            (Step::Delete(_), _, _, Some(deletion)) => examination.deleted(deletion, now),
            (step, ..) => return Err(Violation(format!("a step without an answer: {step:?}"))),
        };
        examined.asked = world.tick();
        world.note(|| format!("  then {:?}", examined.step));
        if let Step::Done(finding) = &examined.step {
            let finding = finding.clone();
            let Examined { case, .. } = self.examinations.swap_remove(number);
            let next = self.settle(finding);
            self.suspects.settle(&case.suspect.service, next, now);
        }
        Ok(())
    }

    fn settle(&mut self, finding: Finding) -> Next {
        match finding {
            Finding::Wait { at, memory, .. } => return Next::Again { at, memory },
            Finding::Kept { uid, resource_version, why: Kept::Unclear(_) } => {
                self.told.is_first(Uid::of(&uid), &resource_version);
            }
            Finding::Kept { .. } | Finding::Gone | Finding::Deleted(_) => {}
        }
        Next::Settled
    }

    /// The answer to a request is lost. A delete that was not carried out may still be.
    pub(crate) fn fail(&mut self, number: usize, world: &mut World) -> Option<Warrant> {
        let examined = self.examinations.swap_remove(number);
        world.note(|| format!("  no answer on {}", examined.case.suspect.service));
        let next = Next::Again { at: world.now(), memory: examined.case.memory };
        self.suspects.settle(&examined.case.suspect.service, next, world.now());
        examined.warrant(&self.facts).filter(|_| examined.deletion.is_none())
    }

    /// The process is no more. Its deletes that are on their way may still be carried out.
    pub(crate) fn kill(self) -> impl Iterator<Item = Warrant> {
        let facts = self.facts;
        let pending = self.examinations.into_iter().filter(|examined| examined.deletion.is_none());
        pending.filter_map(move |examined| examined.warrant(&facts))
    }

    /// The next request of a scan; false where it ends with it, or cannot begin.
    pub(crate) fn scan(&mut self, world: &mut World) -> bool {
        if !self.index.is_complete() {
            return false;
        }
        self.scan = match std::mem::take(&mut self.scan) {
            Scan::Idle | Scan::Due => {
                let mut candidates = Candidates::default();
                for (_, service) in world.server.services.all().filter(|(_, service)| is_labelled(service)) {
                    self.facts.get_mut().show(service);
                    candidates.service(metadata(service).into());
                }
                Scan::Services(candidates)
            }
            Scan::Services(mut candidates) => {
                list_pods(&mut candidates, world, is_watched);
                Scan::WatchedPods(candidates)
            }
            Scan::WatchedPods(mut candidates) => {
                let selects =
                    |pod: &Pod| is_unfinished(pod) && !has_product(pod) && label(pod, POD_NAME_LABEL).is_some();
                list_pods(&mut candidates, world, selects);
                self.scanned(candidates, world);
                Scan::Idle
            }
        };
        world.count_request();
        !matches!(self.scan, Scan::Idle)
    }

    fn scanned(&mut self, candidates: Candidates, world: &mut World) {
        let scanned = candidates.scanned();
        world.note(|| format!("  scanned: {:?}", scanned.suspects));
        let unclear = scanned.unclear.iter().map(|(_, uid, _)| *uid);
        self.told.keep(&scanned.suspects.iter().map(|found| found.uid).chain(unclear).collect());
        for (_, uid, _) in scanned.unclear {
            self.told.is_first(uid, "");
        }
        for found in scanned.suspects {
            self.facts.get_mut().confuse(&found.suspect.service);
            if !self.told.knows(found.uid, &found.resource_version) {
                self.suspects.add(found.suspect, world.now(), world.now());
            }
        }
    }

    /// A request of a scan fails: it will be done anew.
    pub(crate) fn scan_fails(&mut self) {
        if !matches!(self.scan, Scan::Idle) {
            self.scan = Scan::Due;
        }
    }

    /// Does all that it can do now; false where there was nothing.
    pub(crate) fn catch_up(&mut self, world: &mut World) -> Result<bool, Violation> {
        let mut has_done = false;
        loop {
            let mut is_done = true;
            while self.deliver(Resource::Services, world) || self.deliver(Resource::Pods, world) {
                is_done = false;
            }
            while !matches!(self.scan, Scan::Idle) {
                self.scan(world);
                is_done = false;
            }
            self.begin(world);
            while !self.examinations.is_empty() {
                self.answer(0, world)?;
                is_done = false;
            }
            if is_done {
                return Ok(has_done);
            }
            has_done = true;
        }
    }

    /// When it has something to do again.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.suspects.next_due()
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn suspects(&self) -> usize {
        self.suspects.len()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.index.tally()
    }
}

impl Examined {
    fn warrant(&self, facts: &Rc<Facts>) -> Option<Warrant> {
        let Step::Delete(sentence) = &self.step else { return None };
        let (sentence, service) = (sentence.clone(), self.case.suspect.service.clone());
        Some(Warrant { service, sentence, facts: Rc::clone(facts), begun: self.begun, asked: self.asked })
    }
}

fn list_pods(candidates: &mut Candidates, world: &World, selects: impl Fn(&Pod) -> bool) {
    for (_, pod) in world.server.pods.all().filter(|(_, pod)| selects(pod)) {
        candidates.pod(&metadata(pod).into());
    }
}
