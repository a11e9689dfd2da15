//! One sequence: it happens, becomes quiet, and is judged.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    time::{Duration, Instant},
};

use cluster_tests::{
    harness::{ControlPlane, Event, Namespace, Service, eventually},
    random::Random,
};
use common::labels::{CREATOR_LABEL, POD_NAME_ANNOTATION, POD_UID_ANNOTATION};

use crate::{
    judge::Deletion,
    operation::{self, Operation, Owner, WATCHERS, Weather},
    pods::{Life, Living},
    services::Hands,
    settled::{self, DEADLINE},
    watchers::Place,
};

/// What has happened, all in all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) operations: usize,
    pub(crate) deletions: usize,
}

/// What has happened so far; shown when the test fails, however it does, and of a sequence that was asked for.
struct Trace {
    seed: u64,
    begun: Instant,
    lines: Vec<String>,
}

impl Trace {
    fn add(&mut self, what: &str) {
        self.lines.push(format!("{:7.3} s  {what}", self.begun.elapsed().as_secs_f64()));
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() || env::var_os(crate::SEED).is_some() {
            eprintln!("the sequence of {}={}:\n{}", crate::SEED, self.seed, self.lines.join("\n"));
        }
    }
}

/// Runs the sequence of a seed.
///
/// # Panics
/// When something was wrong.
pub(crate) async fn run(control_plane: &ControlPlane, seed: u64) -> Summary {
    let mut random = Random::new(seed);
    let (variety, operations) = operation::sequence(&mut random);
    let grace = Duration::from_secs(1 + random.below(2));
    let namespace = control_plane.namespace().await;
    let mut trace = Trace { seed, begun: Instant::now(), lines: Vec::new() };
    trace.add(&format!("namespace {}, {variety:?}, grace {grace:?}", namespace.name()));
    let mut world = World::new(&namespace, grace, &mut random).await;
    for operation in &operations {
        let came_of_it = world.carry_out(*operation).await;
        trace.add(&format!("{operation:?}: {came_of_it}"));
    }
    trace.add("it becomes quiet");
    world.become_quiet().await;

    let seen = world.wait_until_settled().await;
    for place in &world.places {
        trace.add(&format!("log of a watcher:\n{}", place.logs()));
    }
    let deletions = world.judge(&mut trace).await;
    if let Err(what) = seen {
        panic!("what has to go is still there after {DEADLINE:?}: {what}");
    }
    world.end().await;
    Summary { operations: operations.len(), deletions }
}

struct World<'a> {
    namespace: &'a Namespace<'a>,
    grace: Duration,
    hands: Hands<'a>,
    living: BTreeMap<&'static str, Living<'a>>,
    dead: Vec<Life>,
    places: Vec<Place<'a>>,
    foreign: Vec<Service<'a>>,
}

impl<'a> World<'a> {
    async fn new(namespace: &'a Namespace<'a>, grace: Duration, random: &mut Random) -> Self {
        let args =
            ["--scan-interval".to_owned(), "2s".to_owned(), "--grace".to_owned(), format!("{}s", grace.as_secs())];
        let place = |_| Place::new(namespace, args.to_vec(), random.split());
        let places = (0..WATCHERS).map(place).collect();
        let foreign = foreign(namespace).await;
        let (living, dead) = (BTreeMap::new(), Vec::new());
        Self { namespace, grace, hands: Hands::new(namespace), living, dead, places, foreign }
    }

    async fn carry_out(&mut self, operation: Operation) -> String {
        match operation {
            Operation::Create(name, maker) => {
                let mut living = Living::create(self.namespace, name).await;
                let made = self.hands.make(&mut living, maker).await;
                let uid = living.life.uid.clone();
                self.living.insert(name, living);
                return format!("pod {uid}, {made}");
            }
            Operation::Replace(name, maker) => {
                self.delete(name).await;
                let created = Box::pin(self.carry_out(Operation::Create(name, maker))).await;
                return created;
            }
            Operation::Delete(name) => return self.delete(name).await,
            Operation::AskToEnd(name) => {
                if let Some(living) = self.living.get(name) {
                    living.ask_to_end().await;
                }
            }
            Operation::Finish(name, end) => {
                if let Some(living) = self.living.get_mut(name) {
                    living.finish(end).await;
                }
            }
            Operation::Unlabel(name, label) => {
                if let Some(living) = self.living.get(name) {
                    living.set_label(label, false).await;
                }
            }
            Operation::Relabel(name, label) => {
                if let Some(living) = self.living.get(name) {
                    living.set_label(label, true).await;
                }
            }
            Operation::Edit(name, edit) => return self.hands.edit(name, edit, self.living.get_mut(name)).await,
            Operation::StartWatcher(number) => self.places[number].start().await,
            Operation::KillWatcher(number) => self.places[number].kill().await,
            Operation::EndWatcher(number) => self.places[number].end().await,
            Operation::Weather(number, weather) => self.places[number].weather(weather),
            Operation::Pause(time) => tokio::time::sleep(time).await,
        }
        String::new()
    }

