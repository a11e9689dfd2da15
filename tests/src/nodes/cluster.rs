//! The cluster: a control plane and two nodes, started once for all tests of a process.

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node as Object, Pod};
use kube::Api;
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    AdditionalNetwork, Answer, Image, NODES, Network, NodeName, Protocol, dial, dns, image,
    machine::Machine,
    networks,
    node::{self, Access, Node, Program, SANDBOX_IMAGE},
    pods, preflight,
};
use crate::harness::{
    ControlPlane, Signal, StartError, cargo,
    control_plane::tail,
    eventually,
    keeper::{KeeperError, Process, protocol::Command},
    network,
    programs::{NodePrograms, Programs},
    start::{Options, Reach},
};

/// How long a program or an import may take, on a busy machine.
const READY: Duration = Duration::from_secs(120);

/// How long kube-proxy may take to learn of a change, on a busy machine.
const REACHABLE: Duration = Duration::from_secs(30);

/// What a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A control plane and two nodes.
    Plain,
    /// The additional networks too, by Multus, and a DNS.
    Networks,
}

/// What of a pod can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The container of a pod that has one.
    Container,
    /// What holds its networks: all of it starts again, with other addresses.
    Sandbox,
}

/// A control plane and two nodes. Dropping it ends them.
pub struct Cluster {
    kind: Kind,
    control_plane: ControlPlane,
    machine: Machine,
    programs: NodePrograms,
    nodes: Vec<Node>,
    processes: Mutex<HashMap<(NodeName, Program), Process>>,
    commands: AtomicU32,
}

/// The cluster, in use by a test.
pub type Guard = RwLockReadGuard<'static, Cluster>;

/// The cluster of a kind that the tests of this process share.
async fn the_only_one(kind: Kind) -> Option<&'static RwLock<Cluster>> {
    static PLAIN: OnceCell<Result<RwLock<Cluster>, String>> = OnceCell::const_new();
    static NETWORKS: OnceCell<Result<RwLock<Cluster>, String>> = OnceCell::const_new();
    if !preflight::require() {
        return None;
    }
    let shared = match kind {
        Kind::Plain => &PLAIN,
        Kind::Networks => &NETWORKS,
    };
    let start = async || Cluster::start(kind).await.map(RwLock::new).map_err(|error| error.to_string());
    match shared.get_or_init(start).await {
        Ok(cluster) => Some(cluster),
        Err(error) => panic!("the nodes did not start: {error}"),
    }
}

impl Cluster {
    /// The cluster, with other tests on it at the same time; the first caller starts it, in about 15 s.
    ///
    /// None when it cannot run on this machine: the test has been reported as skipped and should return.
    ///
    /// # Panics
    /// When it does not start, or cannot run and `CI=true`.
    pub async fn shared() -> Option<Guard> {
        Some(the_only_one(Kind::Plain).await?.read().await)
    }

    /// The cluster that has the additional networks and a DNS, with other tests on it at the same time; the first caller
    /// starts it.
    ///
    /// None when it cannot run on this machine: the test has been reported as skipped and should return.
    ///
    /// # Panics
    /// When it does not start, or cannot run and `CI=true`.
    pub async fn with_networks() -> Option<Guard> {
        Some(the_only_one(Kind::Networks).await?.read().await)
    }

