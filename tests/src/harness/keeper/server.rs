//! The keeper's own side. It depends on nothing but the standard library and signals, so that it outlives any failure.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, BufRead, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, waitid};

use super::protocol::{Command, Ends, Message, Request, Signal};

/// How long a process may take to end after SIGTERM. An apiserver whose etcd is gone would take minutes.
const GRACE: Duration = Duration::from_secs(5);

/// Serves requests from standard input until it ends, then ends everything and removes the folder.
///
/// # Errors
/// When the folder cannot be made or removed, or standard input cannot be read.
pub fn serve() -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix("cluster-tests-").tempdir()?;
    let running = Arc::new(Running::default());
    tell(&Message::Ready { folder: folder.path().to_path_buf() });
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Request::Spawn(command)) => running.spawn(&command),
            Ok(Request::Signal { process, signal }) => running.signal(process, signal),
            Err(error) => tell(&Message::Refused { reason: format!("not a request: {error}") }),
        }
    }
    running.end(Ends::First);
    running.end(Ends::Last);
    folder.close()
}

/// The processes that have been started and not yet been reaped.
///
/// A process is signalled and reaped only under the lock, so a signal never reaches a reused process id.
#[derive(Default)]
struct Running {
    table: Mutex<Table>,
    changed: Condvar,
}

#[derive(Default)]
struct Table {
    last: u64,
    children: BTreeMap<u64, (Child, Ends)>,
}

impl Running {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Self>, command: &Command) {
        let started = Instant::now();
        let child = match start(command) {
            Ok(child) => child,
            Err(error) => {
                tell(&Message::Refused { reason: format!("{}: {error}", command.program.display()) });
                return;
            }
        };
        let pid = child.id();
        let mut table = self.table();
        table.last += 1;
        let process = table.last;
        table.children.insert(process, (child, command.ends));
        drop(table);
        tell(&Message::Spawned { process, pid });
        let running = Arc::clone(self);
        thread::spawn(move || running.reap(process, pid, started));
    }

    /// Waits until the process has ended, without reaping it, then reaps it under the lock.
    fn reap(&self, process: u64, pid: u32, started: Instant) {
        if let Some(pid) = raw(pid) {
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
        }
        let elapsed = started.elapsed();
        let mut table = self.table();
        let status = table.children.remove(&process).and_then(|(mut child, _)| child.wait().ok());
        drop(table);
        self.changed.notify_all();
        tell(&Message::Exited {
            process,
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            elapsed_micros: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        });
    }

    fn signal(&self, process: u64, signal: Signal) {
        if let Some((child, _)) = self.table().children.get(&process) {
            send(child, signal);
        }
    }

    /// Ends all processes of one kind: SIGTERM, and SIGKILL for those that still run after [`GRACE`].
    fn end(&self, ends: Ends) {
        let mut table = self.table();
        for (_, (child, _)) in table.children.iter().filter(|(_, (_, when))| *when == ends) {
            send(child, Signal::Terminate);
            // A stopped process takes no other signal than SIGKILL before it goes on.
            send(child, Signal::Continue);
        }
        let gone = |table: &mut Table| table.children.values().any(|(_, when)| *when == ends);
        (table, _) =
            self.changed.wait_timeout_while(table, GRACE, |table| gone(table)).unwrap_or_else(PoisonError::into_inner);
        for (_, (child, _)) in table.children.iter().filter(|(_, (_, when))| *when == ends) {
            send(child, Signal::Kill);
        }
        let _ended = self.changed.wait_timeout_while(table, GRACE, |table| gone(table));
    }
}

fn start(command: &Command) -> io::Result<Child> {
    let file = |path| OpenOptions::new().create(true).append(true).open(path);
    fs::create_dir_all(&command.current_dir)?;
    std::process::Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .envs(&command.env)
        .current_dir(&command.current_dir)
        .stdin(Stdio::null())
        .stdout(file(&command.stdout)?)
        .stderr(file(&command.stderr)?)
        .spawn()
}

fn send(child: &Child, signal: Signal) {
    let signal = match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Kill => rustix::process::Signal::KILL,
        Signal::Stop => rustix::process::Signal::STOP,
        Signal::Continue => rustix::process::Signal::CONT,
    };
    if let Some(pid) = raw(child.id()) {
        // The child is not reaped yet: the only failure is that it has ended already.
        let _already_ended = kill_process(pid, signal);
    }
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// A test process that is gone reads no more; the end of standard input says so too, and that is acted on.
fn tell(message: &Message) {
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(message) {
        let _nobody_listens = writeln!(out, "{text}").and_then(|()| out.flush());
    }
}
