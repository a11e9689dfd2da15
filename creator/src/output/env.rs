//! The `.env` file: `NAME=value` lines, for a shell's `.` and for readers that know no quoting
//! (`docker run --env-file`) alike.

use super::allocation::{Allocation, UNNAMED, variable};

/// The variables that are no port's.
const FIXED: [&str; 4] = ["HOST", "POD", "NODE", "SERVICE"];

/// The allocation cannot be told in this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// A port's variable would be one of the file's others.
    #[error(
        "the Service's port {port:?} would be written as {variable}, which is the {fixed}'s: rename the port in the \
         template, or write another format (--format json)"
    )]
    Reserved {
        /// The port's name.
        port: String,
        /// The variable's name.
        variable: String,
        /// What the variable is for.
        fixed: String,
    },
    /// A value that shells and plain readers would not read alike; no name that Kubernetes accepts is one.
    #[error(
        "{variable} cannot be {value:?}: only letters, digits, '.', '-', '_' and ':' mean the same to every reader"
    )]
    Value {
        /// The variable's name.
        variable: String,
        /// The value that is refused.
        value: String,
    },
}

/// Whether a Service with ports of these names can be told in this format; to be asked before anything is created.
///
/// # Errors
/// A port's variable would be one of the file's others.
pub fn check<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Result<(), EnvError> {
    for port in names.into_iter().map(|name| name.unwrap_or(UNNAMED)) {
        let suffix = variable(port);
        if FIXED.contains(&suffix.as_str()) {
            let variable = format!("NODEPORT_{suffix}");
            return Err(EnvError::Reserved { port: port.to_owned(), variable, fixed: suffix.to_ascii_lowercase() });
        }
    }
    Ok(())
}

/// The file's text. An IPv6 host has no brackets; a node that is not known is an empty value.
///
/// No value is quoted, since plain readers would take the quotes for part of it, and none needs to be: each consists
/// of characters that mean themselves to every reader. Another value is refused.
///
/// # Errors
/// A port's variable would be one of the file's others, or a value would need quotes.
pub fn render(allocation: &Allocation) -> Result<String, EnvError> {
    check(allocation.ports.iter().map(|port| port.name.as_deref()))?;
    let mut values = vec![("HOST".to_owned(), allocation.host.to_string())];
    values.extend(allocation.ports.iter().map(|port| (variable(port.key()), port.node_port.to_string())));
    values.extend([
        ("POD".to_owned(), allocation.pod.name.clone()),
        ("NODE".to_owned(), allocation.node.clone().unwrap_or_default()),
        ("SERVICE".to_owned(), allocation.service.clone()),
    ]);
    values.into_iter().map(|(suffix, value)| line(&suffix, value)).collect()
}

fn line(suffix: &str, value: String) -> Result<String, EnvError> {
    let variable = format!("NODEPORT_{suffix}");
    if value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte)) {
        Ok(format!("{variable}={value}\n"))
    } else {
        Err(EnvError::Value { variable, value })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{
        super::allocation::tests::{documented, port},
        *,
    };

    #[test]
    fn the_file_is_this_byte_for_byte() {
        assert_eq!(render(&documented()).unwrap(), include_str!("golden/documented.env"));
        let mut other = documented();
        other.host = "fd00::5".parse().unwrap();
        other.ports = vec![port("", 31234, 80)];
        other.node = None;
        assert_eq!(
            render(&other).unwrap(),
            "NODEPORT_HOST=fd00::5\nNODEPORT_PORT=31234\nNODEPORT_POD=app-0\nNODEPORT_NODE=\nNODEPORT_SERVICE=app-0\n"
        );
    }

    #[test]
    fn a_shell_and_a_plain_reader_read_the_same_values() {
        let mut allocation = documented();
        for (host, node) in [("node-1", "node-1"), ("fd00::5", "a.b-0"), ("node_1.", "0123"), ("null", "true")] {
            allocation.host = host.parse().unwrap();
            allocation.node = Some(node.to_owned());
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("nodeport.env");
            let text = render(&allocation).unwrap();
            std::fs::write(&file, &text).unwrap();
            for (variable, value) in text.lines().map(|line| line.split_once('=').unwrap()) {
                let script = format!("set -eu; . \"$1\"; printf %s \"${variable}\"");
                let shell = Command::new("sh").arg("-c").arg(script).arg("sh").arg(&file).output().unwrap();
                assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
                assert_eq!(String::from_utf8(shell.stdout).unwrap(), value, "{variable}");
            }
        }
    }

    #[test]
    fn values_that_would_need_quotes_are_refused() {
        for value in ["a b", "$(id)", "a'b", "a\"b", "a\nb", "#a", "a\\b", "~", "ä", "a;b"] {
            let mut allocation = documented();
            allocation.pod.name = value.to_owned();
            let error = render(&allocation).unwrap_err();
            assert_eq!(error, EnvError::Value { variable: "NODEPORT_POD".to_owned(), value: value.to_owned() });
        }
    }

    #[test]
    fn a_port_cannot_take_another_values_variable() {
        for name in ["host", "pod", "node", "service"] {
            let error = check([Some("web"), Some(name)]).unwrap_err().to_string();
            let variable = format!("NODEPORT_{}", name.to_uppercase());
            assert!(error.contains(&format!("port \"{name}\" would be written as {variable}")), "{error}");
        }
        assert_eq!(check([Some("port"), Some("hosts"), Some("node-1")]), Ok(()));
        assert_eq!(check([None]), Ok(()));
    }
}
