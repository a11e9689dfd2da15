//! What can happen: one operation moves one thing by one step.

use std::{fmt, time::Duration};

use common::key::Key;
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any},
    prop_oneof,
};
use watcher::watched::Watched;

/// The pods' names and those of the Services that their templates give them. The second pod's template has a mistake: it
/// names the Service after the first pod. The third has the first one's name in another namespace, and the last a name that
/// no Service can have.
const PODS: [(&str, &str, &str); 4] =
    [("a", "app-0", "app-0"), ("a", "app-1", "app-0"), ("b", "app-0", "app-0"), ("a", "9", "s-9")];

/// The Services' names.
const SERVICES: [(&str, &str); 5] = [("a", "app-0"), ("a", "app-1"), ("b", "app-0"), ("a", "s-9"), ("a", "9")];

/// So many requests a creator does at most while nothing else happens.
pub(crate) const CREATORS_LIFE: usize = 8;

/// So many watchers there can be.
pub(crate) const WATCHERS: usize = 2;

/// A pod's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PodName(usize);

/// A Service's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServiceName(usize);

/// One of the watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watcher(pub(crate) usize);

/// One of those that are there at the time: its number, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nth(pub(crate) usize);

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Time passes.
    Seconds(u64),
    CreatePod(PodName, Product),
    /// Gone, and created anew under the same name.
    RecreatePod(PodName, Product),
    /// The same, and the creator in the new one is done before anything else happens.
    Deploy(PodName, Owner),
    Pod(PodName, PodOp),
    /// The creator begins in the pod.
    Init(PodName, Owner),
    /// One of the creators that run does its next requests, so many.
    Creator(Nth, usize),
    CreatorDies(Nth),
    /// A Service that no creator of ours made.
    Make(ServiceName, Shape),
    Edit(ServiceName, Edit),
    /// A hand deletes it.
    DeleteService(ServiceName),
    /// Kubernetes' garbage collector finds it without owners.
    Collect(ServiceName),
    /// A request to delete whose sender has given it up, or was killed, arrives after all.
    LateDelete(Nth),
    Restart(Watcher),
    Kill(Watcher),
    /// The watch reports so much of what it has not yet.
    Deliver(Watcher, Resource, usize),
    /// The watch begins anew so many events earlier.
    Replay(Watcher, Resource, usize),
    /// The watch cannot go on, and it is listed anew.
    Relist(Watcher, Resource),
    /// What is due is begun to be looked at.
    Begin(Watcher),
    /// The API carries out a request of an examination.
    Serve(Watcher, Nth, Request),
    /// The answer arrives; what was not carried out is before.
    Answer(Watcher, Nth),
    /// No answer arrives.
    Fail(Watcher, Nth),
    /// A scan begins, or does its next request.
    Scan(Watcher),
    ScanFails(Watcher),
    /// The watcher is fast: it catches up with everything.
    CatchUp(Watcher),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Ours,
    Unlabelled,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PodOp {
    /// It gets a deletion timestamp and goes on.
    Leave,
    /// It is gone.
    Vanish,
    /// It has finished, and a container of it ended so many seconds ago; less than nothing where its node's clock is ahead.
    Finish(i64),
    /// It has finished, and no container of it ever ran.
    Evict,
    Label(PodLabel),
    Unlabel(PodLabel),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PodLabel {
    Product,
    PodName,
}

/// The creator's `owner-reference`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Pod,
    None,
}

/// Services that no creator of ours made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    OriginalTool,
    /// Not marked at all.
    Plain,
    /// Not marked, with the selector of the documented template.
    PlainSelecting,
    /// The creator label alone.
    OnlyLabelled,
    /// Another value of the creator label.
    OthersLabel,
    /// As the original tool's, but it selects another pod name.
    SelectingAnother,
    /// As the original tool's, but of another type.
    ClusterIp,
    /// As the original tool's, but a StatefulSet owns it.
    OwnedBySet,
    /// Both annotations, nothing else.
    Copy,
    /// Label and one annotation.
    HalfAnnotated,
    /// Its annotations name one pod and its owner reference another.
    Contradiction,
    /// The pods of two names own it.
    TwoOwners,
}

/// Edits by hand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edit {
    Unlabel,
    Label,
    Unannotate,
    DropPodNameNote,
    DropPodUidNote,
    /// The annotations name the present pod of that name.
    Annotate(PodName),
    /// The annotation names a pod UID that never was.
    AlterPodUidNote,
    /// The annotation names another pod.
    AlterPodNameNote,
    Unown,
    /// The present pod of that name owns it.
    Own(PodName),
    Hold,
    Release,
    /// Between NodePort and ClusterIP.
    ChangeType,
    ChangeSelector,
    /// Something that means nothing.
    Touch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Pods,
    Services,
}

