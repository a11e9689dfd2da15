//! Lets a sequence of operations happen, and then everything come to rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use common::key::Key;
use k8s_openapi::{
    api::core::v1::{Pod, Service},
    jiff::Timestamp,
};
use watcher::orphan::Rules;

use crate::{
    creator::{Creator, Granted, Progress},
    objects::{self, describe},
    op::{CREATORS_LIFE, Nth, Op, Owner, PodName, PodOp, Product, WATCHERS, Watcher},
    oracle::{is_lost_orphan, is_orphan, takes_a_scan, tally},
    process::Process,
    server::{Server, is_unfinished, uid},
    world::{Trace, Violation, Warrant, World},
};

/// How long a finished pod keeps its Service: the default.
const GRACE: Duration = Duration::from_secs(60);

/// So many rounds of waiting for what is due are more than enough to come to rest.
const ROUNDS: usize = 500;

/// A Service whose pod has finished and does not go is looked at so often in the minute after it was found, at growing pauses.
const LOOKS_IN_A_MINUTE: usize = 14;

/// The watchers, the creators, and all around them.
pub(crate) struct Simulation {
    world: World,
    processes: [Option<Process>; WATCHERS],
    creators: Vec<Creator>,
    /// Requests to delete that nobody waits for any more.
    late: Vec<Warrant>,
    /// The Services that a pod's creators made for it, by the pod's UID.
    granted: BTreeMap<String, BTreeSet<String>>,
    /// The Services that were altered or deleted, but by no watcher.
    altered: BTreeSet<String>,
}

impl Simulation {
    pub(crate) fn new(release_delay: Duration, trace: Trace) -> Self {
        Self {
            world: World::new(Rules { grace: GRACE, release_delay }, trace),
            processes: [Some(Process::default()), None],
            creators: Vec::new(),
            late: Vec::new(),
            granted: BTreeMap::new(),
            altered: BTreeSet::new(),
        }
    }

    pub(crate) fn into_world(self) -> World {
        self.world
    }

    pub(crate) fn apply(&mut self, op: &Op) -> Result<(), Violation> {
        self.world.note(|| format!("{op:?}"));
        self.world.tick();
        match *op {
            Op::Seconds(seconds) => self.world.pass(Duration::from_secs(seconds)),
            Op::CreatePod(name, product) => {
                let _ = self.world.server.pods.create(&name.key(), objects::pod(product));
            }
            Op::RecreatePod(name, product) => self.recreate_pod(name, product),
            Op::Deploy(name, owner) => {
                self.recreate_pod(name, Product::Ours);
                self.init(name, owner);
                self.step_creator(Nth(self.creators.len() - 1), CREATORS_LIFE);
            }
            Op::Pod(name, change) => self.change_pod(&name.key(), change),
            Op::Init(name, owner) => self.init(name, owner),
            Op::Creator(nth, steps) => self.step_creator(nth, steps),
            Op::CreatorDies(nth) => {
                if let Some(number) = nth.of(self.creators.len()) {
                    self.creators.remove(number);
                }
            }
            Op::Make(name, shape) => {
                let service = objects::made(shape, &name.key(), &self.world.server);
                let _ = self.world.server.services.create(&name.key(), service);
            }
            Op::Edit(name, edit) => {
                let Server { pods, services } = &mut self.world.server;
                let present = |pod: PodName| pods.get(&pod.key()).map(|pod| uid(pod).to_owned());
                if services.update(&name.key(), |service| objects::edit(service, edit, present)) && edit.alters() {
                    self.note_altered(&name.key());
                }
            }
            Op::DeleteService(name) => {
                self.note_altered(&name.key());
                self.world.server.services.delete(&name.key());
            }
            Op::Collect(name) => self.collect(&name.key()),
            Op::LateDelete(nth) => {
                if let Some(number) = nth.of(self.late.len()) {
                    let warrant = self.late.remove(number);
                    self.world.execute(&warrant)?;
                }
            }
            Op::Restart(watcher) => {
                self.kill(watcher);
                self.processes[watcher.0] = Some(Process::default());
            }
            Op::Kill(watcher) => self.kill(watcher),
            Op::Deliver(watcher, ..)
            | Op::Replay(watcher, ..)
            | Op::Relist(watcher, ..)
            | Op::Begin(watcher)
            | Op::Serve(watcher, ..)
            | Op::Answer(watcher, _)
            | Op::Fail(watcher, _)
            | Op::Scan(watcher)
            | Op::ScanFails(watcher)
            | Op::CatchUp(watcher) => self.apply_to(watcher, op)?,
        }
        Ok(())
    }

