//! Decides which suspect is looked at next and when, and remembers what earlier looks have seen; it never looks itself.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

use common::key::Key;

use crate::uid::Uid;

/// A Service that may be an orphan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The Service.
    pub service: Key,
    /// The name of the pod that it is said to be for; the Service itself, once read, has the last word.
    pub pod: Arc<str>,
    /// What was known of it when it became suspect; nothing of what may be the original tool's.
    pub known: Option<Known>,
}

/// A Service that was once seen to be made for a pod, with all evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The Service's UID.
    pub service: Uid,
    /// The pod's.
    pub pod: Uid,
}

/// What a look was at. Its name stays a suspect while one Service follows another under it, and one pod another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The Service.
    pub service: Uid,
    /// The pod that it was made for; nothing on one of the original tool's tells it.
    pub pod: Option<Uid>,
}

/// What earlier looks at a suspect have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// When it became suspect.
    pub noticed: Instant,
    /// What they were at; nothing before the first.
    pub subject: Option<Subject>,
    /// Since when every look has found its pod absent.
    pub absent_since: Option<Instant>,
    /// Since when every look has found its pod finished.
    pub finished_since: Option<Instant>,
    /// How many looks in a row were refused.
    pub refusals: u32,
}

impl Memory {
    /// Nothing yet.
    #[must_use]
    pub fn new(noticed: Instant) -> Self {
        Self { noticed, subject: None, absent_since: None, finished_since: None, refusals: 0 }
    }

    /// What is remembered for a look at this: what was seen of another Service, or for another pod, says nothing about it.
    #[must_use]
    pub fn of(self, subject: Subject, now: Instant) -> Self {
        let memory = if self.subject.is_none_or(|before| before == subject) { self } else { Self::new(now) };
        Self { subject: Some(subject), ..memory }
    }
}

/// A suspect to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The suspect.
    pub suspect: Suspect,
    /// What earlier looks have seen.
    pub memory: Memory,
    /// When this look began: all that it reads is read later.
    pub begun: Instant,
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Settled,
    /// Another look, then.
    Again {
        /// When.
        at: Instant,
        /// What is remembered until then.
        memory: Memory,
    },
}

/// All suspects.
#[derive(Debug, Default)]
pub struct Suspects {
    entries: HashMap<Key, Entry>,
    waiting: BTreeSet<(Instant, Key)>,
}

#[derive(Debug)]
struct Entry {
    case: Case,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be looked at then.
    Waits(Instant),
    /// Somebody is looking at it.
    Examined(Meanwhile),
}

/// What was reported of a suspect while somebody looked at it. The later word never weakens the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meanwhile {
    Nothing,
    /// A new suspicion, which the look may have come too early for.
    Suspected,
    /// Its pod was alive: the look, and all before it, are void.
    Cleared,
}

impl Suspects {
    /// Adds a suspect that is to be looked at when it is `due`, or one that is there already, which keeps its memory.
    pub fn add(&mut self, suspect: Suspect, due: Instant, now: Instant) {
        let key = suspect.service.clone();
        match self.entries.get_mut(&key) {
            None => {
                let case = Case { suspect, memory: Memory::new(now), begun: now };
                self.entries.insert(key.clone(), Entry { case, state: State::Waits(due) });
                self.waiting.insert((due, key));
            }
            Some(entry) => {
                // What was known once is not forgotten over what may be the original tool's.
                let known = suspect.known.or(entry.case.suspect.known);
                entry.case.suspect = Suspect { known, ..suspect };
                match entry.state {
                    State::Waits(at) if due < at => {
                        entry.state = State::Waits(due);
                        self.waiting.remove(&(at, key.clone()));
                        self.waiting.insert((due, key));
                    }
                    State::Waits(_) => {}
                    State::Examined(meanwhile) => entry.state = State::Examined(meanwhile.max(Meanwhile::Suspected)),
                }
            }
        }
    }

    /// The Service's pod was seen alive: what was seen before counts no more.
    pub fn clear(&mut self, service: &Key) {
        let Some(entry) = self.entries.get_mut(service) else { return };
        match entry.state {
            State::Waits(at) => {
                self.entries.remove(service);
                self.waiting.remove(&(at, service.clone()));
            }
            State::Examined(_) => entry.state = State::Examined(Meanwhile::Cleared),
        }
    }

    /// The suspect that has been due for the longest time; it must be [settled](Self::settle).
    pub fn take(&mut self, now: Instant) -> Option<Case> {
        let (at, _) = self.waiting.first()?;
        if *at > now {
            return None;
        }
        let (_, key) = self.waiting.pop_first()?;
        let entry = self.entries.get_mut(&key)?;
        entry.state = State::Examined(Meanwhile::Nothing);
        entry.case.begun = now;
        Some(entry.case.clone())
    }

