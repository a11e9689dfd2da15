//! Who takes part, and one run of each.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use cluster_tests::{
    harness::{
        Outcome, Pod, Run,
        cargo::{self, Profile},
        control_plane::NODE,
        manifests, programs,
    },
    measurement::Measurement,
};
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

/// Where `measure` writes, and where every contender does, in the run's folder.
const REPORT: &str = "measurement.json";
const OUTPUT: &str = "nodeport.conf";

/// Something that gives a pod its node ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// The creator with the documented ConfigMap.
    Creator,
    /// The creator with the same template from a file.
    CreatorWithTemplate,
    /// `bench/kubectl-sed.sh`.
    Script,
    /// The program `floor`.
    Floor,
}

/// What the contenders are run from.
pub(crate) struct Programs {
    /// The creator, as it ships.
    pub(crate) creator: PathBuf,
    measure: PathBuf,
    floor: PathBuf,
    kubectl: PathBuf,
    script: PathBuf,
    /// The documented template.
    template: String,
}

impl Programs {
    /// Finds or builds all of it, as it ships: optimized.
    pub(crate) fn build() -> Result<Self, Box<dyn Error>> {
        let configmap = manifests::read("examples/documented/configmap.yaml");
        let template = configmap.iter().find_map(|document| document["data"]["default.yaml"].as_str());
        Ok(Self {
            creator: cargo::creator().to_path_buf(),
            measure: cargo::build(env!("CARGO_PKG_NAME"), "measure", Profile::Release, &[]),
            floor: cargo::build(env!("CARGO_PKG_NAME"), "floor", Profile::Release, &[]),
            kubectl: programs::kubectl()?,
            script: Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/kubectl-sed.sh"),
            template: template.ok_or("the documented ConfigMap has no default.yaml")?.to_owned(),
        })
    }
}

impl Contender {
    /// All, in the order of the table.
    pub(crate) const ALL: [Self; 4] = [Self::Creator, Self::CreatorWithTemplate, Self::Script, Self::Floor];

    /// What the table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Creator => "creator",
            Self::CreatorWithTemplate => "creator with template",
            Self::Script => "kubectl script",
            Self::Floor => "floor",
        }
    }

    /// Runs it for a fresh pod, and checks that the pod has its Service and the file names that Service's ports.
    pub(crate) async fn run(self, programs: &Programs, pod: &Pod<'_>) -> Result<Measurement, Box<dyn Error>> {
        let mut run = Run::creator(pod).await.program(&programs.measure);
        let report = run.path(REPORT);
        run = run.arg(report);
        run = match self {
            Self::Creator => run.arg(text(&programs.creator)),
            Self::CreatorWithTemplate => {
                let template = run.file("template.yaml", &programs.template);
                run.args([text(&programs.creator), "--template".to_owned(), template])
            }
            Self::Script => {
                // Empty, as a container's is: kubectl has to learn the API's types in each pod anew.
                let home = run.path("home");
                run.env("HOME", &home)
                    .env("NAMESPACE", pod.namespace().name())
                    .env("POD", pod.name())
                    .env("KUBECTL", &text(&programs.kubectl))
                    .arg(text(&programs.script))
            }
            Self::Floor => {
                let arguments = self::floor(&run, pod).await;
                run.arg(text(&programs.floor)).args(arguments)
            }
        };
        let outcome = run.run().await.expect_code(0);
        check(&outcome, pod).await?;
        let report = outcome.file(REPORT).ok_or("measure left no report")?;
        Ok(serde_json::from_str(&report)?)
    }
}

async fn floor(run: &Run, pod: &Pod<'_>) -> [String; 16] {
    let control_plane = pod.namespace().control_plane();
    [
        "--server".to_owned(),
        format!("127.0.0.1:{}", control_plane.port()),
        "--ca".to_owned(),
        run.file("ca.crt", control_plane.certificates().authority()),
        "--token-file".to_owned(),
        run.file("token", pod.bound_token().await),
        "--namespace".to_owned(),
        pod.namespace().name().to_owned(),
        "--pod".to_owned(),
        pod.name().to_owned(),
        "--uid".to_owned(),
        pod.uid().to_owned(),
        "--node".to_owned(),
        NODE.to_owned(),
        "--output".to_owned(),
        run.path(OUTPUT),
    ]
}

/// A contender that does not do the work must not win.
async fn check(outcome: &Outcome, pod: &Pod<'_>) -> Result<(), Box<dyn Error>> {
    let service = serde_json::to_value(pod.namespace().api::<Service>().get(pod.name()).await?)?;
    let port = |name: &str| {
        let ports = service["spec"]["ports"].as_array().into_iter().flatten();
        ports.filter(|port| port["name"] == name).map(|port| port["nodePort"].clone()).next().unwrap_or(json!(null))
    };
    let expected = format!(
        "IPF_NODEPORT = {}\nIPF_MANAGEMENTPORT = {}\nIPF_NODENAME = {NODE}\n",
        port("akka-artery"),
        port("akka-management"),
    );
    let written = outcome.output().unwrap_or_default();
    if written.starts_with(&expected) {
        return Ok(());
    }
    Err(format!("{OUTPUT} of pod {} should begin with\n{expected}but is\n{written}", pod.name()).into())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