    fn apply_to(&mut self, watcher: Watcher, op: &Op) -> Result<(), Violation> {
        let Self { world, processes, late, .. } = self;
        let Some(process) = &mut processes[watcher.0] else { return Ok(()) };
        let nth = |nth: Nth| nth.of(process.examinations());
        match *op {
            Op::Deliver(_, resource, count) => {
                for _ in 0..count {
                    process.deliver(resource, world);
                }
            }
            Op::Replay(_, resource, back) => process.replay(resource, back),
            Op::Relist(_, resource) => process.relist(resource),
            Op::Begin(_) => {
                process.begin(world);
            }
            Op::Serve(_, number, request) => {
                if let Some(number) = nth(number) {
                    process.serve(number, request, world)?;
                }
            }
            Op::Answer(_, number) => {
                if let Some(number) = nth(number) {
                    process.answer(number, world)?;
                }
            }
            Op::Fail(_, number) => {
                if let Some(number) = nth(number) {
                    late.extend(process.fail(number, world));
                }
            }
            Op::Scan(_) => {
                process.scan(world);
            }
            Op::ScanFails(_) => process.scan_fails(),
            _ => {
                process.catch_up(world)?;
            }
        }
        Ok(())
    }

    fn change_pod(&mut self, key: &Key, change: PodOp) {
        let now = self.world.time_of_day();
        let pods = &mut self.world.server.pods;
        match change {
            PodOp::Leave => pods.begin_deletion(key),
            PodOp::Vanish => pods.delete(key),
            PodOp::Finish(ago) => {
                let ended = Timestamp::from_second(now.as_second() - ago).expect("a time near the epoch");
                pods.update(key, |pod| {
                    if is_unfinished(pod) {
                        objects::finish(pod, Some(ended));
                    }
                });
            }
            PodOp::Evict => {
                pods.update(key, |pod| {
                    if is_unfinished(pod) {
                        objects::finish(pod, None);
                    }
                });
            }
            PodOp::Label(label) => {
                pods.update(key, |pod| objects::label_pod(pod, label, true));
            }
            PodOp::Unlabel(label) => {
                pods.update(key, |pod| objects::label_pod(pod, label, false));
            }
        }
    }

    fn recreate_pod(&mut self, name: PodName, product: Product) {
        let pods = &mut self.world.server.pods;
        pods.delete(&name.key());
        let _ = pods.create(&name.key(), objects::pod(product));
    }

    fn init(&mut self, name: PodName, owner: Owner) {
        if let Some(pod) = self.world.server.pods.get(&name.key()).filter(|pod| is_unfinished(pod)) {
            self.creators.push(Creator::new(name, uid(pod), owner));
        }
    }

    /// One of the creators does its next requests.
    fn step_creator(&mut self, nth: Nth, steps: usize) {
        let Some(number) = nth.of(self.creators.len()) else { return };
        for _ in 0..steps {
            match self.creators[number].step(&mut self.world.server) {
                Progress::Goes => continue,
                Progress::Waits => return,
                Progress::Fails => {}
                Progress::Done(Granted { pod_uid, service_uid }) => {
                    self.granted.entry(pod_uid).or_default().insert(service_uid);
                }
            }
            self.creators.remove(number);
            return;
        }
    }

    fn note_altered(&mut self, key: &Key) {
        self.altered.extend(self.world.server.services.get(key).map(|service| uid(service).to_owned()));
    }

    /// The garbage collector deletes what has owners of which none is there.
    fn collect(&mut self, key: &Key) {
        let Server { pods, services } = &mut self.world.server;
        let Some(service) = services.get(key) else { return };
        let owners = service.metadata.owner_references.as_deref().unwrap_or_default();
        let is_there = |name: &str, uid: &str| {
            let pod = pods.get(&key.sibling(&name.into()));
            pod.is_some_and(|pod| pod.metadata.uid.as_deref() == Some(uid))
        };
        let is_owned = owners.iter().any(|owner| owner.kind != "Pod" || is_there(&owner.name, &owner.uid));
        if !owners.is_empty() && !is_owned {
            self.note_altered(key);
            self.world.server.services.delete(key);
        }
    }

    fn kill(&mut self, watcher: Watcher) {
        if let Some(process) = self.processes[watcher.0].take() {
            self.late.extend(process.kill());
        }
    }