/// Which of the two requests that are on their way at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    ForPod,
    ForService,
}

impl PodName {
    pub(crate) fn key(self) -> Key {
        key(PODS[self.0].0, PODS[self.0].1)
    }

    /// The Service that the creator makes for it.
    pub(crate) fn service(self) -> Key {
        key(PODS[self.0].0, PODS[self.0].2)
    }
}

impl ServiceName {
    pub(crate) fn key(self) -> Key {
        key(SERVICES[self.0].0, SERVICES[self.0].1)
    }
}

impl fmt::Debug for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}", self.key())
    }
}

impl fmt::Debug for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service {}", self.key())
    }
}

impl Nth {
    pub(crate) fn of(self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.0 % count)
    }
}

impl From<Resource> for Watched {
    fn from(resource: Resource) -> Self {
        match resource {
            Resource::Pods => Self::Pods,
            Resource::Services => Self::Services,
        }
    }
}

fn key(namespace: &str, name: &str) -> Key {
    Key { namespace: namespace.into(), name: name.into() }
}

/// A sequence of operations, and the watchers' `release-delay`. Shrinking leaves operations out; it changes none.
pub(crate) fn sequence() -> impl Strategy<Value = (Duration, Vec<Op>)> {
    let release_delay = prop_oneof![3 => Just(0), 1 => Just(45)].prop_map(Duration::from_secs);
    // Of each operation proptest only draws a number: to draw from strategies of strategies takes longer than all else.
    let number = || any::<u64>().no_shrink();
    (release_delay, number(), vec(number(), 1..200)).prop_map(|(release_delay, taste, numbers)| {
        let taste = Taste::from(Choices(taste));
        (release_delay, numbers.into_iter().map(|number| taste.op(Choices(number))).collect())
    })
}

/// What is frequent in a sequence. Each has its own taste: where everything happens to everything, rarely much happens to
/// one thing.
struct Taste {
    pods: usize,
    services: usize,
    watchers: usize,
    /// Of pods, Services, watches, examinations and time.
    weights: [usize; 5],
    troubles: usize,
    catching_up: usize,
}

/// What is left of a random number that choices are made of.
struct Choices(u64);

impl Choices {
    /// One of so many.
    fn one(&mut self, count: usize) -> usize {
        let count = count as u64;
        let chosen = self.0 % count;
        self.0 /= count;
        usize::try_from(chosen).expect("a small number")
    }

    /// One of these, each as likely as the others.
    fn any<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.one(options.len())]
    }

    /// One of these, by their weights.
    fn weighed<T: Copy>(&mut self, options: &[(usize, T)]) -> T {
        let mut left = self.one(options.iter().map(|(weight, _)| weight).sum());
        let chosen = options.iter().find(|(weight, _)| match left.checked_sub(*weight) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        chosen.expect("the choice is among the weights").1
    }

    fn nth(&mut self) -> Nth {
        Nth(self.one(4))
    }
}

impl From<Choices> for Taste {
    fn from(mut choices: Choices) -> Self {
        Self {
            pods: choices.any(&[1, 2, PODS.len()]),
            services: choices.any(&[1, 2, SERVICES.len()]),
            watchers: choices.any(&[1, 1, WATCHERS]),
            weights: [
                choices.any(&[2, 6, 12]),
                choices.any(&[0, 1, 6]),
                choices.any(&[1, 4, 8]),
                choices.any(&[4, 12, 24]),
                choices.any(&[0, 1, 3]),
            ],
            troubles: choices.any(&[0, 1, 3]),
            catching_up: choices.any(&[0, 1, 4]),
        }
    }
}

impl Taste {
    fn op(&self, mut choices: Choices) -> Op {
        let kinds = [Self::of_pods, Self::of_services, Self::of_watches, Self::of_examinations, Self::of_time];
        let weighed: Vec<_> = self.weights.into_iter().zip(kinds).collect();
        choices.weighed(&weighed)(self, &mut choices)
    }

    fn of_time(&self, choices: &mut Choices) -> Op {
        Op::Seconds(choices.any(&[1, 10, 31, 61]))
    }

