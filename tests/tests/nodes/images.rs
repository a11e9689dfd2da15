//! The images of the programs, as every builder that is here makes them.

use std::{fs, path::Path, process::Command};

use cluster_tests::{harness::cargo, nodes::preflight};
use serde_json::{Value, json};

fn builder() -> Command {
    Command::new(cargo::workspace().join("images/build.sh"))
}

/// A file of a `docker save` archive.
fn read(archive: &Path, file: &str) -> Value {
    let output = Command::new("tar").arg("--extract").arg("--to-stdout").arg("--file").arg(archive).arg(file).output();
    serde_json::from_slice(&output.unwrap().stdout)
        .unwrap_or_else(|error| panic!("{file} in {}: {error}", archive.display()))
}

#[test]
fn they_hold_nothing_but_the_program_and_run_without_root() {
    if !preflight::require() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for (program, name) in [
        (cargo::creator(), "ipf-dynamic-nodeport-service-creator"),
        (cargo::watcher(), "ipf-dynamic-nodeport-service-watcher"),
    ] {
        fs::copy(program, programs.join(name)).unwrap();
    }
    let works = |engine: &&str| builder().env("ENGINE", engine).arg("--check").output().unwrap().status.success();
    let engines: Vec<_> = ["docker", "podman", "buildah"].into_iter().filter(works).collect();
    assert!(!engines.is_empty(), "the preflight has found one");
    for engine in engines {
        let save = folder.path().join(engine);
        let built = builder().env("ENGINE", engine).arg("--programs").arg(&programs).arg("--save").arg(&save).output();
        let built = built.unwrap();
        assert!(built.status.success(), "{engine}: {}", String::from_utf8_lossy(&built.stderr));
        for name in ["ipf-dynamic-nodeport-service-creator", "ipf-dynamic-nodeport-service-watcher"] {
            let archive = save.join(format!("{name}.tar"));
            let manifest = read(&archive, "manifest.json");
            assert_eq!(manifest[0]["RepoTags"], json!([format!("docker.io/library/{name}:latest")]), "{engine}");
            let image = read(&archive, manifest[0]["Config"].as_str().unwrap());
            let config = &image["config"];
            assert_eq!(config["User"], "65532:65532", "{engine}");
            assert_eq!(config["Entrypoint"], json!([format!("/{name}")]), "{engine}");
            assert_eq!(config["Cmd"], Value::Null, "{engine}");
            let label = |key: &str| config["Labels"][format!("org.opencontainers.image.{key}")].as_str().unwrap_or("");
            assert_eq!((label("title"), label("version")), (name, env!("CARGO_PKG_VERSION")), "{engine}");
            assert_eq!(label("licenses"), "Apache-2.0", "{engine}");
            assert!(!label("revision").is_empty() && !label("description").is_empty(), "{engine}");

            let layer = manifest[0]["Layers"][0].as_str().unwrap();
            let list = "tar --extract --to-stdout --file \"$1\" \"$2\" | tar --list --verbose --numeric-owner";
            let listed = Command::new("sh").args(["-c", list, "sh"]).arg(&archive).arg(layer).output().unwrap();
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            let files: Vec<_> = listed.lines().filter(|line| !line.starts_with('d')).collect();
            assert!(files.len() == 1 && files[0].ends_with(name), "{engine}: {listed}");
            assert!(
                files[0].starts_with("-rwxr-xr-x 0/0 "),
                "{engine}: everybody may run it, root alone change it: {listed}"
            );
            // What ships is asked to be small; a test may be given programs that are not optimized.
            if std::env::var_os("CREATOR_BIN").is_none() {
                let size = fs::metadata(&archive).unwrap().len();
                assert!(size < 10_000_000, "{engine}: {name} has {size} bytes");
            }
        }
    }
}
