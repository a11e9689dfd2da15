//! A control plane that tests share or have to themselves.

use std::{
    collections::HashMap,
    fs, io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::Request;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client, api::PostParams};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    nodes,
    proxy::{self, Protocols, Proxy},
};

use super::{
    Namespace, Signal,
    access::{self, Credentials},
    audit::{self, Event},
    certificates::Certificates,
    components::{self, Place},
    etcd, eventually,
    keeper::{Keeper, KeeperError, Process},
    preflight::{self, Level},
    programs::Programs,
};
pub use super::{
    components::Component,
    start::{Options, Reach, StartError},
};

/// How long a component may take to answer, on a busy machine.
const READY: Duration = Duration::from_secs(90);

/// How often to try again when another process took a port first.
const ATTEMPTS: u32 = 3;

/// The Node that pods are on unless a test says otherwise, and its addresses (RFC 5737 and RFC 3849).
pub const NODE: &str = "node-1";
/// The IPv4 address of [`NODE`].
pub const NODE_IPV4: &str = "192.0.2.11";
/// The IPv6 address of [`NODE`].
pub const NODE_IPV6: &str = "2001:db8::11";

/// etcd, kube-apiserver and kube-controller-manager on loopback. Dropping it ends them.
pub struct ControlPlane {
    keeper: Arc<Keeper>,
    place: Place,
    certificates: Certificates,
    programs: Programs,
    options: Options,
    processes: Mutex<HashMap<Component, Process>>,
    admin: Credentials,
    namespaces: AtomicU32,
    runs: AtomicU32,
}

