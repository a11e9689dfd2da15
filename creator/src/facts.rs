//! Gathers what the settings and the token do not tell, by reading the pod or its node; it reads nothing that nobody
//! asked for, and nothing twice.

use std::net::IpAddr;

use common::api::{
    call::Call,
    client::{Api, PersistError},
    resource::Resource,
    retry::{Deadline, Patience, TimeIsUp},
};
use serde::Deserialize;

use crate::{
    address::{self, Need, NodeAddress},
    identity::{Identity, Source},
    pod::{Network, ObservedPod, PodGone, PodIdentity},
};

/// A field of the pod that is set some time after the pod's creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// `spec.nodeName`, set by the scheduler.
    Node,
    /// `status.hostIPs`, set by the kubelet.
    HostIps,
    /// `status.podIP`, set by the kubelet, often after init containers have started.
    PodIp,
}

impl Late {
    fn advice(self) -> &'static str {
        match self {
            Self::Node => "spec.nodeName; set NODE_NAME from that field",
            Self::HostIps => "status.hostIP; set HOST_IP from that field",
            Self::PodIp => "status.podIP; set POD_IP from that field",
        }
    }
}

/// The pod or its node does not tell what is needed.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// No pod of the name.
    #[error("pod {namespace}/{pod} does not exist{}", whence(.source_of_name))]
    NoPod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        pod: String,
        /// Where the name came from.
        source_of_name: Source,
    },
    /// The name is the machine's.
    #[error(
        "pod {namespace}/{pod} uses the host's network, where HOSTNAME is the machine's name, so this may be another pod: set POD from the field metadata.name"
    )]
    HostNetwork {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
    },
    /// The pod whose UID is known is not there any more.
    #[error(transparent)]
    Gone(#[from] PodGone),
    /// A field did not appear in time.
    #[error("gave up at the timeout: pod {namespace}/{pod} still has no {}", .field.advice())]
    Unset {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        pod: String,
        /// The field.
        field: Late,
    },
    /// The pod's node is not there.
    #[error("Node {0} does not exist")]
    NoNode(String),
    /// The API refused, or did not answer in time.
    #[error(transparent)]
    Call(#[from] PersistError),
}

fn whence(source: &Source) -> &'static str {
    match source {
        Source::Hostname => {
            "; the name came from HOSTNAME, which is the machine's name where the pod uses the host's network: set POD from the field metadata.name"
        }
        Source::Option => "; the name came from the option pod",
        Source::Token => "; the service account token is bound to it, so it was deleted",
    }
}

/// The fields of a Node that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    status: NodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeStatus {
    addresses: Vec<NodeAddress>,
}

/// What is known about the pod and its node, growing by need.
pub struct Facts<'a> {
    api: &'a Api,
    identity: Identity,
    pod_ip: Option<String>,
    deadline: Deadline,
    pod: Option<ObservedPod>,
    known: address::Facts,
}

impl<'a> Facts<'a> {
    /// Starts with what settings and token tell; no address told is no address known.
    #[must_use]
    pub fn new(
        api: &'a Api,
        identity: Identity,
        host_ips: Vec<IpAddr>,
        pod_ip: Option<IpAddr>,
        deadline: Deadline,
    ) -> Self {
        let known = address::Facts {
            node_name: identity.node.clone(),
            host_ips: Some(host_ips).filter(|ips| !ips.is_empty()),
            ..address::Facts::default()
        };
        Self { api, identity, pod_ip: pod_ip.map(|ip| ip.to_string()), deadline, pod: None, known }
    }

