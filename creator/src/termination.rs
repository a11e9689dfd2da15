//! Hands the last error to Kubernetes, which shows it in `kubectl describe pod`.

use std::{fs::OpenOptions, io, io::Write, path::Path};

/// Where Kubernetes reads a container's message, unless its spec sets `terminationMessagePath`.
pub const DEFAULT_PATH: &str = "/dev/termination-log";

/// Longest message, in bytes: of a longer one the kubelet keeps the end, and the beginning says what failed.
const MAX_MESSAGE: usize = 4096;

/// Writes `message` as the container's termination message, cut to what Kubernetes keeps.
///
/// The kubelet creates the file before the container starts; where it is missing this is no container, and none is
/// created. A failure is only logged: there is another error to report.
pub fn report(path: &Path, message: &str) {
    let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
    if let Err(error) = write(path, message) {
        tracing::debug!(path = %path.display(), %error, "no termination message");
    }
}

fn write(path: &Path, message: &str) -> io::Result<()> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(message.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_beginning_of_the_message_replaces_what_was_there() {
        let long = "é".repeat(3000);
        for (message, kept) in [("it failed", "it failed"), ("", ""), (long.as_str(), &long[..4096])] {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), "an earlier, longer message".repeat(1000)).unwrap();
            report(file.path(), message);
            assert_eq!(fs::read_to_string(file.path()).unwrap(), kept);
        }
        let odd = format!("a{long}");
        let file = tempfile::NamedTempFile::new().unwrap();
        report(file.path(), &odd);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), odd[..4095], "cut within a character");
    }

    #[test]
    fn nothing_is_created_outside_a_container() {
        let folder = tempfile::tempdir().unwrap();
        report(&folder.path().join("termination-log"), "it failed");
        report(folder.path(), "it failed");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
