//! The test process's side of the keeper.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command as Std, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use tokio::sync::watch;

use super::protocol::{Command, Message, Request, Signal};
use crate::harness::{cargo, eventually};

/// Why the keeper did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The keeper itself could not be started.
    #[error("cannot start the keeper {}", .program.display())]
    Start {
        /// Its path.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not start a program.
    #[error("cannot start {0}")]
    Refused(String),
    /// It ended before the test did.
    #[error("the keeper process has ended; what it started is gone with it")]
    Gone,
}

/// The keeper of this process. Dropping it ends everything that was started through it.
#[derive(Debug)]
pub struct Keeper {
    connection: Mutex<Connection>,
    exits: watch::Receiver<HashMap<u64, Exit>>,
    folder: PathBuf,
    child: Mutex<Child>,
}

#[derive(Debug)]
struct Connection {
    /// None once [`Keeper::close`] has ended it.
    requests: Option<ChildStdin>,
    replies: mpsc::Receiver<Result<(u64, u32), KeeperError>>,
}

/// A process that the keeper started.
#[derive(Clone, Debug)]
pub struct Process {
    keeper: Arc<Keeper>,
    number: u64,
    pid: u32,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From before its start until its end.
    pub elapsed: Duration,
}

impl Keeper {
    /// Starts a keeper process.
    ///
    /// # Errors
    /// When its program cannot be found, built or started.
    pub fn start() -> Result<Arc<Self>, KeeperError> {
        Self::start_by(Std::new(Self::program()))
    }

    /// The keeper's program.
    #[must_use]
    pub fn program() -> PathBuf {
        cargo::own_program("keeper")
    }

    /// Starts a keeper by a command that runs [`Keeper::program`] somewhere else, with its standard input and output.
    ///
    /// # Errors
    /// When the command cannot be started, or is no keeper.
    pub fn start_by(mut command: Std) -> Result<Arc<Self>, KeeperError> {
        let program = PathBuf::from(command.get_program());
        let failed = |source| KeeperError::Start { program: program.clone(), source };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It outlives the test process for a moment: holding that one's output would keep a pipe's reader waiting.
            .stderr(Stdio::null())
            // Ctrl-C in a terminal goes to the whole group of the test process; the keeper must live to tidy up.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(KeeperError::Gone);
        };
        let mut lines = BufReader::new(answers).lines();
        let folder = match lines.next().transpose().map_err(failed)?.as_deref().map(serde_json::from_str) {
            Some(Ok(Message::Ready { folder })) => folder,
            _ => return Err(KeeperError::Gone),
        };
        let (reply, replies) = mpsc::channel();
        let (exited, exits) = watch::channel(HashMap::new());
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(Message::Spawned { process, pid }) => drop(reply.send(Ok((process, pid)))),
                    Ok(Message::Refused { reason }) => drop(reply.send(Err(KeeperError::Refused(reason)))),
                    Ok(Message::Exited { process, code, signal, elapsed_micros }) => exited.send_modify(|exits| {
                        let elapsed = Duration::from_micros(elapsed_micros);
                        exits.insert(process, Exit { code, signal, elapsed });
                    }),
                    Ok(Message::Ready { .. }) | Err(_) => {}
                }
            }
        });
        let connection = Connection { requests: Some(requests), replies };
        Ok(Arc::new(Self { connection: Mutex::new(connection), exits, folder, child: Mutex::new(child) }))
    }

    /// A folder of this process's own, removed by the keeper at the end.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The keeper's own process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Starts a program under the keeper.
    ///
    /// # Errors
    /// When the program cannot be started, or the keeper is gone.
    pub fn spawn(self: &Arc<Self>, command: Command) -> Result<Process, KeeperError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.send(&Request::Spawn(command))?;
        let (number, pid) = connection.replies.recv().map_err(|_| KeeperError::Gone)??;
        Ok(Process { keeper: Arc::clone(self), number, pid })
    }

    /// Has the keeper end everything now, and waits until it has.
    pub async fn close(&self) {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).requests = None;
        eventually(Duration::from_secs(30), "the keeper has ended what it started", async || {
            match self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait() {
                Ok(None) => Err("it still runs"),
                Ok(Some(_)) | Err(_) => Ok(()),
            }
        })
        .await;
    }
}

impl Connection {
    fn send(&mut self, request: &Request) -> Result<(), KeeperError> {
        let requests = self.requests.as_mut().ok_or(KeeperError::Gone)?;
        let mut line = serde_json::to_vec(request).map_err(|_| KeeperError::Gone)?;
        line.push(b'\n');
        requests.write_all(&line).map_err(|_| KeeperError::Gone)
    }
}

impl Process {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends it a signal; one that has ended is left alone.
    pub fn signal(&self, signal: Signal) {
        let mut connection = self.keeper.connection.lock().unwrap_or_else(PoisonError::into_inner);
        // A keeper that is gone has ended the process.
        let _gone = connection.send(&Request::Signal { process: self.number, signal });
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.keeper.exits.borrow().get(&self.number).copied()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// When the keeper goes first.
    pub async fn wait(&self) -> Result<Exit, KeeperError> {
        let mut exits = self.keeper.exits.clone();
        let seen = exits.wait_for(|exits| exits.contains_key(&self.number)).await.map_err(|_| KeeperError::Gone)?;
        seen.get(&self.number).copied().ok_or(KeeperError::Gone)
    }
}
