//! Helm, with folders of its own, and without a network but the machine's own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cluster_tests::harness::{cargo, programs};
use serde_json::Value;
use tempfile::TempDir;

/// The chart's folder, from the checkout's root.
pub(crate) const CHART: &str = "charts/ipf-dynamic-nodeport-service";

/// The release's name in all tests.
pub(crate) const RELEASE: &str = "ipf-dynamic-nodeport-service";

/// Helm, as a user has it on a new machine.
pub(crate) struct Helm {
    program: PathBuf,
    home: TempDir,
    kubeconfig: Option<PathBuf>,
}

impl Helm {
    /// One that knows no cluster.
    pub(crate) fn new() -> Self {
        let program = programs::helm().unwrap_or_else(|error| panic!("{error}"));
        Self { program, home: TempDir::new().unwrap(), kubeconfig: None }
    }

    /// One that works on a cluster.
    pub(crate) fn on(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig: Some(kubeconfig), ..Self::new() }
    }

    /// Its own folder, for files of the test.
    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }

    /// Runs it in the checkout's root, and returns what it printed: on standard output, or as an error what it said instead.
    pub(crate) fn run(&self, args: &[&str]) -> Result<String, String> {
        let home = |name: &str| self.home.path().join(name);
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(cargo::workspace()).env_clear().env("HOME", home("home"));
        for kind in ["CACHE", "CONFIG", "DATA"] {
            command.env(format!("HELM_{kind}_HOME"), home(kind)).env(format!("XDG_{kind}_HOME"), home(kind));
        }
        // A request to any other machine than this one fails at once.
        command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("HTTP_PROXY", "http://127.0.0.1:1");
        command.env("KUBECONFIG", self.kubeconfig.clone().unwrap_or_else(|| home("no-kubeconfig")));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr) + &text(output.stdout)) }
    }

    /// A file with these values.
    pub(crate) fn values(&self, values: &str) -> String {
        let path = self.home.path().join("values.yaml");
        fs::write(&path, values).unwrap();
        path.display().to_string()
    }

    /// What a chart renders with these values, in their order.
    pub(crate) fn template(&self, chart: &str, namespace: &str, values: &str) -> Result<Vec<Value>, String> {
        let values = self.values(values);
        let rendered = self.run(&["template", RELEASE, chart, "--namespace", namespace, "--values", &values])?;
        Ok(serde_saphyr::from_multiple(&rendered).unwrap_or_else(|error| panic!("{error} in\n{rendered}")))
    }
}
