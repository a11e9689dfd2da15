//! The documents: nothing they name is missing, and nothing that they must name is left out.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "also the helpers here are tests")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use cluster_tests::harness::cargo::workspace;
use net_service::{crd::crd, resource::Group};
use serde_json::Value;

/// Where the source of the programs is.
const PROGRAMS: [&str; 4] = ["common/src", "creator/src", "net-service/src", "watcher/src"];

fn read(file: impl AsRef<Path>) -> String {
    let path = workspace().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder with this extension, in order; nothing of what Cargo or Maven built.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![workspace().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_ours = !["target", ".git"].iter().any(|name| path.ends_with(name)) && !path.is_symlink();
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap_or(path).display().to_string()
}

/// The fenced blocks of a document in this language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    document.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

/// What a manifest depends on: the keys of its tables of dependencies.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut in_table = false;
    let mut names = BTreeSet::new();
    for line in read(manifest).lines() {
        if line.starts_with('[') {
            in_table = line.ends_with("dependencies]");
        } else if in_table && let Some(name) = line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty()) {
            names.insert(name.trim_start_matches('#').to_owned());
        }
    }
    names.remove("");
    names
}

#[test]
fn every_dependency_has_its_reason_in_the_architecture() {
    let architecture = read("docs/architecture.md");
    let packages =
        ["common", "creator", "net-service", "watcher", "tests"].map(|package| format!("{package}/Cargo.toml"));
    let manifests = packages.iter().map(String::as_str).chain(["Cargo.toml"]);
    let names: BTreeSet<_> = manifests.flat_map(dependencies).collect();
    assert!(names.contains("handlebars") && names.contains("wait4"), "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !architecture.contains(&format!("|`{name}`|"))).collect();
    assert!(missing.is_empty(), "no row in docs/architecture.md for {missing:?}");
}

/// What a module says of itself first, without links.
fn first_sentence(module: &Path) -> String {
    let text = fs::read_to_string(module).unwrap();
    let paragraph = text.lines().map_while(|line| line.strip_prefix("//!")).take_while(|line| !line.is_empty());
    let mut paragraph = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
    while let Some((before, rest)) = paragraph.split_once("](") {
        paragraph = before.replacen("[`", "`", 1) + rest.split_once(')').unwrap().1;
    }
    let paragraph = paragraph.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
    paragraph.split_inclusive(". ").next().unwrap().trim().trim_end_matches('.').to_owned()
}

#[test]
fn the_map_of_modules_is_in_their_own_words() {
    let modules = PROGRAMS.into_iter().flat_map(|folder| files(folder, "rs"));
    let row = |path: &PathBuf| {
        let name = shown(path).replace("/src/", "/");
        let name = name.trim_end_matches(".rs").trim_end_matches("/mod");
        format!("|`{name}`|{}|\n", first_sentence(path))
    };
    let rows: String = modules.filter(|path| !shown(path).contains("tests")).map(|path| row(&path)).collect();
    let architecture = read("docs/architecture.md");
    let (begin, end) = ("<!-- begin modules -->\n", "<!-- end modules -->\n");
    let (before, rest) = architecture.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let generated = format!("{before}{begin}\n|Module|What it does|\n|---|---|\n{rows}\n{end}{after}");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(workspace().join("docs/architecture.md"), generated).unwrap();
    } else {
        assert!(
            architecture == generated,
            "the table of modules in docs/architecture.md is not the code's: `make docs`"
        );
    }
}

/// The exit codes, as `Exit` numbers them.
fn exit_codes() -> Vec<u8> {
    let number = |line: &str| line.trim().strip_suffix(',')?.split_once(" = ")?.1.parse().ok();
    read("common/src/exit.rs").lines().filter_map(number).collect()
}

#[test]
fn every_exit_code_has_its_heading_and_its_row() {
    let troubleshooting = read("docs/troubleshooting.md");
    let readme = read("README.md");
    let codes = exit_codes();
    assert_eq!(codes.len(), 10);
    for code in codes {
        let heading = format!("\n## Exit code {code}: ");
        assert!(code == 0 || troubleshooting.contains(&heading), "no heading for exit code {code}");
        assert!(readme.contains(&format!("\n|{code}|")), "README.md has no row for exit code {code}");
    }
}

/// Text as it is printed: a format's `{{` and `{` are one thing, and so are a literal's escapes and what they stand for.
fn printed(text: &str) -> String {
    let mut text = text.replace("\\\"", "\"").replace("\\|", "|");
    for brace in ["{", "}"] {
        while text.contains(&brace.repeat(2)) {
            text = text.replace(&brace.repeat(2), brace);
        }
    }
    text
}