impl ControlPlane {
    /// The control plane that all tests of this process share; the first caller starts it, in about 5 s.
    ///
    /// None when it cannot run on this machine: the test has been reported as skipped and should return.
    ///
    /// # Panics
    /// When it does not start, or cannot run and `CI=true`.
    pub async fn shared() -> Option<&'static Self> {
        static SHARED: OnceCell<Result<ControlPlane, String>> = OnceCell::const_new();
        if !preflight::require(Level::ControlPlane) {
            return None;
        }
        let start = async || Self::try_start(Options::default()).await.map_err(|error| error.to_string());
        match SHARED.get_or_init(start).await {
            Ok(control_plane) => Some(control_plane),
            Err(error) => panic!("the shared control plane did not start: {error}"),
        }
    }

    /// A control plane of the test's own, to be killed, filled up or started with other flags.
    ///
    /// None when it cannot run on this machine: the test has been reported as skipped and should return.
    ///
    /// # Panics
    /// When it does not start, or cannot run and `CI=true`.
    pub async fn start(options: Options) -> Option<Self> {
        if !preflight::require(Level::ControlPlane) {
            return None;
        }
        match Self::try_start(options).await {
            Ok(control_plane) => Some(control_plane),
            Err(error) => panic!("a control plane did not start: {error}"),
        }
    }

    /// The same for a program that is no test.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn try_start(options: Options) -> Result<Self, StartError> {
        let programs = Programs::find_or_build()?;
        for _ in 1..ATTEMPTS {
            match Self::start_once(&programs, &options).await {
                Err(StartError::Ended { log, .. }) if log.contains("address already in use") => {}
                other => return other,
            }
        }
        Self::start_once(&programs, &options).await
    }

    async fn start_once(programs: &Programs, options: &Options) -> Result<Self, StartError> {
        let control_plane = Self::prepare(Keeper::start()?, Reach::Loopback, programs, options)?;
        control_plane.run().await?;
        let addresses = [(NODE_IPV4, "InternalIP"), (NODE_IPV6, "InternalIP"), (NODE, "Hostname")];
        control_plane.create_node(NODE, &addresses).await;
        Ok(control_plane)
    }

    /// Writes its files, in the folder of the keeper that is to run it.
    pub(crate) fn prepare(
        keeper: Arc<Keeper>,
        reach: Reach,
        programs: &Programs,
        options: &Options,
    ) -> Result<Self, StartError> {
        let certificates = Certificates::new()?;
        let controllers = certificates.client("system:kube-controller-manager", &[])?;
        let kubelets = certificates.client("kube-apiserver-kubelet-client", &["system:masters"])?;
        let place = Place::prepare(keeper.folder(), reach, &certificates, controllers, &kubelets)?;
        let admin = Credentials::Certificate(certificates.client("admin", &["system:masters"])?);
        Ok(Self {
            keeper,
            place,
            certificates,
            programs: programs.clone(),
            options: options.clone(),
            processes: Mutex::default(),
            admin,
            namespaces: AtomicU32::new(0),
            runs: AtomicU32::new(0),
        })
    }

    /// Starts its programs and waits until they work.
    pub(crate) async fn run(&self) -> Result<(), StartError> {
        for component in components::ALL {
            self.spawn(component)?;
        }
        self.ready().await
    }

    /// `https://127.0.0.1:<port>`; stays the same when the apiserver is restarted.
    #[must_use]
    pub fn url(&self) -> String {
        self.place.url()
    }

    /// The apiserver's port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.place.port
    }

    /// The certificates: the authority that clients trust, the server's own for a proxy in front of it.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// A proxy in front of the apiserver that nobody can tell from it, for [`super::Run::server`].
    ///
    /// # Panics
    /// When no port is to be had.
    #[must_use]
    pub fn proxy(&self) -> Proxy {
        self.proxy_speaking(Protocols::Both)
    }

    /// The same, speaking only these protocols.
    ///
    /// # Panics
    /// When no port is to be had.
    #[must_use]
    pub fn proxy_speaking(&self, protocols: Protocols) -> Proxy {
        let server = self.certificates.server();
        let identity = proxy::Identity {
            ca_pem: self.certificates.authority().to_owned(),
            certificate_pem: server.certificate.clone(),
            key_pem: server.key.clone(),
        };
        let upstream = (Ipv4Addr::LOCALHOST, self.port()).into();
        let started = Proxy::start_speaking(protocols, upstream, self.certificates.authority(), &identity);
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The keeper of its processes, for a test that starts more.
    #[must_use]
    pub fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    /// A client that may do anything.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.client(&self.admin)
    }

    /// A client with these credentials.
    #[must_use]
    pub fn client(&self, credentials: &Credentials) -> Client {
        access::client(&self.url(), self.certificates.authority_der(), credentials)
    }

    /// A client as this user in these groups, by a certificate made for it.
    ///
    /// # Panics
    /// When the machine has no randomness.
    #[must_use]
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        let identity = self.certificates.client(user, groups).expect("a client certificate can be made");
        self.client(&Credentials::Certificate(identity))
    }

    /// A kubeconfig for a program of a node, as this user in these groups: it names the address that nodes reach.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub(crate) fn kubeconfig_of(&self, user: &str, groups: &[&str]) -> Result<String, StartError> {
        let user = Credentials::Certificate(self.certificates.client(user, groups)?).to_user();
        let server = format!("https://{}:{}", nodes::CONTROL_PLANE, self.port());
        Ok(access::kubeconfig(&server, self.certificates.authority(), "default", &user))
    }

    /// A namespace of the test's own, with the documented permissions and ConfigMap.
    pub async fn namespace(&self) -> Namespace<'_> {
        let number = self.namespaces.fetch_add(1, Ordering::Relaxed) + 1;
        Namespace::create(self, format!("test-{number}")).await
    }

    /// A Node object with addresses of these types (`InternalIP`, `ExternalIP`, `Hostname`, …), in this order.
    /// Pods on a Node that does not exist are removed by the pod garbage collector.
    ///
    /// # Panics
    /// When the API refuses it.
    pub async fn create_node(&self, name: &str, addresses: &[(&str, &str)]) {
        let addresses: Vec<_> =
            addresses.iter().map(|(address, kind)| json!({"address": address, "type": kind})).collect();
        let node = json!({"metadata": {"name": name}, "status": {"addresses": addresses}});
        let node: Node = serde_json::from_value(node).expect("a Node with addresses");
        let created = Api::all(self.admin()).create(&PostParams::default(), &node).await;
        created.unwrap_or_else(|error| panic!("cannot create Node {name}: {error}"));
    }

    /// The requests so far that `wanted` picks, in the order of arrival. All that were answered before the call are in.
    ///
    /// # Panics
    /// When the log cannot be read.
    pub async fn audit(&self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        // The log is written after the answer: a request of our own tells when all earlier ones are in it.
        let marker = format!("/version?marker={}", self.runs.fetch_add(1, Ordering::Relaxed));
        let request = Request::get(&marker).body(Vec::new()).expect("a path is a request");
        self.admin().request_text(request).await.unwrap_or_else(|error| panic!("the apiserver is silent: {error}"));
        let log = self.place.audit_log();
        let events = eventually(READY, "the audit log holds the last request", async || {
            let events = audit::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
            let count = events.len();
            if events.iter().any(|event| event.request_uri == marker) {
                return Ok(events);
            }
            Err(format!("{count} requests without it"))
        })
        .await;
        events.into_iter().filter(wanted).collect()
    }

    /// Ends a component with a signal and waits until it is gone. Stopping etcd first makes the apiserver slow to end.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn stop(&self, component: Component, signal: Signal) {
        let Some(process) = self.processes().remove(&component) else { return };
        process.signal(signal);
        let ended = tokio::time::timeout(READY, process.wait()).await;
        assert!(ended.is_ok(), "{component:?} does not end on {signal:?}:\n{}", tail(&self.place.log(component)));
    }

    /// Starts a component that was stopped, on the same port and data, and waits until the API is ready.
    ///
    /// # Panics
    /// When it does not get ready.
    pub async fn resume(&self, component: Component) {
        let started = match self.spawn(component) {
            Ok(()) => self.ready().await,
            Err(error) => Err(error.into()),
        };
        started.unwrap_or_else(|error| panic!("cannot start {component:?} again: {error}"));
    }

    /// Has etcd forget all but the newest revision of everything.
    ///
    /// # Panics
    /// When it does not.
    pub async fn compact(&self) {
        etcd::compact(&self.place.etcd_url()).await;
    }

    /// The process of a component, to stop and continue it in place; None while it is stopped.
    #[must_use]
    pub fn process(&self, component: Component) -> Option<Process> {
        self.processes().get(&component).cloned()
    }

    /// A kubeconfig of its admin, for programs that take no client certificate of ours.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        let path = self.keeper.folder().join("admin.kubeconfig");
        let text = access::kubeconfig(&self.url(), self.certificates.authority(), "default", &self.admin.to_user());
        fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Ends all of it and waits until nothing is left.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// A folder for one more run of a program.
    pub(super) fn run_folder(&self) -> io::Result<PathBuf> {
        let folder = self.keeper.folder().join(format!("run-{}", self.runs.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    fn processes(&self) -> MutexGuard<'_, HashMap<Component, Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self, component: Component) -> Result<(), KeeperError> {
        let process = self.keeper.spawn(self.place.command(component, &self.programs, &self.options))?;
        self.processes().insert(component, process);
        Ok(())
    }

    /// Waits until the API answers and its controllers work: they give namespace `default` its service account.
    async fn ready(&self) -> Result<(), StartError> {
        let admin = self.admin();
        let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), "default");
        eventually(READY, "the control plane is ready", async || -> Result<_, String> {
            if let Some(component) = self.ended() {
                return Ok(Err(StartError::Ended { component, log: tail(&self.place.log(component)) }));
            }
            let readyz = Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
            admin.request_text(readyz).await.map_err(|error| self.describe(&error))?;
            accounts.get("default").await.map_err(|error| self.describe(&error))?;
            Ok(Ok(()))
        })
        .await
    }

    fn ended(&self) -> Option<Component> {
        let processes = self.processes();
        components::ALL.into_iter().find(|component| processes.get(component).is_some_and(|p| p.exit().is_some()))
    }

    fn describe(&self, error: &kube::Error) -> String {
        let logs = components::ALL.map(|component| format!("{component:?}: {}", tail(&self.place.log(component))));
        format!("{error}\n{}", logs.join("\n"))
    }
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
