//! What Akka and Pekko read from the `.conf` file: rendered by the creator, read by the library that they read it
//! with (tests/typesafe-config), all cases in one Java process.

#![cfg(test)]

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroU16,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use creator::{
    choices::{Bind, Flavor},
    host::Host,
    output::{
        AllocatedPort, Allocation,
        hocon::{Akka, render},
    },
    pod::PodIdentity,
};

/// Hosts that HOCON could take for something else, or that have a form of their own.
const HOSTS: &[&str] = &[
    "node-1",
    "NODE-1.Example.COM",
    "a.b.c",
    "node_1.a_b",
    "node.example.",
    "10.0.0.5",
    "fd00::5",
    "::1",
    "2001:db8:0:0:1:0:0:1",
    "::ffff:10.0.0.5",
    "null",
    "null.a",
    "null-1",
    "nullable",
    "true",
    "false",
    "true.a",
    "yes",
    "on",
    "nan",
    "infinity",
    "include",
    "include.a",
    "include-1",
    "required",
    "url",
    "file",
    "classpath",
    "0",
    "00",
    "0123",
    "1e5",
    "1e400",
    "1e-5",
    "1e-5.a",
    "1.5",
    "1.50",
    "0x1f",
    "5s",
    "10k",
    "12345678901234567890123456789012345678901234567890",
    "_a",
    "a--b",
];

/// One of each kind of character that a host may have; `n`, `e` and `x` also belong to HOCON's and Java's words.
const ALPHABET: &[char] = &['a', 'n', 'e', 'x', '0', '1', '.', '-', '_'];

#[derive(Clone, Copy)]
enum Further {
    None,
    Two,
}

struct Case {
    host: Host,
    flavor: Flavor,
    bind: Bind,
    further: Further,
}

/// A value's type in the library's words, where it matters, and its text.
type Read = BTreeMap<String, (String, String)>;

impl Case {
    fn text(&self) -> String {
        let mut ports = vec![port("akka-management", 31235, 8558), port("akka-artery", 31234, 55001)];
        if let Further::Two = self.further {
            ports.extend([port("web-2", 31236, 80), port("8080", 31237, 8080)]);
        }
        let allocation = Allocation {
            host: self.host.clone(),
            addresses: vec![self.host.clone()],
            ports,
            pod: PodIdentity { name: "app-0".to_owned(), namespace: "default".to_owned(), uid: "u".to_owned() },
            node: None,
            service: "app-0".to_owned(),
        };
        let [artery, management] = ["akka-artery", "akka-management"].map(str::to_owned);
        render(&allocation, &Akka { artery, management, flavor: self.flavor, bind: self.bind }).unwrap()
    }

    fn expected(&self) -> Read {
        let host = self.host.to_string();
        let mut expected = Read::new();
        let mut number = |key: String, value: u16| expected.insert(key, ("NUMBER".to_owned(), value.to_string()));
        let roots: &[&str] = match self.flavor {
            Flavor::Akka => &["akka"],
            Flavor::Pekko => &["pekko"],
            Flavor::Both => &["akka", "pekko"],
        };
        number("IPF_NODEPORT".to_owned(), 31234);
        number("IPF_MANAGEMENTPORT".to_owned(), 31235);
        for root in roots {
            number(format!("{root}.remote.artery.canonical.port"), 31234);
            number(format!("{root}.management.http.port"), 31235);
            if self.bind == Bind::On {
                number(format!("{root}.remote.artery.bind.port"), 55001);
                number(format!("{root}.management.http.bind-port"), 8558);
            }
        }
        if let Further::Two = self.further {
            number("IPF_NODEPORT_WEB_2".to_owned(), 31236);
            number("IPF_NODEPORT_8080".to_owned(), 31237);
        }
        // Akka asks for a string, and gets the text that was written also of a number or a boolean.
        let mut string = |key: String, value: &str| expected.insert(key, ("STRING".to_owned(), value.to_owned()));
        string("IPF_NODENAME".to_owned(), &host);
        for root in roots {
            string(format!("{root}.remote.artery.canonical.hostname"), &host);
            string(format!("{root}.management.http.hostname"), &host);
            if self.bind == Bind::On {
                string(format!("{root}.remote.artery.bind.hostname"), "0.0.0.0");
                string(format!("{root}.management.http.bind-hostname"), "0.0.0.0");
            }
        }
        expected
    }
}

