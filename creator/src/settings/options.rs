//! The creator's options as clap reads them: the only list of them. The comment on each is its help, and its meaning in
//! docs/configuration.md.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Parser};
use common::labels::CREATOR;
use common::logging::LogOptions;
use common::settings::{ConfigMapKey, DnsLabel, DnsSubdomain, positive_duration};

use crate::choices::{AdvertiseList, Bind, Flavor, Format, IpFamily, OwnerReference};

use super::output;

/// Keys of the options that messages name together.
pub(super) const TEMPLATE: &str = "template";
pub(super) const CONFIGMAP: &str = "configmap";
pub(super) const OUTPUT: &str = "output";
pub(super) const FORMAT: &str = "format";
pub(super) const ARTERY_PORT_NAME: &str = "akka-artery-management-port-name";
pub(super) const MANAGEMENT_PORT_NAME: &str = "akka-management-port-name";

/// Gives its pod a NodePort Service of its own and writes the ports to a file.
#[derive(Debug, Parser)]
#[command(name = CREATOR, version, next_help_heading = "Pod")]
pub(super) struct Options {
    /// Name of the pod; without it the service account token's claims say it, else HOSTNAME
    #[arg(long, value_name = "NAME")]
    pub(super) pod: Option<DnsSubdomain>,
    /// UID of the pod; without it the token's claims say it, else the API
    #[arg(long, value_name = "UID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) pod_uid: Option<String>,
    /// Name of the pod's node; without it the token's claims say it, else the API
    #[arg(long, value_name = "NAME")]
    pub(super) node_name: Option<DnsSubdomain>,
    /// Addresses of the pod's node, separated by commas, the primary one first; without them the API says them
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', value_parser = address)]
    pub(super) host_ip: Vec<IpAddr>,
    /// Primary address of the pod, for templates that name PodIP; without it the API says it, some time after the pod's start
    #[arg(long, value_name = "ADDRESS")]
    pub(super) pod_ip: Option<IpAddr>,
    /// Namespace of the pod; without it the service account's own inside a pod, else that of the kubeconfig's context, else default
    #[arg(long, value_name = "NAME")]
    pub(super) namespace: Option<DnsLabel>,

    /// ConfigMap in the pod's namespace that holds the Service template
    #[arg(long, value_name = "NAME", default_value = CREATOR, help_heading = "Service")]
    pub(super) configmap: DnsSubdomain,
    /// Key of the Service template in the ConfigMap
    #[arg(long, value_name = "KEY", default_value = "default.yaml", help_heading = "Service")]
    pub(super) configmapkey: ConfigMapKey,
    /// Local file that holds the Service template instead of a ConfigMap
    #[arg(long, value_name = "FILE", help_heading = "Service")]
    pub(super) template: Option<PathBuf>,
    /// Name of the Service's port for Artery
    #[arg(long, value_name = "NAME", default_value = "akka-artery", help_heading = "Service")]
    pub(super) akka_artery_management_port_name: DnsLabel,
    /// Name of the Service's port for Akka management
    #[arg(long, value_name = "NAME", default_value = "akka-management", help_heading = "Service")]
    pub(super) akka_management_port_name: DnsLabel,
    /// What the Service names as its owner, and so whether Kubernetes removes it after its pod
    #[arg(long, value_name = "OWNER", default_value = "pod", value_enum, help_heading = "Service")]
    pub(super) owner_reference: OwnerReference,

    /// File to write; may be repeated
    #[arg(long, value_name = "FILE", default_value = "/tmp/nodeport.conf", value_parser = output::file, help_heading = "Output")]
    pub(super) output: Vec<PathBuf>,
    /// Format of the outputs, once for all or once for each: conf, env, json or template:FILE; without it each output's extension says it
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(super) format: Vec<Format>,
    /// What to advertise, tried in this order: node-name, host-ip, InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS or template:TEXT; may be repeated or separated by commas
    #[arg(long, value_name = "KINDS", default_value = "node-name", help_heading = "Output")]
    pub(super) advertise: Vec<AdvertiseList>,
    /// Address family to prefer where a node has addresses of both
    #[arg(long, value_name = "FAMILY", value_enum, help_heading = "Output")]
    pub(super) ip_family: Option<IpFamily>,
    /// Whose configuration keys a .conf file sets
    #[arg(long, value_name = "FLAVOR", default_value = "akka", value_enum, help_heading = "Output")]
    pub(super) flavor: Flavor,
    /// Whether a .conf file also says where to bind
    #[arg(long, value_name = "ON|OFF", default_value = "on", value_enum, help_heading = "Output")]
    pub(super) bind: Bind,

    /// How long the whole run may take
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = positive_duration, help_heading = "Run")]
    pub(super) timeout: Duration,
    /// Print the Service as it would be created, and change and write nothing
    #[arg(long, value_name = "BOOLEAN", default_value = "false", default_missing_value = "true", num_args = 0..=1,
          require_equals = true, action = ArgAction::Set, help_heading = "Run")]
    pub(super) dry_run: bool,
    /// File that the last error is written to, for kubectl describe pod
    #[arg(long, value_name = "FILE", default_value = "/dev/termination-log", help_heading = "Run")]
    pub(super) termination_message_path: PathBuf,

    #[command(flatten)]
    pub(super) log: LogOptions,
}

/// The text is not an IP address.
#[derive(Debug, thiserror::Error)]
#[error("expected IP addresses, separated by commas")]
struct NotAnAddress;

/// One address of a list, which may have a space after its commas.
fn address(text: &str) -> Result<IpAddr, NotAnAddress> {
    text.trim().parse().map_err(|_| NotAnAddress)
}
