//! One run of a program for a pod: the creator as it ships, as a process, with nothing of this machine's environment.

use std::{collections::BTreeMap, fs, io, path::PathBuf, sync::Arc, time::Duration};

use serde_json::json;

use super::{
    Outcome, Pod, access, cargo,
    keeper::{
        Keeper,
        protocol::{Command, Ends},
    },
    outcome::{Files, OUTPUT, Running, TERMINATION_MESSAGE},
};

/// A run takes its own 60 s timeout at most; one that hangs beyond is a failure, not a hanging test.
const DEADLINE: Duration = Duration::from_secs(90);

/// Gives a program the files a pod's container has, where only it sees them, and becomes that program.
/// $1: the run's folder; $2: the program; then its arguments. /run is where /var/run leads on every current system.
const IN_CLUSTER: &str = r#"
set -eu
folder=$1 program=$2
shift 2
run=$(readlink -f /var/run)
mount -t tmpfs tmpfs "$run"
mkdir -p "$run/secrets/kubernetes.io"
cp -r "$folder/serviceaccount" "$run/secrets/kubernetes.io/serviceaccount"
cp "$program" "$run/"
mount --bind "$folder/tmp" /tmp
cd /
unset PWD OLDPWD
exec "$run/${program##*/}" "$@"
"#;

/// A run to be started. Until told otherwise, the creator with a token bound to its pod, writing into its own folder.
#[must_use]
pub struct Run {
    keeper: Arc<Keeper>,
    folder: PathBuf,
    surroundings: Surroundings,
    /// The creator when none: it is built only when a run of it starts.
    program: Option<PathBuf>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    server: String,
    authority: String,
    namespace: String,
    token: Option<String>,
    deadline: Duration,
}

/// How the program learns where the API is and who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surroundings {
    /// KUBECONFIG, as on a developer's machine.
    Kubeconfig,
    /// The service account's folder and the variables of a pod.
    InCluster,
}

impl Run {
    /// The creator with a KUBECONFIG, as it runs for this pod.
    ///
    /// OUTPUT and `TERMINATION_MESSAGE_PATH` name files of the run's own; an argument for the same wins.
    pub async fn creator(pod: &Pod<'_>) -> Self {
        Self::new(pod, Surroundings::Kubeconfig).await
    }

    /// The creator as inside a container of this pod: service account folder, API address in the environment, /tmp of
    /// its own (where it writes unless told otherwise). Needs [`super::preflight::Level::InCluster`].
    pub async fn creator_in_cluster(pod: &Pod<'_>) -> Self {
        Self::new(pod, Surroundings::InCluster).await
    }

    async fn new(pod: &Pod<'_>, surroundings: Surroundings) -> Self {
        let control_plane = pod.namespace().control_plane();
        let folder = control_plane.run_folder().expect("the keeper's folder takes another folder");
        // A folder that is not there, and that only this run would get if the program made it.
        let home = folder.join("home").display().to_string();
        let mut run = Self {
            keeper: Arc::clone(control_plane.keeper()),
            folder,
            surroundings,
            program: None,
            args: Vec::new(),
            env: BTreeMap::from([
                ("HOME".to_owned(), home),
                ("HOSTNAME".to_owned(), pod.hostname()),
                ("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ]),
            server: control_plane.url(),
            authority: control_plane.certificates().authority().to_owned(),
            namespace: pod.namespace().name().to_owned(),
            token: Some(pod.bound_token().await),
            deadline: DEADLINE,
        };
        run.write(TERMINATION_MESSAGE, b"");
        let termination_message = run.path(TERMINATION_MESSAGE);
        run = run.env("TERMINATION_MESSAGE_PATH", &termination_message);
        match surroundings {
            Surroundings::Kubeconfig => {
                let output = run.path(OUTPUT);
                run.env("OUTPUT", &output)
            }
            Surroundings::InCluster => run,
        }
    }

    /// Another program than the creator.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
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

    /// Takes a variable away: `HOSTNAME`, `OUTPUT`, `TERMINATION_MESSAGE_PATH`, `HOME` and `PATH` are there at first.
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.remove(name);
        self
    }

    /// Another URL of the API than the apiserver's own: that of a proxy in front of it.
    pub fn server(mut self, url: &str) -> Self {
        url.clone_into(&mut self.server);
        self
    }

    /// Another token than one bound to the pod.
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// No token at all, as with `automountServiceAccountToken: false`.
    pub fn without_token(mut self) -> Self {
        self.token = None;
        self
    }

    /// How long it may take before the test fails (90 s).
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
        let folder = match self.surroundings {
            Surroundings::Kubeconfig => self.files().0,
            Surroundings::InCluster => PathBuf::from("/tmp"),
        };
        folder.join(name).display().to_string()
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
        let surroundings = match self.surroundings {
            Surroundings::Kubeconfig => self.write_kubeconfig(),
            Surroundings::InCluster => self.write_service_account(),
        };
        surroundings.unwrap_or_else(|error| panic!("cannot write the run's files: {error}"));
        let program = self.program.unwrap_or_else(|| cargo::creator().to_path_buf());
        let (program, args) = match self.surroundings {
            Surroundings::Kubeconfig => (program, self.args),
            Surroundings::InCluster => {
                let (folder, program) = (self.folder.display().to_string(), program.display().to_string());
                let mut args = ["--mount", "sh", "-c", IN_CLUSTER, "sh"].map(str::to_owned).to_vec();
                args.extend([folder, program]);
                args.extend(self.args);
                (PathBuf::from("/usr/bin/unshare"), args)
            }
        };
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
        Running { process, deadline: self.deadline, files }
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

    fn write_kubeconfig(&mut self) -> io::Result<()> {
        let token = self.folder.join("token");
        if let Some(text) = &self.token {
            fs::write(&token, text)?;
        }
        let path = self.folder.join("kubeconfig");
        let user = match self.token {
            Some(_) => json!({"tokenFile": token}),
            None => json!({}),
        };
        fs::write(&path, access::kubeconfig(&self.server, &self.authority, &self.namespace, &user))?;
        self.env.entry("KUBECONFIG".to_owned()).or_insert_with(|| path.display().to_string());
        Ok(())
    }

    fn write_service_account(&mut self) -> io::Result<()> {
        let folder = self.folder.join("serviceaccount");
        fs::create_dir_all(&folder)?;
        // Without a token Kubernetes mounts nothing of it.
        if let Some(token) = &self.token {
            fs::write(folder.join("token"), token)?;
            fs::write(folder.join("ca.crt"), &self.authority)?;
            fs::write(folder.join("namespace"), &self.namespace)?;
        }
        let server: http::Uri = self.server.parse().map_err(io::Error::other)?;
        let host = server.host().unwrap_or_default().to_owned();
        let port = server.port_u16().unwrap_or(443).to_string();
        self.env.entry("KUBERNETES_SERVICE_HOST".to_owned()).or_insert(host);
        self.env.entry("KUBERNETES_SERVICE_PORT".to_owned()).or_insert(port);
        Ok(())
    }
}
