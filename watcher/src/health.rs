//! Whether the watcher is ready: whether its watches are up; it asks nobody and decides nothing else.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use net_service::pulse::{Pulse, Shown, State};

use crate::watched::Watched;

/// How long a watch may be down before the watcher is no longer ready. The API server ends every watch after some
/// minutes, and an API server that restarts is away for less than this; neither is worth an alert.
const TOLERATED: Duration = Duration::from_secs(30);

/// How everything is that has to be up, shared by those who run it and those who tell of it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Of the clean-up.
    watches: Option<Arc<Mutex<Watches>>>,
    net_service: Option<Pulse>,
}

impl Health {
    /// Of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And of the clean-up, neither of whose watches has listed yet.
    #[must_use]
    pub fn with_cleanup(self) -> Self {
        Self { watches: Some(Arc::default()), ..self }
    }

    /// And of NetServices.
    #[must_use]
    pub fn with_net_service(self, pulse: Pulse) -> Self {
        Self { net_service: Some(pulse), ..self }
    }

    /// The watch has listed, and hears what changes.
    pub fn watch_up(&self, watched: Watched) {
        if let Some(mut watches) = self.watches() {
            watches.set_up(watched);
        }
    }

    /// The watch hears nothing any more; said again and again while that lasts, only the first time counts.
    pub fn watch_down(&self, watched: Watched) {
        if let Some(mut watches) = self.watches() {
            watches.set_down(watched, Instant::now());
        }
    }

    /// Whether the watcher is ready now.
    #[must_use]
    pub fn ready(&self) -> Readiness {
        let now = Instant::now();
        let cleanup = self.watches().map(|watches| watches.readiness(now));
        let leading = self.net_service.as_ref().map(|pulse| pulse.shown().leading);
        let mut checks: Vec<_> = cleanup.into_iter().flatten().collect();
        match leading {
            None => {}
            Some(None) => checks.push((Checked::NetServices, Check::Up)),
            Some(Some(watches)) => {
                checks.extend(
                    watches.into_iter().map(|(watched, state)| (Checked::OfNetServices(watched), check(state, now))),
                );
            }
        }
        Readiness { checks }
    }

    /// How the controller of NetServices is, where there is one.
    #[must_use]
    pub fn net_services(&self) -> Option<Shown> {
        self.net_service.as_ref().map(Pulse::shown)
    }

    /// A panic while it was held cannot have left it half written.
    fn watches(&self) -> Option<MutexGuard<'_, Watches>> {
        self.watches.as_ref().map(|watches| watches.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
            *state = State::Down(now);
        }
    }

    fn readiness(&self, now: Instant) -> [(Checked, Check); 2] {
        [(Watched::Pods, self.pods), (Watched::Services, self.services)]
            .map(|(watched, state)| (Checked::Cleanup(watched), check(state, now)))
    }
}

fn check(state: State, now: Instant) -> Check {
    match state {
        State::NotListed => Check::NotListed,
        State::Up => Check::Up,
        State::Down(since) => Check::Down(now.saturating_duration_since(since)),
    }
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// A watch of the clean-up.
    Cleanup(Watched),
    /// That another one serves NetServices, or is going to.
    NetServices,
    /// A watch of the one that serves NetServices.
    OfNetServices(net_service::watched::Watched),
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cleanup(watched) => write!(f, "{watched} watch"),
            Self::NetServices => f.write_str("net-service standing by"),
            Self::OfNetServices(watched) => write!(f, "net-service {watched} watch"),
        }
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

/// How everything is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    checks: Vec<(Checked, Check)>,
}

impl Readiness {
    /// How the watches of the clean-up are.
    pub fn of_cleanup(&self) -> impl Iterator<Item = (Watched, Check)> {
        self.checks.iter().filter_map(|(checked, check)| match checked {
            Checked::Cleanup(watched) => Some((*watched, *check)),
            Checked::NetServices | Checked::OfNetServices(_) => None,
        })
    }

    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.checks.iter().all(|(_, check)| check.is_ok())
    }
}

/// One line a check, as the API server's own `/readyz?verbose` writes it.
impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (checked, check) in &self.checks {
            let sign = if check.is_ok() { '+' } else { '-' };
            write!(f, "[{sign}]{checked} ")?;
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
        let of = |watches: &Watches, seconds| Readiness { checks: watches.readiness(at(seconds)).to_vec() };
        let is_ready = |watches: &Watches, seconds| of(watches, seconds).is_ready();

        assert!(!is_ready(&watches, 0), "neither has listed");
        watches.set_up(Services);
        watches.set_down(Pods, at(0));
        assert!(!is_ready(&watches, 1), "what never was up is not merely down");
        assert_eq!(of(&watches, 1).of_cleanup().next(), Some((Pods, Check::NotListed)));
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
        let text = |pods, services| {
            let checks = vec![(Checked::Cleanup(Watched::Pods), pods), (Checked::Cleanup(Watched::Services), services)];
            Readiness { checks }.to_string()
        };
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
        let health = Health::new().with_cleanup();
        let other = health.clone();
        Watched::ALL.iter().for_each(|watched| health.watch_up(*watched));
        assert!(other.ready().is_ready());
        other.watch_down(Watched::Pods);
        assert!(health.ready().of_cleanup().any(|(_, check)| matches!(check, Check::Down(_))));
    }

    #[test]
    fn without_a_controller_there_is_nothing_of_it_to_check() {
        assert_eq!(Health::new().ready().to_string(), "ready\n");
        let waiting = Health::new().with_net_service(Pulse::default());
        assert_eq!(waiting.ready().to_string(), "[+]net-service standing by ok\nready\n");
    }
}
