//! Many sequences, some at a time.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

use cluster_tests::harness::ControlPlane;

use crate::sequence::{self, Summary};

/// Sequences at a time. Most of a sequence is waiting, and their processes share few processors.
const LANES: usize = 6;

/// What a sequence may take: none begins later than this before the end.
const SEQUENCE: Duration = Duration::from_secs(30);

/// Runs sequences for so long, with this seed and the next ones.
pub(crate) async fn run(control_plane: &ControlPlane, first: u64, time: Duration) {
    println!("from {}={first} on", crate::SEED);
    let begun = Instant::now();
    let next = Cell::new(first);
    let total = Cell::new(Summary::default());
    let lane = async || {
        while begun.elapsed() + SEQUENCE < time {
            let seed = next.replace(next.get() + 1);
            let Summary { operations, deletions } = sequence::run(control_plane, seed).await;
            let so_far = total.get();
            let (operations, deletions) = (so_far.operations + operations, so_far.deletions + deletions);
            total.set(Summary { operations, deletions });
        }
    };
    let mut lanes: Vec<Option<Pin<Box<dyn Future<Output = ()> + '_>>>> = Vec::new();
    lanes.extend((0..LANES).map(|_| Some(Box::pin(lane()) as Pin<Box<dyn Future<Output = ()>>>)));
    poll_fn(|context| {
        for lane in &mut lanes {
            if lane.as_mut().is_some_and(|lane| lane.as_mut().poll(context).is_ready()) {
                *lane = None;
            }
        }
        if lanes.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let Summary { operations, deletions } = total.get();
    let sequences = next.get() - first;
    println!("{sequences} sequences, {operations} operations, {deletions} deletions in {:?}", begun.elapsed());
    assert!(sequences > 0 && deletions > 0, "nothing was tested");
}