fn port(name: &str, node_port: u16, target: u16) -> AllocatedPort {
    AllocatedPort {
        name: Some(name.to_owned()),
        node_port: NonZeroU16::new(node_port).unwrap(),
        target: NonZeroU16::new(target),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let hosts = HOSTS.iter().map(|host| (*host).to_owned()).chain([vec!["a".repeat(63); 3].join(".")]);
    for host in hosts {
        for flavor in [Flavor::Akka, Flavor::Pekko, Flavor::Both] {
            for bind in [Bind::On, Bind::Off] {
                for further in [Further::None, Further::Two] {
                    cases.push(Case { host: host.parse().unwrap(), flavor, bind, further });
                }
            }
        }
    }
    cases.extend(short_hosts().map(|host| Case {
        host,
        flavor: Flavor::Akka,
        bind: Bind::Off,
        further: Further::None,
    }));
    cases
}

/// Every host of up to three characters of the alphabet.
fn short_hosts() -> impl Iterator<Item = Host> {
    let letters = || ALPHABET.iter().map(char::to_string);
    let longer = |texts: Vec<String>| -> Vec<String> {
        texts.iter().flat_map(|text| letters().map(move |letter| format!("{text}{letter}"))).collect()
    };
    let one: Vec<String> = letters().collect();
    let two = longer(one.clone());
    let three = longer(two.clone());
    [one, two, three].into_iter().flatten().filter_map(|text| text.parse().ok())
}

/// The reader's folder, built once; `None` where the tools are missing and need not be there.
static READER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("typesafe-config");
    for (tool, argument) in [("java", "-version"), ("mvn", "-version")] {
        if Command::new(tool).arg(argument).output().is_err() {
            let missing = format!("{tool} is missing: install a JDK (11 or later) and Maven");
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{missing}");
            eprintln!("SKIPPED typesafe_config: {missing}");
            return None;
        }
    }
    let maven = Command::new("mvn").args(["-B", "-q", "process-classes"]).current_dir(&project).output().unwrap();
    assert!(maven.status.success(), "mvn: {}", String::from_utf8_lossy(&maven.stdout));
    Some(project.join("target"))
});

/// What the library reads from each file of the folder; the message where it refuses the file.
fn read(reader: &Path, folder: &Path) -> BTreeMap<String, Result<Read, String>> {
    let class_path = format!("{0}/classes:{0}/dependency/*", reader.display());
    let java = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-cp", &class_path, "ReadConf"])
        .arg(folder)
        // A substitution falls back to the environment; the file must win.
        .envs([("IPF_NODENAME", "elsewhere"), ("IPF_NODEPORT", "1"), ("IPF_MANAGEMENTPORT", "1")])
        .output()
        .unwrap();
    assert!(java.status.success(), "java: {}", String::from_utf8_lossy(&java.stderr));
    let mut files = BTreeMap::new();
    for line in String::from_utf8(java.stdout).unwrap().lines() {
        let text = |json: &str| serde_json::from_str::<String>(json).unwrap();
        match line.split('\t').collect::<Vec<_>>()[..] {
            [file, "ERROR", message] => {
                files.insert(file.to_owned(), Err(text(message)));
            }
            [file, path, kind, value] => {
                let read = files.entry(file.to_owned()).or_insert_with(|| Ok(Read::new())).as_mut().unwrap();
                read.insert(path.to_owned(), (kind.to_owned(), text(value)));
            }
            _ => panic!("not a line of the reader: {line}"),
        }
    }
    files
}

/// A host such as `1e5` or `true` is of another type, with the same text.
fn hosts_as_strings(mut read: Read) -> Read {
    for (key, (kind, _)) in &mut read {
        if key == "IPF_NODENAME" || key.ends_with("hostname") {
            "STRING".clone_into(kind);
        }
    }
    read
}

#[test]
fn every_file_is_read_to_the_expected_values() {
    let Some(reader) = &*READER else { return };
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    for (number, case) in cases.iter().enumerate() {
        fs::write(folder.path().join(format!("{number}.conf")), case.text()).unwrap();
    }
    let mut files = read(reader, folder.path());
    for (number, case) in cases.iter().enumerate() {
        let found = files.remove(&format!("{number}.conf")).map(|found| found.map(hosts_as_strings));
        assert_eq!(found, Some(Ok(case.expected())), "{}", case.text());
    }
    println!("{} files read", cases.len());
}

#[test]
fn an_application_gets_the_values_by_including_the_file() {
    let Some(reader) = &*READER else { return };
    let case = Case { host: "fd00::5".parse().unwrap(), flavor: Flavor::Both, bind: Bind::On, further: Further::Two };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodeport.conf");
    fs::write(&file, case.text()).unwrap();
    let applications = folder.path().join("applications");
    fs::create_dir(&applications).unwrap();
    let file = file.display();
    for (name, text) in [
        ("required.conf", format!("include required(file(\"{file}\"))\nakka.cluster.seed-nodes = []\n")),
        ("documented.conf", format!("include \"file://{file}\"\nakka.cluster.seed-nodes = []\n")),
        ("missing.conf", format!("include required(file(\"{file}.none.conf\"))\n")),
    ] {
        fs::write(applications.join(name), text).unwrap();
    }
    let mut files = read(reader, &applications);
    for name in ["required.conf", "documented.conf"] {
        let mut found = files.remove(name).unwrap().unwrap();
        assert!(found.remove("akka.cluster.seed-nodes").is_some(), "the application's own key");
        assert_eq!(hosts_as_strings(found), case.expected(), "{name}");
    }
    let refused = files.remove("missing.conf").unwrap().unwrap_err();
    assert!(refused.contains("nodeport.conf.none.conf"), "{refused}");
}
