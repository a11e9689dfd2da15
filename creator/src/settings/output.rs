//! Which files are written, and in which format each.

use std::path::{Path, PathBuf};

use common::settings::Settings;

use crate::choices::Format;
use crate::output::format_of;

use super::options::{self, Options};

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its path, which ends in a file's name.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
}

/// The outputs and formats do not fit.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// More than one format, and not one for each output.
    #[error("{origin}: {formats} formats for {outputs} outputs: give one for all, or one for each in the same order")]
    FormatCount {
        /// Where the formats were set.
        origin: String,
        /// How many formats.
        formats: usize,
        /// How many outputs.
        outputs: usize,
    },
    /// One file twice: the second would replace the first.
    #[error("{origin}: {} is there twice", path.display())]
    Repeated {
        /// Where the outputs were set.
        origin: String,
        /// The output.
        path: PathBuf,
    },
}

/// The outputs with their formats.
pub(super) fn outputs(raw: &Settings<Options>) -> Result<Vec<Output>, OutputError> {
    let (paths, formats) = (&raw.options.output, &raw.options.format);
    let origin = |key| raw.origin(key).of_option(key);
    if let Some(path) = repeated(paths) {
        return Err(OutputError::Repeated { origin: origin(options::OUTPUT), path: path.clone() });
    }
    if formats.len() > 1 && formats.len() != paths.len() {
        return Err(OutputError::FormatCount {
            origin: origin(options::FORMAT),
            formats: formats.len(),
            outputs: paths.len(),
        });
    }
    let format = |index: usize, path: &Path| match formats.as_slice() {
        [format] => format.clone(),
        formats => formats.get(index).cloned().unwrap_or_else(|| format_of(path)),
    };
    Ok(paths
        .iter()
        .enumerate()
        .map(|(index, path)| Output { path: path.clone(), format: format(index, path) })
        .collect())
}

fn repeated(paths: &[PathBuf]) -> Option<&PathBuf> {
    paths.iter().enumerate().find(|(index, path)| paths[..*index].contains(path)).map(|(_, path)| path)
}

/// The text names no file.
#[derive(Debug, thiserror::Error)]
#[error("expected the path of a file, not of a folder")]
pub(super) struct NotAFile;

/// Reads the path of an output.
pub(super) fn file(text: &str) -> Result<PathBuf, NotAFile> {
    let name = text.rsplit('/').next().unwrap_or_default();
    if ["", ".", ".."].contains(&name) { Err(NotAFile) } else { Ok(PathBuf::from(text)) }
}
