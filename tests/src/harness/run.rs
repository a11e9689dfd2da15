//! One run of a program as it ships, as a process, with nothing of this machine's environment: the creator for a pod, or
//! the watcher for a namespace.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use super::{
    Namespace, Outcome, Pod, Running, cargo,
    keeper::{
        Keeper,
        protocol::{Command, Ends},
    },
    outcome::{Files, OUTPUT, TERMINATION_MESSAGE},
    ports,
    surroundings::{Access, Surroundings},
};

/// A run takes its own 60 s timeout at most; one that hangs beyond is a failure, not a hanging test.
const DEADLINE: Duration = Duration::from_secs(90);

/// Where the watcher serves unless told otherwise.
const WATCHER_PORT: u16 = 8080;

/// A run to be started. Until told otherwise, with the namespace's service account and a folder of its own.
#[must_use]
pub struct Run {
    keeper: Arc<Keeper>,
    folder: PathBuf,
    surroundings: Surroundings,
    program: Program,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    access: Access,
    listen: Option<SocketAddr>,
    deadline: Duration,
}

/// Which program runs. Those of this repository are built only when a run of them starts.
enum Program {
    Creator,
    Watcher,
    Other(PathBuf),
}

impl Run {
    /// The creator with a KUBECONFIG, as it runs for this pod, with a token bound to it.
    ///
    /// OUTPUT and `TERMINATION_MESSAGE_PATH` name files of the run's own; an argument for the same wins.
    pub async fn creator(pod: &Pod<'_>) -> Self {
        let run = Self::creator_in(pod, Surroundings::Kubeconfig).await;
        let output = run.path(OUTPUT);
        run.env("OUTPUT", &output)
    }

    /// The creator as inside a container of this pod: service account folder, API address in the environment, /tmp of
    /// its own (where it writes unless told otherwise). Needs [`super::preflight::Level::InCluster`].
    pub async fn creator_in_cluster(pod: &Pod<'_>) -> Self {
        Self::creator_in(pod, Surroundings::InCluster).await
    }

    async fn creator_in(pod: &Pod<'_>, surroundings: Surroundings) -> Self {
        let token = pod.bound_token().await;
        let run = Self::new(pod.namespace(), token, surroundings, Program::Creator).env("HOSTNAME", &pod.hostname());
        run.write(TERMINATION_MESSAGE, b"");
        let termination_message = run.path(TERMINATION_MESSAGE);
        run.env("TERMINATION_MESSAGE_PATH", &termination_message)
    }

    /// The watcher with a KUBECONFIG of this namespace. It serves nothing unless told to by [`Self::listening`], and logs
    /// as JSON, which [`Running::logged`] reads.
    pub async fn watcher(namespace: &Namespace<'_>) -> Self {
        let token = namespace.unbound_token().await;
        let run = Self::new(namespace, token, Surroundings::Kubeconfig, Program::Watcher);
        run.env("LISTEN", "off").env("LOG_FORMAT", "json")
    }

    /// The watcher as inside the container of the documented Deployment: no arguments, no variables but those that every
    /// container has, and a network of its own, where it serves at its documented port.
    /// Needs [`super::preflight::Level::OwnNetwork`].
    pub async fn watcher_in_cluster(namespace: &Namespace<'_>) -> Self {
        let token = namespace.unbound_token().await;
        let mut run = Self::new(namespace, token, Surroundings::OwnNetwork, Program::Watcher);
        run.listen = Some((Ipv4Addr::LOCALHOST, WATCHER_PORT).into());
        run
    }

    fn new(namespace: &Namespace<'_>, token: String, surroundings: Surroundings, program: Program) -> Self {
        let control_plane = namespace.control_plane();
        let folder = control_plane.run_folder().expect("the keeper's folder takes another folder");
        // A folder that is not there, and that only this run would get if the program made it.
        let home = folder.join("home").display().to_string();
        let run = Self {
            keeper: Arc::clone(control_plane.keeper()),
            folder,
            surroundings,
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            access: Access {
                server: control_plane.url(),
                authority: control_plane.certificates().authority().to_owned(),
                namespace: namespace.name().to_owned(),
                token: Some(token),
            },
            listen: None,
            deadline: DEADLINE,
        };
        let files = run.files().0;
        fs::create_dir(&files).unwrap_or_else(|error| panic!("cannot make {}: {error}", files.display()));
        run.env("HOME", &home)
            .env("HOSTNAME", "ipf-dynamic-nodeport-service-watcher-5d9c8f7b6-w8x2p")
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    }

    /// Another program.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Program::Other(path.into());
        self
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable of its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Takes a variable away: `HOSTNAME`, `HOME` and `PATH` are there at first, for the creator `OUTPUT` and
    /// `TERMINATION_MESSAGE_PATH`, for the watcher `LISTEN` and `LOG_FORMAT`.
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.remove(name);
        self
    }

    /// Has the watcher serve on a free port of loopback, for [`Running::get`].
    pub fn listening(mut self) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
        self.listen = Some(address);
        self.env("LISTEN", &address.to_string())
    }

    /// Another URL of the API than the apiserver's own: that of a proxy in front of it.
    pub fn server(mut self, url: &str) -> Self {
        url.clone_into(&mut self.access.server);
        self
    }

    /// Another token.
    pub fn token(mut self, token: &str) -> Self {
        self.access.token = Some(token.to_owned());
        self
    }

    /// No token at all, as with `automountServiceAccountToken: false`.
    pub fn without_token(mut self) -> Self {
        self.access.token = None;
        self
    }

    /// How long [`Running::wait`] may take before the test fails (90 s).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Writes a file for the program, and returns the path under which the program sees it.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.write(name, content.as_ref());
        self.path(name)
    }

    /// The path under which the program sees a file of the run's folder.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.surroundings.folder(&self.files().0).join(name).display().to_string()
    }

    /// Starts it and waits for its end.
    ///
    /// # Panics
    /// When it cannot be started, or does not end before the deadline.
    pub async fn run(self) -> Outcome {
        self.spawn().wait().await
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(mut self) -> Running {
        let files = self.files();
        let told = self.surroundings.tell(&self.access, &self.folder, &mut self.env);
        told.unwrap_or_else(|error| panic!("cannot write the run's files: {error}"));
        let program = match self.program {
            Program::Creator => cargo::creator().to_path_buf(),
            Program::Watcher => cargo::watcher().to_path_buf(),
            Program::Other(path) => path,
        };
        let (program, args) = self.surroundings.command(&self.folder, program, self.args);
        let command = Command {
            program,
            args,
            env: self.env,
            current_dir: files.0.clone(),
            stdout: self.folder.join("stdout"),
            stderr: self.folder.join("stderr"),
            ends: Ends::First,
        };
        let process = self.keeper.spawn(command).unwrap_or_else(|error| panic!("{error}"));
        let accompanied = self.surroundings.accompany(&self.access, self.folder, process.pid());
        accompanied.unwrap_or_else(|error| panic!("{} is no URL: {error}", self.access.server));
        Running { process, deadline: self.deadline, files, surroundings: self.surroundings, listen: self.listen }
    }

    /// The program's files are apart from the harness's own; as inside a container they are its /tmp.
    fn files(&self) -> Files {
        Files(self.folder.join("tmp"))
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.files().0.join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}
