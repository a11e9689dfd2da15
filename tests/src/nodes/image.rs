//! Images for containerd: the project's own, as `make images` builds them, and those of what tests run.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::harness::cargo;

/// The user that images run as, unless a pod says otherwise: `nonroot`, as distroless images have it.
const USER: &str = "65532:65532";

/// An image to be made of a folder's content.
#[derive(Debug)]
pub struct Image {
    /// Its name, with the registry.
    pub name: String,
    /// What becomes its root.
    pub root: PathBuf,
    /// What it runs.
    pub entrypoint: Vec<String>,
}

impl Image {
    /// Writes it as a `docker save` archive in a folder, and returns the archive.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        let folder = tempfile::Builder::new().prefix("image-").tempdir_in(folder)?.keep();
        let layer = folder.join("layer.tar");
        tar(&["--create", "--numeric-owner", "--owner=0", "--group=0", "--sort=name"], &layer, &self.root, &["."])?;
        let digest = output(Command::new("sha256sum").arg(&layer))?;
        let digest = digest.split_whitespace().next().unwrap_or_default();
        let config = json!({
            "architecture": architecture(),
            "os": "linux",
            "config": {"Entrypoint": self.entrypoint, "User": USER, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
        });
        fs::write(folder.join("config.json"), config.to_string())?;
        let manifest = json!([{"Config": "config.json", "RepoTags": [self.name], "Layers": ["layer.tar"]}]);
        fs::write(folder.join("manifest.json"), manifest.to_string())?;
        let archive = folder.join("image.tar");
        tar(&["--create"], &archive, &folder, &["manifest.json", "config.json", "layer.tar"])?;
        fs::remove_file(layer)?;
        Ok(archive)
    }
}

/// Whether the project's own images can be built.
///
/// # Errors
/// Says what is missing and how to get it.
pub(super) fn check() -> Result<(), String> {
    output(Command::new(builder()).arg("--check")).map(drop).map_err(|error| error.to_string())
}

/// The script that `make images` calls.
fn builder() -> PathBuf {
    cargo::workspace().join("images/build.sh")
}

/// The project's own images, built by the script that `make images` calls, of these programs.
///
/// # Errors
/// When it fails; its message is in the error.
pub(super) fn own(folder: &Path, creator: &Path, watcher: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = folder.join("images");
    let programs = folder.join("programs");
    fs::create_dir_all(&programs)?;
    for (program, name) in [(creator, common::labels::CREATOR), (watcher, common::labels::WATCHER)] {
        fs::copy(program, programs.join(name))?;
    }
    output(Command::new(builder()).arg("--programs").arg(&programs).arg("--save").arg(&folder))?;
    Ok([common::labels::CREATOR, common::labels::WATCHER].map(|name| folder.join(format!("{name}.tar"))).into())
}

/// The Go name of this machine's architecture, which images use.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn tar(flags: &[&str], archive: &Path, folder: &Path, files: &[&str]) -> io::Result<()> {
    output(Command::new("tar").args(flags).arg("--file").arg(archive).arg("--directory").arg(folder).args(files))
        .map(drop)
}

fn output(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let name = command.get_program().to_string_lossy().into_owned();
    Err(io::Error::other(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