    /// The pod's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.identity.namespace
    }

    /// What is known of the node by now.
    #[must_use]
    pub fn known(&self) -> &address::Facts {
        &self.known
    }

    /// Tells what a template of an address rendered to.
    pub fn rendered(&mut self, template: String, text: String) {
        self.known.rendered.insert(template, text);
    }

    /// Which pod it is.
    ///
    /// # Errors
    /// Where the UID is not known, and the pod cannot be read.
    pub async fn identity(&mut self) -> Result<PodIdentity, FactsError> {
        let uid = match &self.identity.uid {
            // HOSTNAME alone is no proof: where the pod uses the host's network, it names another pod or none.
            Some(uid) if self.identity.source != Source::Hostname => uid.clone(),
            _ => self.pod().await?.uid.clone(),
        };
        Ok(PodIdentity { name: self.identity.pod.clone(), namespace: self.identity.namespace.clone(), uid })
    }

    /// The name of the pod's node.
    ///
    /// # Errors
    /// Where it is not known, and the pod cannot be read or is not scheduled in time.
    pub async fn node_name(&mut self) -> Result<String, FactsError> {
        if let Some(name) = &self.known.node_name {
            return Ok(name.clone());
        }
        let name = self.pod_with(Late::Node, |pod| pod.node.clone()).await?;
        Ok(self.known.node_name.insert(name).clone())
    }

    /// The primary addresses of the pod's node.
    ///
    /// # Errors
    /// Where they are not known, and the pod cannot be read or has none in time.
    pub async fn host_ips(&mut self) -> Result<Vec<IpAddr>, FactsError> {
        if let Some(ips) = &self.known.host_ips {
            return Ok(ips.clone());
        }
        let set = |pod: &ObservedPod| Some(pod.host_ips.clone()).filter(|ips| !ips.is_empty());
        let ips = self.pod_with(Late::HostIps, set).await?;
        Ok(self.known.host_ips.insert(ips).clone())
    }

    /// The pod's primary address.
    ///
    /// # Errors
    /// Where it is not known, and the pod cannot be read or has none in time.
    pub async fn pod_ip(&mut self) -> Result<String, FactsError> {
        match &self.pod_ip {
            Some(ip) => Ok(ip.clone()),
            None => self.pod_with(Late::PodIp, |pod| pod.pod_ip.clone()).await,
        }
    }

    /// Learns what the choice of an address needs; what a template renders to is the caller's to tell.
    ///
    /// # Errors
    /// Where the pod or the Node cannot be read, or does not tell in time.
    pub async fn supply(&mut self, need: &Need) -> Result<(), FactsError> {
        match need {
            Need::NodeName => self.node_name().await.map(drop),
            Need::HostIps => self.host_ips().await.map(drop),
            Need::NodeAddresses => self.read_node().await,
            Need::Rendered(_) => Ok(()),
        }
    }

    /// The pod as the API shows it.
    ///
    /// # Errors
    /// Where it cannot be read, or is not the pod that runs this.
    pub async fn pod(&mut self) -> Result<&ObservedPod, FactsError> {
        let pod = match self.pod.take() {
            Some(pod) => pod,
            None => self.read_pod().await?,
        };
        Ok(self.learn(pod))
    }

    /// What a field of the pod says, re-read until it says something.
    async fn pod_with<T>(&mut self, field: Late, set: impl Fn(&ObservedPod) -> Option<T>) -> Result<T, FactsError> {
        let mut patience = Patience::until(self.deadline);
        loop {
            if let Some(value) = set(self.pod().await?) {
                return Ok(value);
            }
            if let Err(TimeIsUp) = patience.pause(None).await {
                let Identity { namespace, pod, .. } = self.identity.clone();
                return Err(FactsError::Unset { namespace, pod, field });
            }
            self.pod = None;
        }
    }

    /// Whichever pod was seen first is the pod: a later one of the name is another.
    fn learn(&mut self, pod: ObservedPod) -> &ObservedPod {
        self.identity.uid.get_or_insert_with(|| pod.uid.clone());
        self.pod.insert(pod)
    }

    async fn read_node(&mut self) -> Result<(), FactsError> {
        let name = self.node_name().await?;
        let call = Call::get(Resource::Nodes, "", &name);
        let node: Node = self.api.read(&call, self.deadline).await?.ok_or(FactsError::NoNode(name))?;
        self.known.node_addresses = Some(node.status.addresses);
        Ok(())
    }

    async fn read_pod(&self) -> Result<ObservedPod, FactsError> {
        let Identity { namespace, pod, uid, source, .. } = self.identity.clone();
        let call = Call::get(Resource::Pods, &namespace, &pod);
        let found = self.api.read::<ObservedPod>(&call, self.deadline).await?;
        if let Some(uid) = uid
            && found.as_ref().is_none_or(|found| found.uid != uid)
        {
            return Err(PodGone(PodIdentity { name: pod, namespace, uid }).into());
        }
        let Some(found) = found else {
            return Err(FactsError::NoPod { namespace, pod, source_of_name: source });
        };
        if source == Source::Hostname && found.network == Network::Host {
            return Err(FactsError::HostNetwork { namespace, pod });
        }
        Ok(found)
    }
}