    /// What became of a look.
    pub fn settle(&mut self, service: &Key, next: Next, now: Instant) {
        let Some(entry) = self.entries.get_mut(service) else { return };
        let (at, memory) = match (entry.state, next) {
            (State::Examined(Meanwhile::Cleared), _) => (now, Memory::new(now)),
            (State::Examined(Meanwhile::Suspected), Next::Settled) => (now, Memory::new(now)),
            (State::Examined(Meanwhile::Suspected), Next::Again { memory, .. }) => (now, memory),
            (_, Next::Again { at, memory }) => (at, memory),
            (_, Next::Settled) => {
                self.entries.remove(service);
                return;
            }
        };
        entry.state = State::Waits(at);
        entry.case.memory = memory;
        self.waiting.insert((at, service.clone()));
    }

    /// When the next one is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn suspect(name: &str, pod_uid: Option<&str>) -> Suspect {
        let known = pod_uid.map(|uid| Known { service: Uid::of("s"), pod: Uid::of(uid) });
        Suspect { service: Key { namespace: "ns".into(), name: name.into() }, pod: name.into(), known }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The names of those that can be taken now.
    fn taken(suspects: &mut Suspects, now: Instant) -> Vec<String> {
        std::iter::from_fn(|| suspects.take(now)).map(|case| case.suspect.service.name.to_string()).collect()
    }

    #[test]
    fn each_is_taken_once_in_the_order_in_which_they_are_due() {
        let now = Instant::now();
        let mut suspects = Suspects::default();
        suspects.add(suspect("late", None), now + seconds(5), now);
        suspects.add(suspect("b", None), now, now);
        suspects.add(suspect("a", None), now - seconds(1), now);
        suspects.add(suspect("b", None), now + seconds(9), now);
        assert_eq!(taken(&mut suspects, now), ["a", "b"]);
        assert_eq!(suspects.next_due(), Some(now + seconds(5)));
        suspects.add(suspect("late", None), now, now);
        assert_eq!(taken(&mut suspects, now), ["late"], "a new suspicion brings it forward");
        assert_eq!((suspects.len(), suspects.next_due()), (3, None));
        for name in ["a", "b", "late"] {
            suspects.settle(&suspect(name, None).service, Next::Settled, now);
        }
        assert!(suspects.is_empty());
    }

    #[test]
    fn what_was_seen_is_remembered_until_the_next_look() {
        let now = Instant::now();
        let mut suspects = Suspects::default();
        suspects.add(suspect("a", None), now, now);
        let case = suspects.take(now).unwrap();
        let memory = Memory { absent_since: Some(now), ..case.memory };
        suspects.settle(&case.suspect.service, Next::Again { at: now + seconds(30), memory }, now);
        suspects.add(suspect("a", Some("u1")), now + seconds(60), now + seconds(1));
        assert_eq!(suspects.take(now + seconds(29)), None);
        let case = suspects.take(now + seconds(30)).unwrap();
        assert_eq!(case.memory, memory);
        assert_eq!(case.suspect, suspect("a", Some("u1")), "what is known now");
    }

    #[test]
    fn a_suspicion_during_a_look_has_it_looked_at_again() {
        let now = Instant::now();
        for next in [Next::Settled, Next::Again { at: now + seconds(30), memory: Memory::new(now) }] {
            let mut suspects = Suspects::default();
            suspects.add(suspect("a", None), now, now);
            let case = suspects.take(now).unwrap();
            suspects.add(suspect("a", None), now, now);
            assert_eq!(suspects.take(now), None, "never by two at once");
            suspects.settle(&case.suspect.service, next, now);
            assert!(suspects.take(now).is_some(), "{next:?}");
        }
    }

    #[test]
    fn what_was_seen_of_another_service_or_pod_says_nothing() {
        let now = Instant::now();
        let subject = |service, pod: Option<&str>| Subject { service: Uid::of(service), pod: pod.map(Uid::of) };
        let first = subject("s1", Some("u1"));
        let memory = Memory { absent_since: Some(now), ..Memory::new(now).of(first, now) };
        let later = now + seconds(30);
        assert_eq!(memory.of(first, later), memory);
        for other in [subject("s2", Some("u1")), subject("s1", Some("u2")), subject("s1", None)] {
            assert_eq!(memory.of(other, later), Memory { subject: Some(other), ..Memory::new(later) }, "{other:?}");
        }
    }

    #[test]
    fn a_pod_that_was_seen_alive_voids_what_was_seen_before() {
        let now = Instant::now();
        let mut suspects = Suspects::default();
        suspects.add(suspect("waits", None), now, now);
        suspects.clear(&suspect("waits", None).service);
        assert!(suspects.is_empty() && suspects.next_due().is_none());

        suspects.add(suspect("examined", None), now, now);
        let case = suspects.take(now).unwrap();
        suspects.clear(&case.suspect.service);
        suspects.add(suspect("examined", None), now, now);
        let memory = Memory { absent_since: Some(now), ..case.memory };
        suspects.settle(&case.suspect.service, Next::Again { at: now + seconds(30), memory }, now + seconds(1));
        let again = suspects.take(now + seconds(1)).unwrap();
        assert_eq!(again.memory, Memory::new(now + seconds(1)));
    }
}
