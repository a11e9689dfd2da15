//! The options of a program, as its clap [`Command`] lists them, and the names that each has in every source.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use super::{CONFIG, PRINT_CONFIG};

/// How many values an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    One,
    Many,
}

/// One option that can be set in every source.
#[derive(Clone, Debug)]
pub(super) struct ProgramOption {
    /// What clap calls it.
    pub(super) id: String,
    /// The flag without its dashes: the key in config.yaml.
    pub(super) key: String,
    pub(super) arity: Arity,
}

impl ProgramOption {
    /// The name of its environment variable: `SCAN_INTERVAL`.
    pub(super) fn environment_name(&self) -> String {
        self.key.to_ascii_uppercase().replace('-', "_")
    }

    /// The other spelling that is documented for its variable: `SCAN-INTERVAL`. A shell cannot export it, a pod's
    /// manifest can.
    pub(super) fn dashed_environment_name(&self) -> String {
        self.key.to_ascii_uppercase()
    }

    /// The command line argument that gives it this text.
    pub(super) fn argument(&self, text: &str) -> OsString {
        format!("--{}={text}", self.key).into()
    }
}

/// Every option of the command, but for the flags that are about the program itself.
pub(super) fn all(command: &Command) -> Vec<ProgramOption> {
    command.get_arguments().filter_map(of_argument).collect()
}

/// The option that an argument is, if it can be set in every source.
pub(super) fn of_argument(argument: &Arg) -> Option<ProgramOption> {
    let key = argument.get_long()?;
    let arity = match argument.get_action() {
        ArgAction::Set => Arity::One,
        ArgAction::Append => Arity::Many,
        _ => return None,
    };
    (!is_flag_only(key)).then(|| ProgramOption { id: argument.get_id().to_string(), key: key.to_owned(), arity })
}

/// Whether it is a flag that is neither a variable nor a key.
pub(super) fn is_flag_only(key: &str) -> bool {
    [CONFIG, PRINT_CONFIG, "help", "version"].contains(&key)
}

/// The command with each option's variable and key in its help.
pub(super) fn with_names_in_help(command: Command) -> Command {
    command.mut_args(|argument| match of_argument(&argument) {
        Some(option) => {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            argument.help(format!("{help}\n[env: {}] [key: {}]", option.environment_name(), option.key))
        }
        None => argument,
    })
}