    /// The cluster with no other test on it, for one that does something to a node.
    ///
    /// None when it cannot run on this machine: the test has been reported as skipped and should return.
    ///
    /// # Panics
    /// When it does not start, or cannot run and `CI=true`.
    pub async fn alone() -> Option<RwLockWriteGuard<'static, Self>> {
        Some(the_only_one(Kind::Plain).await?.write().await)
    }

    /// Starts one.
    ///
    /// # Errors
    /// When a program cannot be built or does not start.
    pub async fn start(kind: Kind) -> Result<Self, StartError> {
        let (programs, node_programs) = (Programs::find_or_build()?, NodePrograms::find_or_build()?);
        let machine = Machine::start()?;
        let control_plane =
            ControlPlane::prepare(machine.keeper.clone(), Reach::Nodes, &programs, &Options::default())?;
        network::relay_from(machine.network(Network::ControlPlane), control_plane.port())?;
        let cluster = Self {
            kind,
            nodes: NODES
                .map(|name| prepare(name, kind, &machine, &control_plane, &node_programs))
                .into_iter()
                .collect::<Result<_, _>>()?,
            control_plane,
            machine,
            programs: node_programs,
            processes: Mutex::default(),
            commands: AtomicU32::new(0),
        };
        for node in NODES {
            cluster.run(node, Program::Containerd)?;
        }
        cluster.control_plane.run().await?;
        cluster.run_scheduler()?;
        if kind == Kind::Networks {
            dns::start(&cluster.machine.keeper, &cluster.control_plane, &cluster.programs.coredns).await?;
            networks::define(&cluster.control_plane).await;
        }
        cluster.import_images().await?;
        for node in NODES {
            cluster.run(node, Program::Kubelet)?;
            cluster.run(node, Program::Proxy)?;
        }
        cluster.ready().await;
        Ok(cluster)
    }

    /// The control plane, for namespaces and clients.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The file that names a network, for nsenter(1).
    #[must_use]
    pub fn network(&self, network: Network) -> PathBuf {
        self.machine.network(network)
    }

    /// The addresses of an additional network that pods have, or that were not given back.
    ///
    /// # Panics
    /// When the machine is gone.
    #[must_use]
    pub fn taken(&self, network: AdditionalNetwork) -> BTreeSet<IpAddr> {
        let folder = self.machine.file(&networks::addresses(network));
        match fs::read_dir(&folder) {
            // Beside them is what the plugin needs for itself.
            Ok(files) => files.flatten().filter_map(|file| file.file_name().to_str()?.parse().ok()).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => panic!("{}: {error}", folder.display()),
        }
    }

    /// Asks for a path by HTTP, once, from a network.
    pub async fn get(&self, from: Network, address: SocketAddr, path: &str) -> Answer {
        let (network, path) = (self.machine.network(from), path.to_owned());
        tokio::task::spawn_blocking(move || dial::get(&network, address, &path)).await.expect("it does not panic")
    }

    /// Asks who is there, once, from a network.
    pub async fn who(&self, from: Network, protocol: Protocol, address: SocketAddr) -> Answer {
        let network = self.machine.network(from);
        tokio::task::spawn_blocking(move || dial::who(&network, protocol, address)).await.expect("it does not panic")
    }

    /// Asks until it is answered: kube-proxy takes a moment to learn of a Service.
    ///
    /// # Panics
    /// When it never is.
    pub async fn reach(&self, from: Network, address: SocketAddr, path: &str) -> String {
        eventually(REACHABLE, &format!("{address} answers from {from:?}"), async || {
            self.get(from, address, path).await.body()
        })
        .await
    }

    /// Asks until all of these have answered, and nobody else: pods, by their names.
    ///
    /// # Panics
    /// When one never does, or another one does.
    pub async fn reach_each(&self, from: Network, protocol: Protocol, address: SocketAddr, names: &BTreeSet<String>) {
        let mut answered = BTreeSet::new();
        eventually(REACHABLE, &format!("all of {names:?} have answered at {protocol:?} {address}"), async || {
            let answer = self.who(from, protocol, address).await.body();
            answered.extend(answer.clone());
            if answered == *names { Ok(()) } else { Err(format!("{answered:?}, at last {answer:?}")) }
        })
        .await;
    }

    /// Asks until it is refused.
    ///
    /// # Panics
    /// When it never is.
    pub async fn refused(&self, from: Network, protocol: Protocol, address: SocketAddr) {
        eventually(REACHABLE, &format!("{protocol:?} {address} is refused from {from:?}"), async || {
            match self.who(from, protocol, address).await {
                Answer::Refused => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Makes an image known to both nodes.
    ///
    /// # Panics
    /// When it cannot be made.
    pub async fn add(&self, image: &Image) {
        let archive = image.save(self.folder()).unwrap_or_else(|error| panic!("image {}: {error}", image.name));
        self.import(&[archive]).await.unwrap_or_else(|error| panic!("image {}: {error}", image.name));
    }

    /// Runs a program on a node, and returns what it printed.
    ///
    /// # Panics
    /// When it fails.
    pub async fn run_on(&self, node: NodeName, program: &Path, args: &[&str]) -> String {
        self.output(node, program, args).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs containerd's client on a node, for Kubernetes' containers, and returns what it printed.
    ///
    /// # Panics
    /// When it fails.
    pub async fn ctr(&self, node: NodeName, args: &[&str]) -> String {
        self.containers(node, args).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Kills a part of a pod, which its kubelet then starts again.
    ///
    /// # Panics
    /// When it does not run.
    pub async fn kill(&self, pod: &Pod, part: Part) {
        let (node, uid) = (pods::node(pod), pod.metadata.uid.as_deref().unwrap_or_default());
        let kind = match part {
            Part::Container => "container",
            Part::Sandbox => "sandbox",
        };
        let filter = format!("labels.\"io.kubernetes.pod.uid\"=={uid},labels.\"io.cri-containerd.kind\"=={kind}");
        let id = self.ctr(node, &["containers", "list", "--quiet", &filter]).await;
        self.ctr(node, &["tasks", "kill", "--signal", "SIGKILL", id.trim()]).await;
    }

    /// Stops a program of a node, and waits until it has ended.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn stop(&self, node: NodeName, program: Program) {
        let Some(process) = self.processes().remove(&(node, program)) else { return };
        process.signal(Signal::Terminate);
        let ended = tokio::time::timeout(READY, process.wait()).await;
        assert!(ended.is_ok(), "{program:?} of {node} does not end");
    }

    /// Starts a program of a node that was stopped, and waits until the nodes are ready.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn resume(&self, node: NodeName, program: Program) {
        self.run(node, program).unwrap_or_else(|error| panic!("cannot start {program:?} of {node} again: {error}"));
        self.ready().await;
    }

    /// The end of a program's log, for the message of a test that fails.
    #[must_use]
    pub fn log(&self, node: NodeName, program: Program) -> String {
        tail(&self.node(node).log(program))
    }

    /// A folder of this cluster's own, removed with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.machine.keeper.folder()
    }

    /// Ends all of it and waits until nothing is left.
    pub async fn close(self) {
        self.control_plane.close().await;
    }

    fn processes(&self) -> MutexGuard<'_, HashMap<(NodeName, Program), Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, name: NodeName) -> &Node {
        self.nodes.iter().find(|node| node.name == name).expect("both nodes are prepared")
    }

    fn run(&self, node: NodeName, program: Program) -> Result<(), KeeperError> {
        let process = self.machine.keeper.spawn(self.node(node).start(program, &self.programs))?;
        self.processes().insert((node, program), process);
        Ok(())
    }

    fn run_scheduler(&self) -> Result<(), StartError> {
        let [kubeconfig, log] = ["scheduler.kubeconfig", "kube-scheduler.log"].map(|name| self.folder().join(name));
        fs::write(&kubeconfig, self.control_plane.kubeconfig_of("system:kube-scheduler", &[])?)?;
        let args = vec![format!("--kubeconfig={}", kubeconfig.display()), "--leader-elect=false".to_owned()];
        self.machine.keeper.spawn(self.node(NodeName::Node1).command(&self.programs.scheduler, args, log))?;
        Ok(())
    }

    async fn import_images(&self) -> Result<(), StartError> {
        let folder = self.folder().to_path_buf();
        let application = cargo::application();
        let archives = tokio::task::spawn_blocking(move || -> io::Result<Vec<PathBuf>> {
            let mut archives = image::own(&folder, cargo::creator(), cargo::watcher())?;
            let root = folder.join("application");
            fs::create_dir(&root)?;
            fs::copy(application, root.join("application"))?;
            let image = Image { name: SANDBOX_IMAGE.to_owned(), root, entrypoint: vec!["/application".to_owned()] };
            archives.push(image.save(&folder)?);
            Ok(archives)
        });
        let archives = archives.await.map_err(io::Error::other)??;
        self.import(&archives).await.map_err(io::Error::other)?;
        Ok(())
    }

    async fn import(&self, archives: &[PathBuf]) -> Result<(), String> {
        for node in NODES {
            self.containerd_answers(node).await;
            for archive in archives {
                self.containers(node, &["images", "import", &archive.display().to_string()]).await?;
            }
        }
        Ok(())
    }

    /// Waits until containerd answers. One that ends before is told of, and started again: it is not what is tested.
    async fn containerd_answers(&self, node: NodeName) {
        eventually(READY, &format!("containerd of {node} answers"), async || {
            let Err(error) = self.containers(node, &["version"]).await else { return Ok(()) };
            let seen = format!("{error}\n{}", self.log(node, Program::Containerd));
            let exit = self.processes().get(&(node, Program::Containerd)).and_then(Process::exit);
            if let Some(exit) = exit {
                eprintln!("containerd has ended, and is started again: {exit:?}: {seen}");
                self.run(node, Program::Containerd).map_err(|error| error.to_string())?;
            }
            Err(seen)
        })
        .await;
    }

    async fn containers(&self, node: NodeName, args: &[&str]) -> Result<String, String> {
        let socket = self.node(node).socket();
        let mut all = vec!["--address", &socket, "--namespace", "k8s.io"];
        all.extend(args);
        self.output(node, &self.programs.ctr, &all).await
    }

    async fn output(&self, node: NodeName, program: &Path, args: &[&str]) -> Result<String, String> {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let [said, error] = ["out", "err"].map(|end| self.folder().join(format!("command-{number}.{end}")));
        let args_owned = args.iter().map(|&arg| arg.to_owned()).collect();
        let command = Command { stdout: said.clone(), ..self.node(node).command(program, args_owned, error.clone()) };
        let exit = match self.machine.keeper.spawn(command) {
            Ok(process) => process.wait().await,
            Err(error) => Err(error),
        };
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        match exit {
            Ok(exit) if exit.code == Some(0) => Ok(read(said)),
            Ok(exit) => Err(format!("{} {args:?} on {node}: {exit:?}: {}", program.display(), read(error))),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits until both nodes report that they are ready.
    async fn ready(&self) {
        let nodes: Api<Object> = Api::all(self.control_plane.admin());
        eventually(READY, "both nodes are ready", async || {
            for name in NODES {
                let node = nodes.get(name.as_str()).await.map_err(|error| self.describe(name, &error.to_string()))?;
                let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
                let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
                if ready.is_none_or(|ready| ready.status != "True") {
                    return Err(self.describe(name, &format!("{ready:?}")));
                }
            }
            Ok(())
        })
        .await;
        if self.kind == Kind::Networks {
            eventually(READY, "the DNS is ready", async || {
                let answer = self.get(Network::ControlPlane, dns::readiness(), "/ready").await.body();
                answer.map_err(|error| format!("{error}\n{}", tail(&dns::log(self.folder()))))
            })
            .await;
        }
    }

    fn describe(&self, node: NodeName, seen: &str) -> String {
        let logs = node::ALL.map(|program| format!("{program:?}: {}", self.log(node, program)));
        format!("{node}: {seen}\n{}", logs.join("\n"))
    }
}

fn prepare(
    name: NodeName,
    kind: Kind,
    machine: &Machine,
    control_plane: &ControlPlane,
    programs: &NodePrograms,
) -> Result<Node, StartError> {
    let kubelet = control_plane.kubeconfig_of(&format!("system:node:{name}"), &["system:nodes"])?;
    let proxy = control_plane.kubeconfig_of("system:kube-proxy", &[])?;
    let multus = match kind {
        Kind::Plain => None,
        Kind::Networks => Some(control_plane.kubeconfig_of(networks::USER, &[])?),
    };
    let authority = control_plane.certificates().authority();
    let access = Access { kubelet: &kubelet, proxy: &proxy, multus: multus.as_deref(), authority };
    Ok(Node::prepare(name, machine.keeper.folder(), &machine.group(name), programs, &access)?)
}
