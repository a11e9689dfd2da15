//! What a running process has used so far, as /proc tells it.

use std::{fs, io, time::Duration};

/// Ticks a second in /proc/PID/stat: `USER_HZ`, which Linux keeps at 100 for programs whatever its own clock does (proc(5)).
pub(super) const USER_HZ: u32 = 100;

/// Memory in bytes and processor time of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// The most it ever had resident. It begins anew when a process becomes another program, so unlike
    /// `getrusage` it does not count what the parent had.
    pub(super) peak_resident: u64,
    /// User and system time of all its threads.
    pub(super) cpu: Duration,
}

impl Usage {
    /// That of a process that runs.
    ///
    /// # Errors
    /// When there is no such process, or the files are not those of Linux.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        parse(&status, &stat).ok_or_else(|| io::Error::other(format!("process {pid} has no memory: it has ended")))
    }
}

fn parse(status: &str, stat: &str) -> Option<Usage> {
    let bytes = |field: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(field))?;
        Some(value.strip_prefix(':')?.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    // The second field is the program's name in parentheses, which may hold anything; the others count from 3 behind it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<_> = fields.split(' ').collect();
    let ticks = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    Some(Usage { peak_resident: bytes("VmHWM")?, cpu: Duration::from_secs(1) * (ticks(14)? + ticks(15)?) / USER_HZ })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_from_a_running_process() {
        let usage = Usage::of(std::process::id()).unwrap();
        assert!(usage.peak_resident > 0, "{usage:?}");
    }

    #[test]
    fn a_name_with_parentheses_moves_no_field() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 1 0 5 6 7";
        let cpu = Duration::from_millis(1750);
        assert_eq!(parse(status, stat), Some(Usage { peak_resident: 2 << 20, cpu }));
    }

    #[test]
    fn a_process_that_has_ended_has_none() {
        assert_eq!(parse("Name:\tx\nState:\tZ (zombie)\n", "7 (x) Z 1 7 7 0 -1 0 0 0 0 0 1 1 0"), None);
    }
}
