use common::key::Key;

use super::*;
use crate::resource::Group;

fn name(name: &str) -> Name {
    (Key::new("ns", name), Group::Own)
}

fn refused(text: &str, edition: Edition) -> End {
    End::Refused(Refusal { what: What::Service, text: text.to_owned(), edition })
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn behaviour_10_the_first_change_counts_at_once_and_more_of_them_are_taken_together() {
    let (mut work, begin) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, begin);
    assert_eq!(work.begin(begin), Some(name("a")));
    assert_eq!((work.begin(begin), work.next_due()), (None, None));
    work.changed(name("a"), Cause::Input, begin);
    assert_eq!(work.next_due(), None, "not while it runs");
    work.ended(&name("a"), End::Halfway, begin);
    assert_eq!(work.begin(begin), Some(name("a")), "the next step");
    work.ended(&name("a"), End::NothingToDo, begin);
    assert_eq!(work.begin(begin), None);
    for _ in 0..100 {
        work.changed(name("a"), Cause::Input, begin + SECOND / 10);
    }
    assert_eq!(work.next_due(), Some(begin + PACE));
    work.changed(name("b"), Cause::Input, begin + SECOND / 10);
    assert_eq!(work.begin(begin + SECOND / 10), Some(name("b")), "others do not wait for it");
    assert_eq!(work.begin(begin + PACE), Some(name("a")));
    assert_eq!(work.begin(begin + PACE), None);
}

#[test]
fn a_change_that_comes_while_it_runs_is_not_lost() {
    let (mut work, begin) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, begin);
    work.begin(begin);
    work.changed(name("a"), Cause::Input, begin);
    work.ended(&name("a"), End::NothingToDo, begin + SECOND);
    assert_eq!(work.begin(begin + SECOND), Some(name("a")));
}

#[test]
fn failures_are_tried_again_with_growing_pauses_and_told_once() {
    let (mut work, mut now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, now);
    let mut pauses = Vec::new();
    for attempt in 0..12 {
        work.begin(now).unwrap();
        let news = work.ended(&name("a"), End::Failed(None), now);
        assert_eq!(news == Failing::News, attempt == 0);
        let due = work.next_due().unwrap();
        pauses.push(due - now);
        now = due;
    }
    assert!(pauses[0] < SECOND && pauses[11] >= LONGEST_PAUSE / 2, "{pauses:?}");
    work.begin(now).unwrap();
    work.ended(&name("a"), End::Done, now);
    let now = work.next_due().unwrap();
    work.begin(now).unwrap();
    assert_eq!(work.ended(&name("a"), End::Failed(None), now), Failing::News);
}

#[test]
fn behaviour_4_a_refused_service_is_told_at_once_and_asked_for_again_later() {
    let (mut work, now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, now);
    work.begin(now).unwrap();
    let edition = |uid: &str, generation| Edition { uid: uid.to_owned(), generation: Some(generation) };
    let (first, refused) = (edition("n1", 1), || refused("in use", edition("n1", 1)));
    assert_eq!(work.ended(&name("a"), refused(), now), Failing::News);
    assert_eq!(work.begin(now), Some(name("a")), "to tell it");
    assert_eq!(work.refused(&name("a"), &first), [(What::Service, "in use")]);
    for other in [edition("n1", 2), edition("n2", 1)] {
        assert_eq!(work.refused(&name("a"), &other), [], "another spec is asked for at once");
    }
    work.ended(&name("a"), End::NothingToDo, now);
    assert_eq!(work.begin(now), None);
    let again = work.next_due().unwrap();
    assert!(again >= now + REFUSED_PAUSE);
    work.changed(name("a"), Cause::Input, now + SECOND / 2);
    work.begin(now + SECOND / 2).unwrap();
    assert_eq!(work.refused(&name("a"), &first), [(What::Service, "in use")], "a change of pods is no reason");
    work.ended(&name("a"), End::NothingToDo, now + SECOND / 2);
    work.begin(again).unwrap();
    assert_eq!(work.refused(&name("a"), &first), []);
    assert_eq!(work.ended(&name("a"), refused(), again), Failing::NoNews, "it was told");
}

