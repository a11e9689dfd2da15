//! How busy the machine was with something else meanwhile: a figure from a busy machine is none to compare with.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use super::usage::{USER_HZ, Usage};
use crate::harness::{Component, ControlPlane};

/// A time during which something is measured.
pub struct Load {
    own: Vec<u32>,
    begun: Instant,
    /// Processor time of the whole machine and of the own processes until then.
    all_before: Duration,
    own_before: Duration,
}

impl Load {
    /// Begins. Own processes are this one and those of the control plane that run now.
    ///
    /// # Errors
    /// When /proc is not that of Linux.
    pub fn begin(control_plane: &ControlPlane) -> io::Result<Self> {
        let components = [Component::Etcd, Component::ApiServer, Component::ControllerManager];
        let mut own: Vec<_> = components.iter().filter_map(|it| Some(control_plane.process(*it)?.pid())).collect();
        own.push(std::process::id());
        Ok(Self { begun: Instant::now(), all_before: all()?, own_before: total(&own)?, own })
    }

    /// How many cores others have used on average since it began; a watcher counts as others.
    ///
    /// # Errors
    /// When one of the own processes has ended.
    pub fn of_others(&self) -> io::Result<f64> {
        let all = all()?.saturating_sub(self.all_before);
        let own = total(&self.own)?.saturating_sub(self.own_before);
        Ok(all.saturating_sub(own).as_secs_f64() / self.begun.elapsed().as_secs_f64())
    }
}

fn total(processes: &[u32]) -> io::Result<Duration> {
    processes.iter().map(|pid| Usage::of(*pid).map(|usage| usage.cpu)).sum()
}

fn all() -> io::Result<Duration> {
    busy(&fs::read_to_string("/proc/stat")?)
        .ok_or_else(|| io::Error::other("/proc/stat is not as proc(5) describes it"))
}

/// The machine's processor time that was not idle, from the first line of /proc/stat: `cpu`, then ticks as user, nice,
/// system, idle, waiting for input and output, interrupts, soft interrupts, stolen by other machines; guests are in user.
fn busy(stat: &str) -> Option<Duration> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(str::parse::<u64>);
    let ticks = ticks.take(8).collect::<Result<Vec<_>, _>>().ok()?;
    let [user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen] = ticks[..] else { return None };
    let busy = user + nice + system + interrupts + soft_interrupts + stolen;
    Some(Duration::from_millis(busy * 1000 / u64::from(USER_HZ)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_time_is_not_busy() {
        assert_eq!(busy("cpu  100 20 30 9999 8888 4 5 6 7 0\ncpu0 1 2\n"), Some(Duration::from_millis(1650)));
        assert_eq!(busy("cpu  1 2 3\n"), None);
    }

    #[test]
    fn this_machine_has_been_busy() {
        assert!(all().unwrap() > Duration::ZERO);
    }
}