    async fn delete(&mut self, name: &str) -> String {
        let Some(living) = self.living.remove(name) else { return "there is none".to_owned() };
        let life = living.delete().await;
        let what = format!("pod {} gone at revision {:?}", life.uid, life.gone);
        self.dead.push(life);
        what
    }

    /// All chaos ends, and a watcher runs.
    async fn become_quiet(&mut self) {
        self.hands.let_go().await;
        for place in &mut self.places {
            place.weather(Weather::Fair);
        }
        if !self.places.iter().any(Place::is_running) {
            self.places[0].start().await;
        }
    }

    /// Waits until nothing is there any more that has to go; says what is, if that takes too long.
    async fn wait_until_settled(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let left = settled::nothing_left(&self.hands.all().await, &self.living());
            if left.is_ok() || begun.elapsed() > DEADLINE {
                return left;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Judges all that has become of Services. Returns how many the watchers have deleted.
    async fn judge(&self, trace: &mut Trace) -> usize {
        let services = self.hands.all().await;
        let there: BTreeSet<_> = services.iter().filter_map(|service| service.metadata.uid.as_deref()).collect();
        let gone: Vec<_> = self.hands.made.iter().filter(|made| !there.contains(made.uid.as_str())).collect();
        // An answer may be here a moment before it is in the log.
        let deletions = eventually(DEADLINE, "the log says who deleted what is gone", async || {
            let deletions = self.deletions().await;
            let is_told = |uid: &str| deletions.iter().any(|event| event.answer["metadata"]["uid"] == uid);
            match gone.iter().find(|made| made.owner == Owner::None && !is_told(&made.uid)) {
                None => Ok(deletions.clone()),
                Some(made) => Err(format!("nobody has deleted {made:?}, and it is gone")),
            }
        })
        .await;
        let user = self.namespace.user();
        // Creators have a token that is bound to their pod.
        let of_watchers: Vec<_> = deletions.iter().filter(|event| event.user == user && event.pod.is_empty()).collect();
        let lives: Vec<_> = self.dead.iter().chain(self.living()).cloned().collect();
        for life in &lives {
            trace.add(&format!("{life:?}"));
        }
        let deletions: Vec<_> = of_watchers.iter().map(|event| Deletion::of(event)).collect();
        for deletion in &deletions {
            let name = deletion.service.metadata.name.as_deref().unwrap_or_default();
            trace.add(&format!(
                "deleted by a watcher: {name} {} at {}, revision {}",
                deletion.uid(),
                deletion.at,
                deletion.revision
            ));
        }
        for deletion in &deletions {
            if let Err(what) = deletion.judge(&lives, self.grace) {
                panic!("a wrong deletion of {:?} at {}: {what}", deletion.service.metadata, deletion.at);
            }
        }
        for foreign in &self.foreign {
            foreign.assert_untouched().await;
        }
        if let Err(what) = settled::one_each(&services, &self.living()) {
            panic!("{what}");
        }
        deletions.len()
    }

    async fn deletions(&self) -> Vec<Event> {
        let here = self.namespace.name();
        let is_deletion = |event: &Event| event.verb == "delete" && event.resource == "services" && event.code == 200;
        self.namespace.control_plane().audit(|event| event.namespace == here && is_deletion(event)).await
    }

    fn living(&self) -> Vec<&Life> {
        self.living.values().map(|living| &living.life).collect()
    }

    /// Ends the watchers, and fails where one had not lived until then.
    async fn end(mut self) {
        for place in &mut self.places {
            let logs = place.logs();
            assert!(!logs.contains("panicked"), "{logs}");
            place.end().await;
        }
    }
}

/// Services that are nobody's, and look as if they might be somebody's.
async fn foreign<'a>(namespace: &'a Namespace<'a>) -> Vec<Service<'a>> {
    let other_value = namespace.original_tools_service("foreign-value").label(CREATOR_LABEL, "helm");
    let gone = "0b1e9a3e-2f7d-4f0a-9f57-6a9e4c0d8f11";
    let copy = namespace.foreign_service("foreign-copy").spec(serde_json::json!({"selector": {"ipfPodName": "app-0"}}));
    let half = namespace.original_tools_service("foreign-half").annotation(POD_UID_ANNOTATION, gone);
    let selects_another = namespace.original_tools_service("app-0").name("foreign-selector");
    vec![
        namespace.foreign_service("foreign").create().await,
        other_value.create().await,
        copy.annotation(POD_NAME_ANNOTATION, "app-0").annotation(POD_UID_ANNOTATION, gone).create().await,
        half.create().await,
        selects_another.create().await,
    ]
}