#[test]
fn behaviour_12_two_things_that_are_refused_are_not_asked_for_in_turns_without_end() {
    let (mut work, now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, now);
    for what in [What::Service, What::Slices] {
        work.begin(now).unwrap();
        let refusal = Refusal { what, text: "denied".to_owned(), edition: Edition::default() };
        assert_eq!(work.ended(&name("a"), End::Refused(refusal), now), Failing::News);
    }
    work.begin(now).unwrap();
    let both = [(What::Service, "denied"), (What::Slices, "denied")];
    assert_eq!(work.refused(&name("a"), &Edition::default()), both, "neither is asked for again now");
    work.ended(&name("a"), End::NothingToDo, now);
    assert!(work.next_due().unwrap() >= now + REFUSED_PAUSE);
}

#[test]
fn behaviour_4_what_becomes_free_is_asked_for_soon() {
    let (mut work, mut now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, now);
    for _ in 0..12 {
        work.begin(now).unwrap();
        work.ended(&name("a"), refused("full", Edition::default()), now);
        work.begin(now).unwrap();
        work.ended(&name("a"), End::NothingToDo, now);
        now = work.next_due().unwrap();
    }
    work.begin(now).unwrap();
    work.ended(&name("a"), refused("full", Edition::default()), now);
    work.begin(now).unwrap();
    work.ended(&name("a"), End::NothingToDo, now);
    assert!(work.next_due().unwrap() > now + 10 * SECOND);
    work.freed(now);
    assert_eq!(work.next_due(), Some(now + REFUSED_PAUSE));
}

#[test]
fn behaviour_12_what_is_undone_each_time_is_done_again_with_growing_pauses() {
    for end in [|| End::Done, || End::Halfway] {
        let (mut work, mut now) = (Work::default(), Instant::now());
        work.changed(name("a"), Cause::Input, now);
        let mut pauses = Vec::new();
        for _ in 0..20 {
            work.begin(now).unwrap();
            work.ended(&name("a"), end(), now);
            work.changed(name("a"), Cause::Output, now);
            let due = work.next_due().unwrap();
            pauses.push(due - now);
            now = due;
        }
        assert!(pauses.iter().filter(|pause| **pause < PACE).count() <= 3, "{pauses:?}");
        assert_eq!(pauses[19], LONGEST_PAUSE);
        work.changed(name("a"), Cause::Input, now);
        assert_eq!(work.begin(now), Some(name("a")), "a change of the pods does not wait for that");
    }
}

#[test]
fn behaviour_12_what_is_undone_a_moment_later_is_done_again_with_growing_pauses_too() {
    let (mut work, mut now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Output, now);
    let mut pauses = Vec::new();
    let mut round = |work: &mut Work, now: &mut Instant| {
        work.begin(*now).unwrap();
        work.ended(&name("a"), End::Done, *now);
        let again = work.next_due().unwrap();
        pauses.push(again - *now);
        work.begin(again).unwrap();
        work.ended(&name("a"), End::NothingToDo, again);
        *now = again + SECOND;
        work.changed(name("a"), Cause::Output, *now);
        assert_eq!(work.next_due(), Some(*now), "it is looked at");
    };
    for _ in 0..20 {
        round(&mut work, &mut now);
    }
    work.begin(now).unwrap();
    work.ended(&name("a"), End::NothingToDo, now);
    now += QUIET + SECOND;
    work.changed(name("a"), Cause::Output, now);
    round(&mut work, &mut now);
    assert_eq!((pauses[0], pauses[19], pauses[20]), (PACE, LONGEST_PAUSE, PACE));
}

#[test]
fn what_is_gone_is_not_looked_at() {
    let (mut work, now) = (Work::default(), Instant::now());
    work.changed(name("a"), Cause::Input, now);
    work.forget(&name("a"));
    assert_eq!(work.begin(now), None);
}
