//! Puts rendered files into their places: whole or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    hash::{BuildHasher, RandomState},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use super::write_error::{Cause, WriteError};

/// The application may run as another user than this program.
const MODE: u32 = 0o644;

/// A rendered output and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it goes.
    pub path: PathBuf,
    /// What goes there.
    pub text: String,
}

/// Writes every output, each replaced as a whole; readable by every user, whatever the umask.
///
/// Everything is on the disk under a temporary name in its own folder before the first file is replaced, so a reader
/// sees the earlier file or the new one, and a volume that is too small keeps all the earlier ones. A symbolic link
/// is replaced, not followed: in a folder that is shared with others, it could lead anywhere.
///
/// # Errors
/// One of the files cannot be written; the message says what to mount or to set.
pub fn write(outputs: &[Output]) -> Result<(), WriteError> {
    let staged = outputs.iter().map(Staged::new).collect::<Result<Vec<_>, _>>()?;
    staged.into_iter().try_for_each(Staged::commit)
}

/// A file that is complete but for its name; removed unless it gets it.
struct Staged<'a> {
    path: &'a Path,
    folder: &'a Path,
    temporary: Option<PathBuf>,
}

impl<'a> Staged<'a> {
    fn new(output: &'a Output) -> Result<Self, WriteError> {
        let path = output.path.as_path();
        let folder = folder(path)?;
        let failed = |doing| move |source| WriteError::failed(path, folder, doing, source);
        let (file, temporary) = create(folder).map_err(failed("no temporary file can be created beside it"))?;
        // From here on its end removes the file.
        let staged = Self { path, folder, temporary: Some(temporary) };
        fill(file, &output.text).map_err(failed("its text cannot be written"))?;
        Ok(staged)
    }

    fn commit(mut self) -> Result<(), WriteError> {
        if let Some(temporary) = &self.temporary {
            let failed = |source| WriteError::failed(self.path, self.folder, "it cannot be replaced", source);
            fs::rename(temporary, self.path).map_err(failed)?;
            self.temporary = None;
        }
        // The file is whole under either name; this only makes a power cut keep the new one. Not every file system
        // can do it, and a folder may forbid to be opened.
        if let Err(error) = File::open(self.folder).and_then(|folder| folder.sync_all()) {
            tracing::debug!(folder = %self.folder.display(), %error, "the folder is not flushed");
        }
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // There is an error to report already.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The folder that the file goes into, if the path can be a file's.
fn folder(path: &Path) -> Result<&Path, WriteError> {
    let refused = |cause| Err(WriteError::shown(path, cause));
    let (Some(_), Some(parent), false) = (path.file_name(), path.parent(), path.as_os_str().as_bytes().ends_with(b"/"))
    else {
        return refused(Cause::Folder(path.to_owned()));
    };
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => refused(Cause::Folder(path.to_owned())),
        // Renaming over /dev/stdout or a pipe would take it from everyone.
        Ok(there) if !there.is_file() => refused(Cause::NotRegular),
        _ if parent.as_os_str().is_empty() => Ok(Path::new(".")),
        _ => Ok(parent),
    }
}

/// Creates a file under a name that nothing has yet, and that nobody else can open before it is complete.
fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        // Every container's process is number 1, so a name made of that would meet a killed one's leftover.
        let random = RandomState::new().hash_one(0);
        let path = folder.join(format!(".nodeport-{random:016x}.tmp"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (file, path)),
        }
    }
}

fn fill(mut file: File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.sync_all()
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
