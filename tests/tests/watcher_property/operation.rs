//! What can happen, and which sequence of it a seed means. Pure: the same seed always means the same.

use std::time::Duration;

use cluster_tests::random::Random;

/// The names that pods are created under, again and again.
pub(crate) const NAMES: [&str; 4] = ["app-0", "app-1", "app-2", "app-3"];

/// How many watchers there can be at a time.
pub(crate) const WATCHERS: usize = 2;

const OPERATIONS: usize = 60;

/// How a pod gets its Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// The real creator runs for it.
    Program(Owner),
    /// The Service is made at once, as the creator makes it.
    Hand(Owner),
    /// As the original tool makes it; one that is there under the pod's name is taken for the pod's own.
    OriginalTool,
    /// It gets none.
    Nobody,
}

/// Whether the Service is owned by the pod, so that the garbage collector removes it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Pod,
    None,
}

/// How a pod finishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Succeeded,
    Failed,
    /// Before any of its containers ran.
    Evicted,
}

/// Labels of a pod. One that has neither is in no list of the scan, and each look at it is one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Product,
    PodName,
    Both,
}

/// What a hand does to a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    RemoveLabel,
    RestoreLabel,
    RemoveAnnotations,
    AddFinalizer,
    RemoveFinalizer,
    ChangePorts,
    Annotate,
    Delete,
}

/// What lies between a watcher and the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    Fair,
    /// Each request takes up to so many milliseconds longer.
    Slow(u64),
    /// Deletions take long: between a look and what it leads to everything may have changed.
    SlowDeletions(u64),
    /// A Service is read so many milliseconds after its pod: both may be others by then.
    LateServices(u64),
    /// So many percent of the requests fail, each in another way.
    Stormy(u64),
    /// Events come twice, and late.
    Echo,
    /// Connections are cut once.
    Cut,
    /// Nobody gets through.
    Away,
    /// Connections stand still. What waited on them comes late, when they go on.
    Frozen,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create(&'static str, Maker),
    /// It is gone at once.
    Delete(&'static str),
    /// Gone, and the next one of its name is there.
    Replace(&'static str, Maker),
    /// It is asked to end, and lives on.
    AskToEnd(&'static str),
    Finish(&'static str, End),
    Unlabel(&'static str, Label),
    Relabel(&'static str, Label),
    Edit(&'static str, Edit),
    StartWatcher(usize),
    KillWatcher(usize),
    /// SIGTERM.
    EndWatcher(usize),
    Weather(usize, Weather),
    Pause(Duration),
}

/// What the generator has to know of a pod, to choose something that can happen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pod {
    Absent,
    Alive,
    Finished,
}

/// Whether Services of the original tool's kind occur: whether they are right shows only after half a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variety {
    OursOnly,
    WithOriginalTools,
}

/// The sequence that a seed means.
pub(crate) fn sequence(random: &mut Random) -> (Variety, Vec<Operation>) {
    let variety = if random.percent(25) { Variety::WithOriginalTools } else { Variety::OursOnly };
    let mut pods = [Pod::Absent; NAMES.len()];
    let mut running = [false; WATCHERS];
    let mut operations = Vec::new();
    if random.percent(80) {
        running[0] = true;
        operations.push(Operation::StartWatcher(0));
    }
    while operations.len() < OPERATIONS {
        operations.push(next(random, variety, &mut pods, &mut running));
        // Mostly before a watcher can have done all it will, sometimes after.
        match random.below(100) {
            0..40 => operations.push(Operation::Pause(Duration::from_millis(10 + random.below(400)))),
            40..43 => operations.push(Operation::Pause(Duration::from_millis(2_000 + random.below(3_000)))),
            _ => {}
        }
    }
    (variety, operations)
}

fn next(
    random: &mut Random,
    variety: Variety,
    pods: &mut [Pod; NAMES.len()],
    running: &mut [bool; WATCHERS],
) -> Operation {
    let number = usize::try_from(random.below(NAMES.len() as u64)).unwrap_or_default();
    let (name, pod) = (NAMES[number], &mut pods[number]);
    match (random.below(100), *pod) {
        (0..55, Pod::Absent) => {
            *pod = Pod::Alive;
            Operation::Create(name, maker(random, variety))
        }
        (0..24, _) => {
            *pod = Pod::Absent;
            Operation::Delete(name)
        }
        (24..35, _) => {
            *pod = Pod::Alive;
            Operation::Replace(name, maker(random, variety))
        }
        (35..42, Pod::Alive) => {
            *pod = Pod::Finished;
            Operation::Finish(name, *random.one_of(&[End::Succeeded, End::Failed, End::Evicted]))
        }
        (42..46, Pod::Alive) => Operation::AskToEnd(name),
        (46..51, _) => {
            Operation::Unlabel(name, *random.one_of(&[Label::Product, Label::PodName, Label::Both, Label::Both]))
        }
        (51..55, _) => {
            Operation::Relabel(name, *random.one_of(&[Label::Product, Label::PodName, Label::Both, Label::Both]))
        }
        (35..46, Pod::Finished) | (55..70, _) => Operation::Edit(
            name,
            *random.one_of(&[
                Edit::RemoveLabel,
                Edit::RestoreLabel,
                Edit::RestoreLabel,
                Edit::RemoveAnnotations,
                Edit::AddFinalizer,
                Edit::RemoveFinalizer,
                Edit::RemoveFinalizer,
                Edit::ChangePorts,
                Edit::Annotate,
                Edit::Annotate,
                Edit::Delete,
            ]),
        ),
        (70..80, _) => {
            let slot = usize::from(random.percent(40));
            running[slot] = !running[slot];
            match (running[slot], random.percent(70)) {
                (true, _) => Operation::StartWatcher(slot),
                (false, true) => Operation::KillWatcher(slot),
                (false, false) => Operation::EndWatcher(slot),
            }
        }
        _ => {
            let slot = usize::from(random.percent(30));
            let (slow, slower, percent) = (50 + random.below(350), 200 + random.below(1300), 10 + random.below(50));
            let weather = *random.one_of(&[
                Weather::Fair,
                Weather::Fair,
                Weather::Slow(slow),
                Weather::SlowDeletions(slower),
                Weather::SlowDeletions(slower),
                Weather::LateServices(slower),
                Weather::LateServices(slower / 2),
                Weather::Stormy(percent),
                Weather::Echo,
                Weather::Cut,
                Weather::Away,
                Weather::Frozen,
            ]);
            Operation::Weather(slot, weather)
        }
    }
}

fn maker(random: &mut Random, variety: Variety) -> Maker {
    let owner = if random.percent(25) { Owner::Pod } else { Owner::None };
    match (random.below(100), variety) {
        (0..10, _) => Maker::Nobody,
        (10..45, Variety::WithOriginalTools) => Maker::OriginalTool,
        (45..75, _) => Maker::Program(owner),
        _ => Maker::Hand(owner),
    }
}

#[test]
fn a_seed_always_means_the_same_and_another_something_else() {
    let of = |seed| sequence(&mut Random::new(seed));
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}