    /// Nothing happens any more but what is under way; and then everything must be as it should.
    pub(crate) fn come_to_rest(&mut self, ops: usize) -> Result<(), Violation> {
        self.world.note(|| "chaos ends".to_owned());
        for number in (0..self.creators.len()).rev() {
            self.step_creator(Nth(number), CREATORS_LIFE);
        }
        self.creators.clear();
        for warrant in std::mem::take(&mut self.late) {
            self.world.execute(&warrant)?;
        }
        if self.processes.iter().all(Option::is_none) {
            self.processes[0] = Some(Process::default());
        }
        self.settle()?;
        self.check_orphans(|server, key, service| !takes_a_scan(server, key, service), "without a scan")?;

        self.check_lost()?;

        self.scan()?;
        self.check_orphans(|_, _, _| true, "after a scan")?;
        self.check_live_pods()?;
        self.check_tally()?;

        let (requests, deletions) = (self.world.requests(), self.world.deletions());
        self.scan()?;
        let services = self.world.server.services.all().count();
        // Looks at Services whose pods have finished and do not go: for a minute after each scan that finds them.
        let goes = |pod: &Pod| !is_unfinished(pod) && pod.metadata.deletion_timestamp.is_some();
        let waits = self.world.server.pods.all().any(|(_, pod)| goes(pod));
        let waiting = if waits { self.processes.len() * services * 3 * LOOKS_IN_A_MINUTE } else { 0 };
        if self.world.deletions() > deletions {
            return Err(Violation("a scan at rest has deleted something".to_owned()));
        }
        if self.world.requests() > requests + self.processes.len() * (3 + 3 * services) + waiting {
            return Err(Violation("a scan at rest asks for too much".to_owned()));
        }
        if self.world.requests() > 100 + 20 * ops + (4 + ops) * waiting {
            return Err(Violation(format!("{} requests, for {ops} operations", self.world.requests())));
        }
        Ok(())
    }

    /// Lets all watchers do all that they have to, whenever it is due.
    fn settle(&mut self) -> Result<(), Violation> {
        for _ in 0..ROUNDS {
            let mut has_done = false;
            for process in self.processes.iter_mut().flatten() {
                has_done |= process.catch_up(&mut self.world)?;
            }
            let due = self.processes.iter().flatten().filter_map(Process::next_due).min();
            match due {
                Some(due) => self.world.pass_until(due),
                None if !has_done => return Ok(()),
                None => {}
            }
        }
        Err(Violation("it does not come to rest".to_owned()))
    }

    fn scan(&mut self) -> Result<(), Violation> {
        for process in self.processes.iter_mut().flatten() {
            while process.scan(&mut self.world) {}
        }
        self.settle()
    }

    fn check_orphans(&self, concerns: impl Fn(&Server, &Key, &Service) -> bool, when: &str) -> Result<(), Violation> {
        let server = &self.world.server;
        for (key, service) in server.services.all() {
            if let Some(why) = is_orphan(server, key, service)
                && concerns(server, key, service)
            {
                return Err(Violation(format!("Service {key} is left {when}, though {why}\n{}", describe(service))));
            }
        }
        Ok(())
    }

    fn check_lost(&self) -> Result<(), Violation> {
        let server = &self.world.server;
        for process in self.processes.iter().flatten() {
            for (key, service) in server.services.all() {
                if let Some(why) = is_lost_orphan(server, key, service, &process.facts().get()) {
                    let service = describe(service);
                    return Err(Violation(format!("Service {key} is left without its label, though {why}\n{service}")));
                }
            }
        }
        Ok(())
    }

    /// Each live pod that ran the creator has one Service, unless somebody else has altered or deleted it.
    fn check_live_pods(&self) -> Result<(), Violation> {
        let is_there = |service_uid: &&String| {
            let mut services = self.world.server.services.all();
            services.any(|(_, service)| uid(service) == service_uid.as_str())
        };
        for (key, pod) in self.world.server.pods.all().filter(|(_, pod)| is_unfinished(pod)) {
            let Some(granted) = self.granted.get(uid(pod)) else { continue };
            let there = granted.iter().filter(is_there).count();
            if there != 1 && !granted.iter().any(|service| self.altered.contains(service)) {
                return Err(Violation(format!("pod {key} has {there} of its Services {granted:?}")));
            }
        }
        Ok(())
    }

    fn check_tally(&self) -> Result<(), Violation> {
        let right = tally(&self.world.server);
        for process in self.processes.iter().flatten() {
            if process.tally() != right || process.suspects() > 0 {
                let (tally, suspects) = (process.tally(), process.suspects());
                return Err(Violation(format!("it counts {tally:?} and {suspects} suspects instead of {right:?}")));
            }
        }
        Ok(())
    }
}
