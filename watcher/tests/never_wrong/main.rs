//! The watcher is never wrong: random sequences of what can happen in a cluster, and to a watcher, against a model of it.
//!
//! The decisions are the real ones: index, suspects, examination, verdict and scan. The API server is simulated, and so is
//! the watcher's thin I/O, cut into steps between which everything else can happen. Each delete is judged, at the moment
//! when it is carried out, by an oracle of its own. In the end everything comes to rest, and then no orphan may be left.
//!
//! `PROPTEST_CASES=100000 cargo test -p ipf-dynamic-nodeport-service-watcher --test never_wrong` looks for longer.

#![allow(clippy::expect_used, reason = "what is expected here is the test's own doing")]

mod creator;
mod facts;
mod objects;
mod op;
mod oracle;
mod process;
mod server;
mod simulation;
mod stream;
mod world;

use std::{cell::Cell, time::Duration};

use proptest::{
    prelude::ProptestConfig,
    test_runner::{TestCaseError, TestError, TestRunner},
};

use crate::{
    op::Op,
    simulation::Simulation,
    world::{Trace, Violation},
};

/// So many sequences, unless `PROPTEST_CASES` says otherwise.
const SEQUENCES: u32 = 1200;

fn run(release_delay: Duration, ops: &[Op], trace: Trace) -> (Result<(), Violation>, String) {
    let mut simulation = Simulation::new(release_delay, trace);
    let result = ops.iter().try_for_each(|op| simulation.apply(op));
    let result = result.and_then(|()| simulation.come_to_rest(ops.len()));
    (result, simulation.into_world().into_trace())
}

#[test]
fn no_sequence_of_events_makes_it_delete_wrongly_or_leave_an_orphan() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(SEQUENCES);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let (passed, has_failed) = (Cell::new(0), Cell::new(false));
    let result = TestRunner::new(config).run(&op::sequence(), |(release_delay, ops)| {
        let (result, _) = run(release_delay, &ops, Trace::Dropped);
        has_failed.set(has_failed.get() || result.is_err());
        passed.set(passed.get() + u32::from(!has_failed.get()));
        result.map_err(|violation| TestCaseError::fail(violation.to_string()))
    });
    if let Err(TestError::Fail(reason, (release_delay, ops))) = &result {
        let (_, trace) = run(*release_delay, ops, Trace::Kept);
        let ops: String = ops.iter().map(|op| format!("    {op:?}\n")).collect();
        let passed = passed.get();
        panic!(
            "{reason}\n\nAfter {passed} sequences, with a release delay of {release_delay:?}, these operations:\n{ops}\n\
             What happened:\n{trace}"
        );
    }
    assert!(result.is_ok(), "{result:?}");
}
