//! The `.conf` file, as Akka and Pekko include it.
//!
//! What Typesafe Config makes of each line is tested with that library (tests/typesafe-config).

use super::allocation::{AllocatedPort, Allocation, variable};
use crate::{
    choices::{Bind, Flavor},
    host::Host,
};

/// Which ports are Akka's, and what the file says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Akka {
    /// Name of the Service's port for Artery, the members' own protocol.
    pub artery: String,
    /// Name of the Service's port for Akka Management.
    pub management: String,
    /// Whose keys are set.
    pub flavor: Flavor,
    /// Whether they say where to bind too.
    pub bind: Bind,
}

/// The Service has no port of a name that the file needs. The template was checked for it, so this never shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Service has no port {0:?}")]
pub struct NoSuchPort(String);

/// The file's text. With the flavor `akka` its first seven lines are those of the original tool, byte for byte.
///
/// # Errors
/// One of the two Akka ports is not there.
pub fn render(allocation: &Allocation, akka: &Akka) -> Result<String, NoSuchPort> {
    let find = |name: &String| {
        let port = allocation.ports.iter().find(|port| port.name.as_ref() == Some(name));
        port.ok_or_else(|| NoSuchPort(name.clone()))
    };
    let (artery, management) = (find(&akka.artery)?, find(&akka.management)?);
    let mut lines = vec![
        format!("IPF_NODEPORT = {}", artery.node_port),
        format!("IPF_MANAGEMENTPORT = {}", management.node_port),
        format!("IPF_NODENAME = {}", value(&allocation.host)),
    ];
    for root in roots(akka.flavor) {
        lines.extend(canonical(root));
        if akka.bind == Bind::On {
            lines.extend(bind(root, artery, management));
        }
    }
    let further = allocation.ports.iter().filter(|port| ![artery, management].contains(port));
    lines.extend(further.map(|port| format!("IPF_NODEPORT_{} = {}", variable(port.key()), port.node_port)));
    Ok(lines.join("\n") + "\n")
}

fn roots(flavor: Flavor) -> &'static [&'static str] {
    match flavor {
        Flavor::Akka => &["akka"],
        Flavor::Pekko => &["pekko"],
        Flavor::Both => &["akka", "pekko"],
    }
}

fn canonical(root: &str) -> [String; 4] {
    [
        format!("{root}.remote.artery.canonical.port = ${{IPF_NODEPORT}}"),
        format!("{root}.remote.artery.canonical.hostname = ${{IPF_NODENAME}}"),
        format!("{root}.management.http.hostname = ${{IPF_NODENAME}}"),
        format!("{root}.management.http.port = ${{IPF_MANAGEMENTPORT}}"),
    ]
}

/// Without these, Akka binds to the node's address and port, which the pod does not have.
///
/// `0.0.0.0` listens on IPv6 too (Java's sockets are dual-stack). Of a port that is not known, the application's own
/// configuration decides.
fn bind(root: &str, artery: &AllocatedPort, management: &AllocatedPort) -> impl Iterator<Item = String> {
    [
        Some(format!("{root}.remote.artery.bind.hostname = \"0.0.0.0\"")),
        artery.target.map(|port| format!("{root}.remote.artery.bind.port = {port}")),
        Some(format!("{root}.management.http.bind-hostname = \"0.0.0.0\"")),
        management.target.map(|port| format!("{root}.management.http.bind-port = {port}")),
    ]
    .into_iter()
    .flatten()
}

/// The host as a HOCON value: without quotes, as documented, where it then means the same.
///
/// Of the hosts there are, that is all but IPv6, whose colons are HOCON's, and the name `null`. The rest of what
/// HOCON gives a meaning (spaces, `$`, `#`, `//` and more) is in no [`Host`].
fn value(host: &Host) -> String {
    let text = host.to_string();
    if text.contains(':') || text == "null" { format!("\"{text}\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::{
        super::allocation::tests::{documented, port},
        *,
    };

    fn akka(flavor: Flavor, bind: Bind) -> Akka {
        Akka { artery: "akka-artery".to_owned(), management: "akka-management".to_owned(), flavor, bind }
    }

    #[test]
    fn the_files_are_these_byte_for_byte() {
        let mut further = documented();
        further.host = "fd00::5".parse().unwrap();
        further.ports.extend([port("web-2", 31236, 80), port("8080", 31237, 0)]);
        let mut unknown_target = documented();
        unknown_target.ports[1].target = None;
        for (allocation, flavor, bind, golden) in [
            (&documented(), Flavor::Akka, Bind::Off, include_str!("golden/documented.conf")),
            (&documented(), Flavor::Akka, Bind::On, include_str!("golden/bind.conf")),
            (&documented(), Flavor::Pekko, Bind::On, include_str!("golden/pekko.conf")),
            (&further, Flavor::Both, Bind::On, include_str!("golden/both.conf")),
            (&unknown_target, Flavor::Akka, Bind::On, include_str!("golden/unknown-target.conf")),
        ] {
            assert_eq!(render(allocation, &akka(flavor, bind)).unwrap(), golden);
        }
    }

    #[test]
    fn one_port_can_serve_both_purposes() {
        let mut one = akka(Flavor::Akka, Bind::Off);
        one.management = "akka-artery".to_owned();
        let text = render(&documented(), &one).unwrap();
        assert!(text.starts_with("IPF_NODEPORT = 31234\nIPF_MANAGEMENTPORT = 31234\n"), "{text}");
        assert!(text.ends_with("\nIPF_NODEPORT_AKKA_MANAGEMENT = 31235\n"), "{text}");
    }

    #[test]
    fn nothing_is_written_without_both_ports() {
        for (there, missing) in
            [("akka-management", "akka-artery"), ("akka-artery", "akka-management"), ("", "akka-artery")]
        {
            let mut allocation = documented();
            allocation.ports = vec![port(there, 31234, 80)];
            let error = render(&allocation, &akka(Flavor::Akka, Bind::On)).unwrap_err();
            assert_eq!(error, NoSuchPort(missing.to_owned()));
        }
    }

    #[test]
    fn hosts_are_quoted_only_where_hocon_needs_it() {
        for (host, written) in [
            ("node-1", "node-1"),
            ("node_1.a", "node_1.a"),
            ("10.0.0.5", "10.0.0.5"),
            ("fd00::5", "\"fd00::5\""),
            ("null", "\"null\""),
            ("true", "true"),
            ("1e5", "1e5"),
            ("0123", "0123"),
        ] {
            assert_eq!(value(&host.parse().unwrap()), written);
        }
    }
}
