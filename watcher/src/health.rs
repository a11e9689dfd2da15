//! Whether the watcher is ready: whether both its watches are up; it asks nobody and decides nothing else.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::watched::Watched;

/// How long a watch may be down before the watcher is no longer ready. The API server ends every watch after some
/// minutes, and an API server that restarts is away for less than this; neither is worth an alert.
const TOLERATED: Duration = Duration::from_secs(30);

/// The state of both watches, shared by those who run them and those who tell of them.
#[derive(Clone, Debug, Default)]
pub struct Health {
    watches: Arc<Mutex<Watches>>,
}

impl Health {
    /// Neither watch has listed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The watch has listed, and hears what changes.
    pub fn watch_up(&self, watched: Watched) {
        self.watches().set_up(watched);
    }

    /// The watch hears nothing any more; said again and again while that lasts, only the first time counts.
    pub fn watch_down(&self, watched: Watched) {
        self.watches().set_down(watched, Instant::now());
    }

    /// Whether the watcher is ready now.
    #[must_use]
    pub fn ready(&self) -> Readiness {
        self.watches().readiness(Instant::now())
    }

    /// A panic while it was held cannot have left it half written.
    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    NotListed,
    Up,
    Down {
        since: Instant,
    },
}

#[derive(Debug, Default)]
struct Watches {
    pods: State,
    services: State,
}

impl Watches {
    fn of(&mut self, watched: Watched) -> &mut State {
        match watched {
            Watched::Pods => &mut self.pods,
            Watched::Services => &mut self.services,
        }
    }

    fn set_up(&mut self, watched: Watched) {
        *self.of(watched) = State::Up;
    }

    fn set_down(&mut self, watched: Watched, now: Instant) {
        let state = self.of(watched);
        if matches!(state, State::Up) {
            *state = State::Down { since: now };
        }
    }

    fn readiness(&self, now: Instant) -> Readiness {
        let check = |state| match state {
            State::NotListed => Check::NotListed,
            State::Up => Check::Up,
            State::Down { since } => Check::Down(now.saturating_duration_since(since)),
        };
        Readiness { pods: check(self.pods), services: check(self.services) }
    }
}

/// How one watch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It has not been up since the program started.
    NotListed,
    /// It hears what changes.
    Up,
    /// It has heard nothing for so long.
    Down(Duration),
}

impl Check {
    /// Whether it hears what changes.
    #[must_use]
    pub fn is_up(self) -> bool {
        self == Self::Up
    }

    /// Whether it is as it should be, or will most likely be so again in a moment.
    #[must_use]
    pub fn is_ok(self) -> bool {
        match self {
            Self::NotListed => false,
            Self::Up => true,
            Self::Down(time) => time < TOLERATED,
        }
    }
}

/// How both watches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    pods: Check,
    services: Check,
}

impl Readiness {
    /// How this watch is.
    #[must_use]
    pub fn of(self, watched: Watched) -> Check {
        match watched {
            Watched::Pods => self.pods,
            Watched::Services => self.services,
        }
    }

    /// Whether both are as they should be.
    #[must_use]
    pub fn is_ready(self) -> bool {
        Watched::ALL.into_iter().all(|watched| self.of(watched).is_ok())
    }
}

/// One line a check, as the API server's own `/readyz?verbose` writes it.
impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for watched in Watched::ALL {
            let check = self.of(watched);
            let sign = if check.is_ok() { '+' } else { '-' };
            write!(f, "[{sign}]{watched} watch ")?;
            match check {
                Check::NotListed => writeln!(f, "has not listed yet")?,
                Check::Up => writeln!(f, "ok")?,
                Check::Down(time) if check.is_ok() => writeln!(f, "ok, down for {} s", time.as_secs())?,
                Check::Down(time) => writeln!(f, "down for {} s", time.as_secs())?,
            }
        }
        writeln!(f, "{}", if self.is_ready() { "ready" } else { "not ready" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_when_both_were_up_and_neither_is_down_for_long() {
        use Watched::{Pods, Services};
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut watches = Watches::default();
        let is_ready = |watches: &Watches, seconds| watches.readiness(at(seconds)).is_ready();

        assert!(!is_ready(&watches, 0), "neither has listed");
        watches.set_up(Services);
        watches.set_down(Pods, at(0));
        assert!(!is_ready(&watches, 1), "what never was up is not merely down");
        assert_eq!(watches.readiness(at(1)).of(Pods), Check::NotListed);
        watches.set_up(Pods);
        assert!(is_ready(&watches, 1));
        assert!(is_ready(&watches, 1_000_000), "a watch with nothing to hear is up");

        watches.set_down(Pods, at(100));
        watches.set_down(Pods, at(120));
        assert!(is_ready(&watches, 129));
        assert!(!is_ready(&watches, 130), "the time counts from the first");
        watches.set_up(Pods);
        watches.set_down(Pods, at(131));
        watches.set_down(Services, at(140));
        assert!(is_ready(&watches, 160));
        assert!(!is_ready(&watches, 161), "one of them is enough");
    }

    #[test]
    fn each_check_has_its_line() {
        let text = |pods, services| Readiness { pods, services }.to_string();
        let down = |seconds| Check::Down(Duration::from_secs(seconds));
        assert_eq!(text(Check::Up, Check::Up), "[+]pods watch ok\n[+]services watch ok\nready\n");
        assert_eq!(
            text(Check::NotListed, down(3)),
            "[-]pods watch has not listed yet\n[+]services watch ok, down for 3 s\nnot ready\n"
        );
        assert_eq!(text(down(30), Check::Up), "[-]pods watch down for 30 s\n[+]services watch ok\nnot ready\n");
    }

    #[test]
    fn clones_share_the_state() {
        let health = Health::new();
        let other = health.clone();
        Watched::ALL.iter().for_each(|watched| health.watch_up(*watched));
        assert!(other.ready().is_ready());
        other.watch_down(Watched::Pods);
        assert!(matches!(health.ready().of(Watched::Pods), Check::Down(_)));
    }
}
