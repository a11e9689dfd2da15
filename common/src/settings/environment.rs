//! The value of an option in the environment.

use std::ffi::{OsStr, OsString};

use super::option::ProgramOption;

/// A variable of ours is no text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("environment variable {name}: its value {value:?} is not valid UTF-8")]
pub struct NotText {
    name: String,
    value: OsString,
}

/// The variable that sets the option, and its text. An empty one counts as unset: a manifest that fills a variable from
/// a field or a key that may be missing leaves it empty.
pub(super) fn find(
    environment: &[(OsString, OsString)],
    option: &ProgramOption,
) -> Result<Option<(String, String)>, NotText> {
    for name in [option.environment_name(), option.dashed_environment_name()] {
        let Some((_, value)) = environment.iter().find(|(key, value)| key == OsStr::new(&name) && !value.is_empty())
        else {
            continue;
        };
        return match value.to_str() {
            Some(text) => Ok(Some((name, text.to_owned()))),
            None => Err(NotText { name, value: value.clone() }),
        };
    }
    Ok(None)
}
