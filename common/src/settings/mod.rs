//! How both programs read their settings: flag over environment over config.yaml over default.
//!
//! clap's [`Command`] is the only list of options. An option `--scan-interval` is also the environment variable
//! `SCAN_INTERVAL` (or, as documented, `SCAN-INTERVAL`) and the key `scan-interval`; its text, from wherever it came,
//! goes through the same value parser. Nothing here knows which options there are.

mod duration;
mod environment;
mod file;
mod merge;
mod name;
mod option;
mod origin;
mod print;
pub mod table;
mod yaml;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, Parser, builder::PathBufValueParser};

pub use self::duration::{InvalidDuration, duration, positive_duration};
pub use self::environment::NotText;
pub use self::file::FileError;
pub use self::merge::InvalidValue;
pub use self::name::{ConfigMapKey, DnsLabel, DnsSubdomain, InvalidName};
pub use self::origin::{Origin, Place, Source};

use self::option::ProgramOption;

/// Flag that names the settings file. Neither a variable nor a key: it says where settings are, and a variable of so
/// common a name would too easily be someone else's.
const CONFIG: &str = "config";

/// Flag that prints the settings. Neither a variable nor a key: left in a manifest it would stop every pod.
const PRINT_CONFIG: &str = "print-config";

/// Heading of the flags that are about the program and not about what it does.
const PROGRAM_HEADING: &str = "Program";

/// All that settings are read from, so that tests hand in their own.
#[derive(Debug)]
pub struct Sources {
    /// The command line without the program's name.
    pub arguments: Vec<OsString>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where config.yaml is looked for, in this order.
    pub directories: Vec<PathBuf>,
}

impl Sources {
    /// The sources of the running process. `program` is the name of the folder below `/etc` and `$HOME/.config`.
    #[must_use]
    pub fn of_process(program: &str) -> Self {
        let environment: Vec<_> = std::env::vars_os().collect();
        let directories = file::directories(program, &environment);
        Self { arguments: std::env::args_os().skip(1).collect(), environment, directories }
    }
}

/// What the command line asked for.
#[derive(Debug)]
pub enum Loaded<T> {
    /// To run, with these settings.
    Settings(Settings<T>),
    /// To print this text and to end: help, version or the settings themselves.
    Print(String),
}

/// Options, and where each value came from.
#[derive(Debug)]
pub struct Settings<T> {
    /// The program's options.
    pub options: T,
    origins: Vec<(ProgramOption, Origin)>,
}

impl<T> Settings<T> {
    /// Where the value of the option with this key came from. An option that was not set, and a key that is no
    /// option's, has its default.
    #[must_use]
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.iter().find(|(option, _)| option.key == key).map_or(&Origin::Default, |(_, origin)| origin)
    }
}

/// Settings cannot be read. Each message names the source, the key and the place where there is one.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The command line is wrong; the text is clap's own.
    #[error("{}", usage(.0))]
    CommandLine(clap::Error),
    /// A variable of ours is no text.
    #[error(transparent)]
    Environment(#[from] NotText),
    /// The settings file cannot be read or is not a mapping of options.
    #[error(transparent)]
    File(#[from] FileError),
    /// A value that is not one of its option's.
    #[error(transparent)]
    Value(#[from] InvalidValue),
}

/// The [`Command`] that `T` describes, with the flags that every program has.
#[must_use]
pub fn command<T: Parser>() -> Command {
    T::command()
        .no_binary_name(true)
        .next_line_help(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(
            Arg::new(CONFIG)
                .long(CONFIG)
                .value_name("FILE")
                .value_parser(PathBufValueParser::new())
                .help_heading(PROGRAM_HEADING)
                .help("Settings file to read instead of looking for config.yaml; it must exist"),
        )
        .arg(
            Arg::new(PRINT_CONFIG)
                .long(PRINT_CONFIG)
                .action(ArgAction::SetTrue)
                .help_heading(PROGRAM_HEADING)
                .help("Print each option's value and where it comes from, as a config.yaml, and end"),
        )
        .arg(
            Arg::new("help")
                .long("help")
                .short('h')
                .action(ArgAction::Help)
                .help_heading(PROGRAM_HEADING)
                .help("Print this help and end"),
        )
        .arg(
            Arg::new("version")
                .long("version")
                .short('V')
                .action(ArgAction::Version)
                .help_heading(PROGRAM_HEADING)
                .help("Print the version and end"),
        )
}

/// Reads the settings of a program from `sources`.
///
/// # Errors
/// [`LoadError`]: the command line, a variable that counts, or anything in the settings file is wrong. A variable that
/// a flag overrides is not judged, since the environment is shared with others.
pub fn load<T: Parser>(sources: &Sources) -> Result<Loaded<T>, LoadError> {
    let command = command::<T>();
    let options = option::all(&command);
    let given = match option::with_names_in_help(command.clone()).try_get_matches_from(&sources.arguments) {
        Ok(given) => given,
        Err(answer) if !answer.use_stderr() => return Ok(Loaded::Print(answer.to_string())),
        Err(error) => return Err(LoadError::CommandLine(error)),
    };
    let file = file::read(given.get_one::<PathBuf>(CONFIG).map(PathBuf::as_path), &sources.directories)?;
    let file = merge::judge_file(file, &command, &options)?;

    let mut arguments = Vec::new();
    let mut origins = Vec::new();
    for option in options {
        let (texts, origin) = if was_given(&given, &option) {
            (Vec::new(), Origin::Flag)
        } else if let Some((name, text)) = environment::find(&sources.environment, &option)? {
            let origin = Origin::Environment(name);
            merge::judge(&command, &option, &text, &origin)?;
            (vec![text], origin)
        } else if let Some(set) = file.iter().find(|set| set.key == option.key) {
            (set.texts.clone(), Origin::File(set.place.clone()))
        } else {
            (Vec::new(), Origin::Default)
        };
        arguments.extend(texts.iter().map(|text| option.argument(text)));
        origins.push((option, origin));
    }
    // In front, so that nothing on the command line (a trailing `--`) can change what these are.
    arguments.extend(sources.arguments.iter().cloned());
    let matches = command.clone().try_get_matches_from(arguments).map_err(LoadError::CommandLine)?;
    if matches.get_flag(PRINT_CONFIG) {
        return Ok(Loaded::Print(print::settings(command.get_name(), &matches, &origins)));
    }
    let options = T::from_arg_matches(&matches).map_err(LoadError::CommandLine)?;
    Ok(Loaded::Settings(Settings { options, origins }))
}

fn was_given(matches: &ArgMatches, option: &ProgramOption) -> bool {
    matches.value_source(&option.id) == Some(clap::parser::ValueSource::CommandLine)
}

/// clap's text without the `error: ` that the program's own report starts with.
fn usage(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.trim_end();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}
