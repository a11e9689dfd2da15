//! The creator's settings, validated: of one that is here no later code looks at the text again.

mod options;
mod output;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Command;
use common::labels::CREATOR;
use common::logging::LogOptions;
use common::settings::{ConfigMapKey, DnsLabel, DnsSubdomain, LoadError, Loaded, Sources};

use crate::choices::{Advertise, Bind, Flavor, IpFamily, OwnerReference};
use crate::effect::Effect;

use self::options::Options;
pub use self::output::{Output, OutputError};

/// What the command line asked for.
#[derive(Debug)]
pub enum Action {
    /// To run, with these settings.
    Run(Box<Settings>),
    /// To print this text and to end: help, version or the settings themselves.
    Print(String),
}

/// Everything that can be set.
#[derive(Debug)]
pub struct Settings {
    /// Name of the pod, if it was given.
    pub pod: Option<DnsSubdomain>,
    /// UID of the pod, if it was given.
    pub pod_uid: Option<String>,
    /// Name of the pod's node, if it was given.
    pub node_name: Option<DnsSubdomain>,
    /// Addresses of the pod's node, the primary one first, if they were given.
    pub host_ips: Vec<IpAddr>,
    /// Primary address of the pod, if it was given.
    pub pod_ip: Option<IpAddr>,
    /// The pod's namespace, if it was given. Without it: the service account's own inside a pod, else `default`.
    pub namespace: Option<DnsLabel>,
    /// Where the Service template is.
    pub template: TemplateSource,
    /// Name of the Service's port for Artery.
    pub artery_port_name: DnsLabel,
    /// Name of the Service's port for Akka management. It differs from `artery_port_name`.
    pub management_port_name: DnsLabel,
    /// What the Service names as its owner.
    pub owner_reference: OwnerReference,
    /// The files to write: at least one, each path once.
    pub outputs: Vec<Output>,
    /// What to advertise, tried in this order: at least one.
    pub advertise: Vec<Advertise>,
    /// The address family to prefer, if any.
    pub ip_family: Option<IpFamily>,
    /// Whose keys a `.conf` file sets.
    pub flavor: Flavor,
    /// Whether a `.conf` file says where to bind.
    pub bind: Bind,
    /// How long the whole run may take; more than nothing.
    pub timeout: Duration,
    /// Whether anything is done at all.
    pub effect: Effect,
    /// The file that the last error goes to, for `kubectl describe pod`.
    pub termination_message_path: PathBuf,
    /// Logging.
    pub log: LogOptions,
}

/// Where the Service template is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateSource {
    /// In a ConfigMap in the pod's namespace.
    ConfigMap {
        /// Name of the ConfigMap.
        name: DnsSubdomain,
        /// Key of its data.
        key: ConfigMapKey,
    },
    /// In a local file.
    File(PathBuf),
}

/// The settings are wrong. Each message names the source, the key and the place where there is one.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// One of them cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A template in a file and one in a ConfigMap, from the same kind of source.
    #[error("{template} and {configmap} name two templates: give one of them")]
    TwoTemplates {
        /// Where the file was named.
        template: String,
        /// Where the ConfigMap was named.
        configmap: String,
    },
    /// Artery and Akka management on one port.
    #[error("{artery} and {management} are both `{name}`: Artery and Akka management need a port each")]
    OnePortForBoth {
        /// Where Artery's port was named.
        artery: String,
        /// Where the management port was named.
        management: String,
        /// The name.
        name: DnsLabel,
    },
    /// The outputs and formats do not fit.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// The creator's command line: the list of its options, for the tables in docs/configuration.md.
#[must_use]
pub fn command() -> Command {
    common::settings::command::<Options>()
}

impl Settings {
    /// Reads the settings of this process.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_from_process() -> Result<Action, SettingsError> {
        Self::load(&Sources::of_process(CREATOR))
    }

    /// Reads the settings from these sources.
    ///
    /// # Errors
    /// A source cannot be read, a value is not one of its option's, or two do not fit together.
    pub fn load(sources: &Sources) -> Result<Action, SettingsError> {
        match common::settings::load(sources)? {
            Loaded::Settings(raw) => Self::validate(raw).map(Box::new).map(Action::Run),
            Loaded::Print(text) => Ok(Action::Print(text)),
        }
    }

    fn validate(raw: common::settings::Settings<Options>) -> Result<Self, SettingsError> {
        let template = template_source(&raw)?;
        let outputs = output::outputs(&raw)?;
        let of_option = |key| raw.origin(key).of_option(key);
        let options = &raw.options;
        if options.akka_artery_management_port_name == options.akka_management_port_name {
            return Err(SettingsError::OnePortForBoth {
                artery: of_option(options::ARTERY_PORT_NAME),
                management: of_option(options::MANAGEMENT_PORT_NAME),
                name: raw.options.akka_management_port_name,
            });
        }
        let options = raw.options;
        Ok(Self {
            pod: options.pod,
            pod_uid: options.pod_uid,
            node_name: options.node_name,
            host_ips: options.host_ip,
            pod_ip: options.pod_ip,
            namespace: options.namespace,
            template,
            artery_port_name: options.akka_artery_management_port_name,
            management_port_name: options.akka_management_port_name,
            owner_reference: options.owner_reference,
            outputs,
            advertise: options.advertise.into_iter().flat_map(|list| list.0).collect(),
            ip_family: options.ip_family,
            flavor: options.flavor,
            bind: options.bind,
            timeout: options.timeout,
            effect: if options.dry_run { Effect::DryRun } else { Effect::Stored },
            termination_message_path: options.termination_message_path,
            log: options.log,
        })
    }
}

/// `template` and `configmap` say the same thing in two ways, so they follow the one rule: what comes from the stronger
/// source counts.
fn template_source(raw: &common::settings::Settings<Options>) -> Result<TemplateSource, SettingsError> {
    let (template, configmap) = (raw.origin(options::TEMPLATE), raw.origin(options::CONFIGMAP));
    let options = &raw.options;
    match &options.template {
        Some(_) if template.source() == configmap.source() => Err(SettingsError::TwoTemplates {
            template: template.of_option(options::TEMPLATE),
            configmap: configmap.of_option(options::CONFIGMAP),
        }),
        Some(file) if template.source() > configmap.source() => Ok(TemplateSource::File(file.clone())),
        _ => Ok(TemplateSource::ConfigMap { name: options.configmap.clone(), key: options.configmapkey.clone() }),
    }
}