/// The source of the programs, with each literal on one line.
fn source() -> String {
    let sources = PROGRAMS.into_iter().flat_map(|folder| files(folder, "rs"));
    let text: String = sources.map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap().to_owned();
    printed(&lines.fold(first, |text, line| text + line.trim_start()))
}

/// Messages are quoted in the first column of tables, with `…` for what differs; programs compose them at `:` and `;`.
#[test]
fn every_message_quoted_is_one_of_the_programs() {
    let source = source();
    let document = read("docs/troubleshooting.md");
    let messages = document.lines().filter_map(|line| line.strip_prefix("|`")?.split("`|").next());
    let pieces: Vec<_> = messages
        .flat_map(|message| message.split(['…', ':', ';']).map(str::trim).filter(|piece| piece.len() > 3))
        .collect();
    assert!(pieces.len() > 100, "{pieces:?}");
    let missing: Vec<_> = pieces.into_iter().filter(|piece| !source.contains(&printed(piece))).collect();
    assert!(missing.is_empty(), "docs/troubleshooting.md quotes what no program says: {missing:#?}");
}

#[test]
fn every_field_and_every_reason_of_a_net_service_has_its_row() {
    let document = read("docs/net-service.md");
    let row = |name: &str| document.contains(&format!("\n|`{name}`|"));
    let definition = serde_json::to_value(crd(Group::Own)).unwrap();
    let properties = |schema: &Value| schema["properties"].as_object().unwrap().clone();
    let schema = properties(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    let of_ports = properties(&properties(&schema["spec"])["ports"]["items"]);
    let fields = properties(&schema["spec"]).into_iter().chain(properties(&schema["status"])).map(|(name, _)| name);
    for name in fields.chain(of_ports.keys().map(|name| format!("ports[].{name}"))) {
        assert!(row(&name), "no row for {name}");
    }
    let status = read("net-service/src/status.rs");
    let reasons: Vec<_> =
        status.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => ")).collect();
    assert!(reasons.len() >= 6, "{reasons:?}");
    for (reason, _) in reasons {
        assert!(row(reason), "no row for {reason}");
    }
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut broken = Vec::new();
    for document in files("", "md") {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let has_anchor = || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor);
            if !target.exists() || !(anchor.is_empty() || has_anchor()) {
                broken.push(format!("{}: {link}", shown(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(document: &str) -> BTreeSet<String> {
    let headings =
        document.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let slug = |heading: &str| {
        let kept = heading.to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(slug).collect()
}

#[test]
fn every_manifest_is_yaml() {
    let manifests: Vec<_> = ["examples", "permissions"].into_iter().flat_map(|folder| files(folder, "yaml")).collect();
    assert!(manifests.len() >= 20, "{manifests:?}");
    // Rules are Prometheus's own, and judged in watcher/tests/monitoring.rs.
    for path in manifests.into_iter().filter(|path| !shown(path).starts_with("examples/monitoring/")) {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", shown(&path)));
        for document in documents {
            assert!(document["kind"].is_string() && document["metadata"]["name"].is_string(), "{}", shown(&path));
        }
    }
}

#[test]
fn the_permissions_are_where_the_original_documents_them() {
    let link = workspace().join("examples/permissions");
    assert!(link.is_symlink());
    for file in ["role.yaml", "cluster-role.yaml"] {
        assert_eq!(fs::read_to_string(link.join(file)).unwrap(), read(format!("permissions/{file}")));
    }
}

#[test]
fn the_readme_shows_what_the_programs_read_and_write() {
    let readme = read("README.md");
    let conf = blocks(&readme, "hocon");
    assert!(conf.contains(&read("creator/src/output/golden/bind.conf")), "{conf:?}");
    assert!(conf.iter().any(|block| block.contains("include required(file(\"/nodeport/nodeport.conf\"))")), "{conf:?}");
    let yaml = blocks(&readme, "yaml");
    assert!(!yaml.is_empty());
    for block in yaml {
        serde_saphyr::from_multiple::<Value>(&block).unwrap_or_else(|error| panic!("{error} in\n{block}"));
    }
    let commands = blocks(&readme, "console");
    assert_eq!(commands.first().map(String::as_str), Some("make demo\nmake test\n"));
}

#[test]
fn the_formats_shown_are_those_that_are_written() {
    let configuration = read("docs/configuration.md");
    assert_eq!(blocks(&configuration, "text"), [read("creator/src/output/golden/documented.env")]);
    assert_eq!(blocks(&configuration, "json"), [read("creator/src/output/golden/documented.json")]);
}