    fn of_pods(&self, choices: &mut Choices) -> Op {
        let changes = [
            (1, PodOp::Leave),
            (6, PodOp::Vanish),
            (1, PodOp::Finish(0)),
            (1, PodOp::Finish(50)),
            (1, PodOp::Finish(90)),
            (1, PodOp::Finish(-20)),
            (2, PodOp::Evict),
            (1, PodOp::Label(PodLabel::Product)),
            (1, PodOp::Label(PodLabel::PodName)),
            (1, PodOp::Unlabel(PodLabel::Product)),
            (1, PodOp::Unlabel(PodLabel::PodName)),
        ];
        let products = [(5, Product::Ours), (1, Product::Unlabelled)];
        match choices.one(29) {
            0..4 => Op::CreatePod(self.pod(choices), choices.weighed(&products)),
            4..7 => Op::RecreatePod(self.pod(choices), choices.weighed(&products)),
            7..11 => Op::Deploy(self.pod(choices), choices.any(&[Owner::None, Owner::Pod])),
            11..16 => Op::Pod(self.pod(choices), choices.weighed(&changes)),
            16..21 => Op::Init(self.pod(choices), choices.weighed(&[(2, Owner::None), (1, Owner::Pod)])),
            21..28 => Op::Creator(choices.nth(), choices.any(&[1, 2, CREATORS_LIFE])),
            _ => Op::CreatorDies(choices.nth()),
        }
    }

    fn of_services(&self, choices: &mut Choices) -> Op {
        let shapes = [
            (8, Shape::OriginalTool),
            (1, Shape::Plain),
            (1, Shape::PlainSelecting),
            (1, Shape::OnlyLabelled),
            (1, Shape::OthersLabel),
            (1, Shape::SelectingAnother),
            (1, Shape::ClusterIp),
            (1, Shape::OwnedBySet),
            (1, Shape::Copy),
            (1, Shape::HalfAnnotated),
            (1, Shape::Contradiction),
            (1, Shape::TwoOwners),
        ];
        let edits = [
            (3, Edit::Unlabel),
            (1, Edit::Label),
            (1, Edit::Unannotate),
            (1, Edit::DropPodNameNote),
            (1, Edit::DropPodUidNote),
            (1, Edit::Annotate(self.pod(choices))),
            (1, Edit::AlterPodUidNote),
            (1, Edit::AlterPodNameNote),
            (1, Edit::Unown),
            (1, Edit::Own(self.pod(choices))),
            (1, Edit::Hold),
            (1, Edit::Release),
            (1, Edit::ChangeType),
            (1, Edit::ChangeSelector),
            (2, Edit::Touch),
        ];
        match choices.one(11) {
            0..3 => Op::Make(self.service(choices), choices.weighed(&shapes)),
            3..8 => Op::Edit(self.service(choices), choices.weighed(&edits)),
            8 => Op::DeleteService(self.service(choices)),
            9 => Op::Collect(self.service(choices)),
            _ => Op::LateDelete(choices.nth()),
        }
    }

    fn of_watches(&self, choices: &mut Choices) -> Op {
        let watcher = self.watcher(choices);
        let resource = choices.weighed(&[(1, Resource::Pods), (1, Resource::Services)]);
        match choices.one(20 + 5 * self.troubles) {
            0..20 => Op::Deliver(watcher, resource, 1 + choices.one(6)),
            number => match number % 5 {
                0 => Op::Replay(watcher, resource, 1 + choices.one(5)),
                1 | 2 => Op::Relist(watcher, resource),
                3 => Op::Restart(watcher),
                _ => Op::Kill(watcher),
            },
        }
    }

    fn of_examinations(&self, choices: &mut Choices) -> Op {
        let watcher = self.watcher(choices);
        match choices.one(28 + self.catching_up) {
            0..6 => Op::Begin(watcher),
            6..14 => {
                let request = choices.weighed(&[(1, Request::ForPod), (1, Request::ForService)]);
                Op::Serve(watcher, choices.nth(), request)
            }
            14..22 => Op::Answer(watcher, choices.nth()),
            22 => Op::Fail(watcher, choices.nth()),
            23..27 => Op::Scan(watcher),
            27 => Op::ScanFails(watcher),
            _ => Op::CatchUp(watcher),
        }
    }

    fn pod(&self, choices: &mut Choices) -> PodName {
        PodName(choices.one(self.pods))
    }

    fn service(&self, choices: &mut Choices) -> ServiceName {
        ServiceName(choices.one(self.services))
    }

    fn watcher(&self, choices: &mut Choices) -> Watcher {
        Watcher(choices.one(self.watchers))
    }
}
