//! Why an output file cannot be written, and what to mount or to set so that it can.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path, path::PathBuf};

use rustix::io::Errno;

/// An output file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", .path.display())]
pub struct WriteError {
    path: PathBuf,
    cause: Cause,
    #[source]
    source: Option<io::Error>,
}

/// The causes that have a remedy of their own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Cause {
    #[error("that names a folder, not a file in one; add the file's name, as in {}", .0.join("nodeport.conf").display())]
    Folder(PathBuf),
    #[error("something that is no regular file is there; name another file")]
    NotRegular,
    #[error("there is no folder {}; mount a volume there, such as an emptyDir that the application mounts too", .0.display())]
    NoFolder(PathBuf),
    #[error("{} is no folder; mount a volume at a folder of its own", .0.display())]
    NotFolder(PathBuf),
    #[error(
        "this runs as user {user} and may not write into {}{owner}; mount an emptyDir there, or set the pod's \
         securityContext.fsGroup (or runAsUser) to one that may", folder.display()
    )]
    Denied { folder: PathBuf, owner: String, user: u32 },
    #[error(
        "the file there belongs to user {owner}, this runs as user {user}, and in a folder with the sticky bit only a \
         file's owner may replace it; run as that user, remove the file, or name another"
    )]
    OthersFile { owner: u32, user: u32 },
    #[error("{} is read-only; mount an emptyDir there (and mount it without readOnly)", .0.display())]
    ReadOnly(PathBuf),
    #[error("the volume at {} is full; raise its sizeLimit (1Mi is plenty for this file), or free space", .0.display())]
    Full(PathBuf),
    #[error("the file itself is a mount (a subPath), and cannot be replaced; mount its folder instead")]
    Mounted,
    #[error("{0}")]
    Other(&'static str),
}

impl WriteError {
    /// Of something that the file's path itself shows.
    pub(super) fn shown(path: &Path, cause: Cause) -> Self {
        Self { path: path.to_owned(), cause, source: None }
    }

    /// Of an operation that failed in `folder`, where the file is to be; `doing` says which.
    pub(super) fn failed(path: &Path, folder: &Path, doing: &'static str, source: io::Error) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let cause = cause(path, folder, doing, user, &source);
        Self { path: path.to_owned(), cause, source: Some(source) }
    }
}

fn cause(path: &Path, folder: &Path, doing: &'static str, user: u32, error: &io::Error) -> Cause {
    let folder = folder.to_owned();
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => Cause::NoFolder(folder),
        Some(Errno::NOTDIR) => Cause::NotFolder(folder),
        Some(Errno::PERM) if let Some(owner) = others(path, user) => Cause::OthersFile { owner, user },
        Some(Errno::ACCESS | Errno::PERM) => Cause::Denied { owner: shown_owner(&folder), folder, user },
        Some(Errno::ROFS) => Cause::ReadOnly(folder),
        Some(Errno::NOSPC | Errno::DQUOT) => Cause::Full(folder),
        Some(Errno::BUSY) => Cause::Mounted,
        Some(Errno::ISDIR) => Cause::Folder(path.to_owned()),
        _ => Cause::Other(doing),
    }
}

/// The owner of an existing file, where it is another user.
fn others(path: &Path, user: u32) -> Option<u32> {
    fs::symlink_metadata(path).ok().map(|file| file.uid()).filter(|owner| *owner != user)
}

/// Whose the folder is, where that can be seen.
fn shown_owner(folder: &Path) -> String {
    fs::metadata(folder).map_or_else(
        |_| String::new(),
        |folder| format!(" (user {}, group {}, mode {:04o})", folder.uid(), folder.gid(), folder.mode() & 0o7777),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_says_what_to_do() {
        for (error, said) in [
            (Errno::NOENT, "there is no folder /none; mount a volume there"),
            (Errno::NOTDIR, "/none is no folder; mount a volume at a folder"),
            (
                Errno::ACCESS,
                "this runs as user 65532 and may not write into /none; mount an emptyDir there, or set the",
            ),
            (
                Errno::PERM,
                "may not write into /none; mount an emptyDir there, or set the pod's securityContext.fsGroup",
            ),
            (Errno::ROFS, "/none is read-only; mount an emptyDir there"),
            (Errno::NOSPC, "the volume at /none is full; raise its sizeLimit"),
            (Errno::DQUOT, "the volume at /none is full; raise its sizeLimit"),
            (Errno::BUSY, "the file itself is a mount (a subPath), and cannot be replaced; mount its folder"),
            (Errno::ISDIR, "that names a folder, not a file in one; add the file's name, as in /none/x/nodeport.conf"),
            (Errno::IO, "it cannot be flushed"),
        ] {
            let cause = cause(Path::new("/none/x"), Path::new("/none"), "it cannot be flushed", 65532, &error.into());
            assert!(cause.to_string().contains(said), "{error}: {cause}");
        }
    }

    #[test]
    fn the_message_has_the_path_and_the_chain_the_systems_own_words() {
        let error = WriteError::failed(Path::new("/none/x"), Path::new("/none"), "", Errno::NOENT.into());
        assert!(error.to_string().starts_with("cannot write /none/x: there is no folder /none"), "{error}");
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.to_string().contains("No such file"), "{source}");
    }
}
