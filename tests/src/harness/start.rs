//! What a control plane can be started with, and why one may not start.

use std::{io, ops::RangeInclusive};

use super::{components::Component, keeper::KeeperError, programs::ProgramsError};

/// Where a control plane listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// On loopback: no node is there, and no controller that would miss one.
    #[default]
    Loopback,
    /// At [`crate::nodes::CONTROL_PLANE`] too, for real nodes.
    Nodes,
}

/// What a test may change about a control plane of its own.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The node ports there are (30000-32767 by default): a small range is soon full.
    pub service_node_port_range: Option<RangeInclusive<u16>>,
    /// Further flags of kube-apiserver.
    pub apiserver_flags: Vec<String>,
    /// Further flags of kube-controller-manager.
    pub controller_manager_flags: Vec<String>,
    /// Further flags of etcd.
    pub etcd_flags: Vec<String>,
}

/// Why a control plane did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its programs are not there.
    #[error(transparent)]
    Programs(#[from] ProgramsError),
    /// Its processes cannot be kept.
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    /// Its files cannot be written.
    #[error("cannot write the control plane's files")]
    Files(#[from] io::Error),
    /// Its certificates cannot be made.
    #[error("cannot make certificates")]
    Certificates(#[from] rcgen::Error),
    /// A program ended instead of getting ready.
    #[error("{component:?} ended before it was ready; the end of its log:\n{log}")]
    Ended {
        /// Which.
        component: Component,
        /// Its last lines.
        log: String,
    },
}
