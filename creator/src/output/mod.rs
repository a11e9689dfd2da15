//! What the application is told: one allocation, in the format that it reads.
//!
//! Rendering is pure and comes first, for every output; [`write`] alone touches the disk.

pub mod allocation;
pub mod env;
pub mod hocon;
pub mod json;
pub mod render;
pub mod write;
mod write_error;

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

pub use allocation::{AllocatedPort, Allocation};
pub use write_error::WriteError;

use crate::choices::Format;

/// The format that a file's name tells: `.env` and `.json`, and for every other name that of the original tool.
#[must_use]
pub fn format_of(path: &Path) -> Format {
    let name = path.file_name().map_or(&[][..], OsStr::as_bytes);
    if name.ends_with(b".env") {
        Format::Env
    } else if name.ends_with(b".json") {
        Format::Json
    } else {
        Format::Conf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_format() {
        for (path, format) in [
            ("/nodeport/nodeport.conf", Format::Conf),
            ("/nodeport/nodeport", Format::Conf),
            ("/nodeport/ports.json.conf", Format::Conf),
            ("/nodeport/env", Format::Conf),
            ("/nodeport/ports.env", Format::Env),
            ("/nodeport/.env", Format::Env),
            ("/nodeport/ports.json", Format::Json),
        ] {
            assert_eq!(format_of(Path::new(path)), format, "{path}");
        }
    }
}
