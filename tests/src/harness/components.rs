//! How each program of the control plane is started: its flags and files.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::nodes;

use super::{
    access::{self, Credentials},
    audit,
    certificates::{Certificates, Identity},
    keeper::protocol::{Command, Ends},
    ports,
    programs::Programs,
    start::{Options, Reach},
};

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// etcd, the store.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager, with the garbage collector.
    ControllerManager,
}

/// Clusters such as OpenShift have it on; it refuses blockOwnerDeletion to who may not set finalizers.
const PLUGINS: &str = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";

/// Those that see to nodes, where nodes need none of that: what pods get for addresses is written down.
const NODE_CONTROLLERS: &str = "-node-ipam-controller,-ttl-controller";

/// Those that would call nodes dead of which no kubelet reports, and meddle with their pods.
const NODE_WATCHERS: &str = "-node-lifecycle-controller,-taint-eviction-controller";

/// The order in which they start.
pub(super) const ALL: [Component; 3] = [Component::Etcd, Component::ApiServer, Component::ControllerManager];

/// Where one control plane has its files and listens.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    reach: Reach,
    /// The apiserver's port on 127.0.0.1; it keeps it over restarts.
    pub(super) port: u16,
    etcd: u16,
    etcd_peer: u16,
}

impl Place {
    /// Chooses ports and writes the files that the programs read.
    pub(super) fn prepare(
        folder: &Path,
        reach: Reach,
        certificates: &Certificates,
        controllers: Identity,
        kubelets: &Identity,
    ) -> io::Result<Self> {
        let [port, etcd, etcd_peer] = [(); 3].map(|()| ports::free());
        let place = Self { folder: folder.to_path_buf(), reach, port, etcd, etcd_peer };
        let (signing, checking) = certificates.service_account_keys();
        let controllers = Credentials::Certificate(controllers).to_user();
        let kubeconfig = access::kubeconfig(&place.url(), certificates.authority(), "default", &controllers);
        for (name, text) in [
            ("ca.crt", certificates.authority()),
            ("server.crt", &certificates.server().certificate),
            ("server.key", &certificates.server().key),
            ("kubelet-client.crt", &kubelets.certificate),
            ("kubelet-client.key", &kubelets.key),
            ("service-account.key", &signing),
            ("service-account.pub", &checking),
            ("audit-policy.yaml", audit::POLICY),
            ("controller-manager.kubeconfig", &kubeconfig),
        ] {
            fs::write(folder.join(name), text)?;
        }
        Ok(place)
    }

    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    pub(super) fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    pub(super) fn log(&self, component: Component) -> PathBuf {
        self.folder.join(match component {
            Component::Etcd => "etcd.log",
            Component::ApiServer => "kube-apiserver.log",
            Component::ControllerManager => "kube-controller-manager.log",
        })
    }

    /// The command line of a component.
    pub(super) fn command(&self, component: Component, programs: &Programs, options: &Options) -> Command {
        let (program, mut args, more) = match component {
            Component::Etcd => (&programs.etcd, self.etcd_args(), &options.etcd_flags),
            Component::ApiServer => (&programs.apiserver, self.apiserver_args(options), &options.apiserver_flags),
            Component::ControllerManager => {
                (&programs.controller_manager, self.controller_manager_args(), &options.controller_manager_flags)
            }
        };
        args.extend(more.iter().cloned());
        Command {
            program: program.clone(),
            args,
            env: BTreeMap::new(),
            current_dir: self.folder.clone(),
            stdout: self.log(component),
            stderr: self.log(component),
            // Without etcd an apiserver takes minutes to stop.
            ends: if component == Component::Etcd { Ends::Last } else { Ends::First },
        }
    }

    pub(super) fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd)
    }

    fn etcd_args(&self) -> Vec<String> {
        vec![
            format!("--data-dir={}", self.path("etcd")),
            format!("--listen-client-urls={}", self.etcd_url()),
            format!("--advertise-client-urls={}", self.etcd_url()),
            format!("--listen-peer-urls=http://127.0.0.1:{}", self.etcd_peer),
            // What a test writes need not survive a power cut.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]
    }

    fn apiserver_args(&self, options: &Options) -> Vec<String> {
        let mut args = vec![
            format!("--etcd-servers={}", self.etcd_url()),
            format!("--secure-port={}", self.port),
            "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112".to_owned(),
            format!("--tls-cert-file={}", self.path("server.crt")),
            format!("--tls-private-key-file={}", self.path("server.key")),
            format!("--client-ca-file={}", self.path("ca.crt")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-signing-key-file={}", self.path("service-account.key")),
            format!("--service-account-key-file={}", self.path("service-account.pub")),
            "--authorization-mode=Node,RBAC".to_owned(),
            format!("--audit-policy-file={}", self.path("audit-policy.yaml")),
            format!("--audit-log-path={}", self.audit_log().display()),
        ];
        match self.reach {
            Reach::Loopback => args.extend([
                "--bind-address=127.0.0.1".to_owned(),
                // It must not be loopback. Nothing calls it: a documentation address (RFC 5737).
                "--advertise-address=203.0.113.1".to_owned(),
                PLUGINS.to_owned(),
            ]),
            Reach::Nodes => args.extend([
                "--bind-address=0.0.0.0".to_owned(),
                format!("--advertise-address={}", nodes::CONTROL_PLANE),
                format!("{PLUGINS},NodeRestriction"),
                // Nobody resolves the nodes' names.
                "--kubelet-preferred-address-types=InternalIP".to_owned(),
                format!("--kubelet-client-certificate={}", self.path("kubelet-client.crt")),
                format!("--kubelet-client-key={}", self.path("kubelet-client.key")),
            ]),
        }
        if let Some(range) = &options.service_node_port_range {
            args.push(format!("--service-node-port-range={}-{}", range.start(), range.end()));
        }
        args
    }

    fn controller_manager_args(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.path("controller-manager.kubeconfig")),
            format!("--service-account-private-key-file={}", self.path("service-account.key")),
            format!("--root-ca-file={}", self.path("ca.crt")),
            "--use-service-account-credentials=true".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            match self.reach {
                Reach::Loopback => format!("--controllers=*,{NODE_CONTROLLERS},{NODE_WATCHERS}"),
                Reach::Nodes => format!("--controllers=*,{NODE_CONTROLLERS}"),
            },
            // The default of 20 requests a second would make 200 collected Services a test of that limit.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=1000".to_owned(),
        ]
    }
}
