//! What a program finds around it: how it learns where the API is and who it is.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{access, own_network};

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

/// Which surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// KUBECONFIG, as on a developer's machine.
    Kubeconfig,
    /// The service account's folder and the variables of a pod.
    InCluster,
    /// The same, and a network of its own.
    OwnNetwork,
}

/// The way to the API.
pub(super) struct Access {
    pub(super) server: String,
    pub(super) authority: String,
    pub(super) namespace: String,
    /// None as with `automountServiceAccountToken: false`.
    pub(super) token: Option<String>,
}

impl Surroundings {
    /// Where the program sees the files of its run, which the test sees in `files`.
    pub(super) fn folder(self, files: &Path) -> PathBuf {
        match self {
            Self::Kubeconfig => files.to_path_buf(),
            Self::InCluster | Self::OwnNetwork => PathBuf::from("/tmp"),
        }
    }

    /// Writes into the run's folder, and adds to the environment, what tells a program the way to the API.
    pub(super) fn tell(self, access: &Access, folder: &Path, env: &mut BTreeMap<String, String>) -> io::Result<()> {
        match self {
            Self::Kubeconfig => access.write_kubeconfig(folder, env),
            Self::InCluster | Self::OwnNetwork => access.write_service_account(folder, env),
        }
    }

    /// The command that starts the program in them.
    pub(super) fn command(self, folder: &Path, program: PathBuf, args: Vec<String>) -> (PathBuf, Vec<String>) {
        let (flags, script) = match self {
            Self::Kubeconfig => return (program, args),
            Self::InCluster => (&["--mount"][..], IN_CLUSTER.to_owned()),
            Self::OwnNetwork => (&["--mount", "--net"][..], format!("set -eu{}{IN_CLUSTER}", own_network::PREPARE)),
        };
        let mut all: Vec<_> = flags.iter().chain(&["sh", "-c", &script, "sh"]).map(|&arg| arg.to_owned()).collect();
        all.extend([folder.display().to_string(), program.display().to_string()]);
        all.extend(args);
        (PathBuf::from("/usr/bin/unshare"), all)
    }

    /// What is to be done for the program once it is started.
    pub(super) fn accompany(self, access: &Access, folder: PathBuf, pid: u32) -> io::Result<()> {
        if self == Self::OwnNetwork {
            own_network::serve(pid, access.host_and_port()?.1, folder);
        }
        Ok(())
    }
}

/// The file of the run's folder that a kubeconfig names for the token.
const TOKEN: &str = "token";

/// Replaces the token of a kubeconfig, as the kubelet replaces a mounted one: whoever reads it finds the old or the new.
pub(super) fn replace_token(folder: &Path, token: &str) -> io::Result<()> {
    let new = folder.join("token.new");
    fs::write(&new, token)?;
    fs::rename(new, folder.join(TOKEN))
}

impl Access {
    fn write_kubeconfig(&self, folder: &Path, env: &mut BTreeMap<String, String>) -> io::Result<()> {
        let token = folder.join(TOKEN);
        if let Some(text) = &self.token {
            fs::write(&token, text)?;
        }
        let path = folder.join("kubeconfig");
        let user = match self.token {
            Some(_) => json!({"tokenFile": token}),
            None => json!({}),
        };
        fs::write(&path, access::kubeconfig(&self.server, &self.authority, &self.namespace, &user))?;
        env.entry("KUBECONFIG".to_owned()).or_insert_with(|| path.display().to_string());
        Ok(())
    }

    fn write_service_account(&self, folder: &Path, env: &mut BTreeMap<String, String>) -> io::Result<()> {
        let folder = folder.join("serviceaccount");
        fs::create_dir_all(&folder)?;
        // Without a token Kubernetes mounts nothing of it.
        if let Some(token) = &self.token {
            fs::write(folder.join("token"), token)?;
            fs::write(folder.join("ca.crt"), &self.authority)?;
            fs::write(folder.join("namespace"), &self.namespace)?;
        }
        let (host, port) = self.host_and_port()?;
        env.entry("KUBERNETES_SERVICE_HOST".to_owned()).or_insert(host);
        env.entry("KUBERNETES_SERVICE_PORT".to_owned()).or_insert(port.to_string());
        Ok(())
    }

    fn host_and_port(&self) -> io::Result<(String, u16)> {
        let server: http::Uri = self.server.parse().map_err(io::Error::other)?;
        Ok((server.host().unwrap_or_default().to_owned(), server.port_u16().unwrap_or(443)))
    }
}
