//! Comes to the Service to bring about: template, pod and settings in, a validated plan out. It writes nothing.

use std::num::NonZeroU16;

use common::api::{client::Api, retry::Deadline};

use crate::{
    choices::Bind,
    error::Error,
    facts::Facts,
    output::{AllocatedPort, hocon::Akka, render::Renderers},
    place::Source,
    pod::PodIdentity,
    ports::GivenPort,
    selector,
    service::{self, AkkaPorts, Port, ServicePlan, TargetPort},
    settings::{Settings, TemplateSource},
    source,
    template::Template,
    values::{Field, Needs, Values},
    yaml::Node,
};

/// The Service to bring about, and for whom.
#[derive(Debug)]
pub struct Planned {
    /// The pod.
    pub pod: PodIdentity,
    /// The Service.
    pub service: ServicePlan,
    /// Where the template was read from.
    pub template: Source,
    /// The rendered template, for the places of what the API may refuse.
    pub tree: Node,
    /// The pod's port behind each of the Service's ports, in the template's order.
    targets: Vec<Option<u16>>,
}

impl Planned {
    /// The allocated ports, in the template's order, whatever order the API keeps.
    #[must_use]
    pub fn allocated(&self, given: &[GivenPort]) -> Vec<AllocatedPort> {
        let node_port = |wanted: &Port| {
            let found = given.iter().find(|given| given.name == wanted.name && given.protocol == wanted.protocol);
            found.map(|given| given.node_port)
        };
        self.ports(node_port)
    }

    /// The ports as if each had been allocated, to try what will be written before anything is created.
    #[must_use]
    pub fn rehearsal(&self) -> Vec<AllocatedPort> {
        self.ports(|_| Some(NonZeroU16::MIN))
    }

    fn ports(&self, node_port: impl Fn(&Port) -> Option<NonZeroU16>) -> Vec<AllocatedPort> {
        let ports = self.service.ports.iter().zip(&self.targets);
        ports
            .filter_map(|(wanted, target)| {
                Some(AllocatedPort {
                    name: wanted.name.clone(),
                    node_port: node_port(wanted)?,
                    target: target.and_then(NonZeroU16::new),
                })
            })
            .collect()
    }
}

/// Reads the template, renders it for the pod and validates it.
///
/// # Errors
/// Where the template or the pod cannot be read, or the Service would be wrong.
pub async fn plan(
    settings: &Settings,
    api: &Api,
    facts: &mut Facts<'_>,
    outputs: &Renderers<'_>,
    deadline: Deadline,
) -> Result<Planned, Error> {
    let namespace = facts.namespace().to_owned();
    let (template, text) = match &settings.template {
        TemplateSource::File(path) => (Source::File(path.clone()), source::from_file(path)?),
        TemplateSource::ConfigMap { name, key } => {
            let (name, key) = (name.to_string(), key.to_string());
            let text = async { Ok(source::from_config_map(api, &namespace, &name, &key, deadline).await?) };
            // Where its UID is not known, the pod is needed in any case: it is read at the same time.
            let (text, _) = tokio::try_join!(text, async { Ok::<_, Error>(facts.identity().await?) })?;
            (Source::ConfigMap { namespace: namespace.clone(), name, key }, text)
        }
    };
    let parsed = Template::parse(&template, &text)?;
    let pod = facts.identity().await?;
    let tree = parsed.render(&values(&parsed.needs(), facts).await?)?;
    let wanted = service::Wanted {
        artery_port: settings.artery_port_name.as_str(),
        management_port: settings.management_port_name.as_str(),
        akka_ports: if outputs.akka().is_some() { AkkaPorts::Required } else { AkkaPorts::Optional },
        owner_reference: settings.owner_reference,
    };
    let service = service::validate(&tree, &template, &pod, &wanted)?;
    if !service.required_labels.is_empty() {
        selector::check_labels(&pod.name, facts.pod().await?, &service.required_labels)?;
    }
    let targets = targets(facts, &pod, &service.ports, outputs.akka()).await?;
    Ok(Planned { pod, service, template, tree, targets })
}

/// The values that a template names; the pod is read only where one of them is not known otherwise.
///
/// # Errors
/// Where the pod cannot be read, or lacks a value until the deadline.
pub async fn values(needs: &Needs, facts: &mut Facts<'_>) -> Result<Values, Error> {
    let pod = facts.identity().await?;
    let mut values = Values {
        pod_name: Some(pod.name),
        namespace: Some(pod.namespace),
        pod_uid: Some(pod.uid),
        ..Values::default()
    };
    for field in needs.iter() {
        match field {
            Field::PodName | Field::Namespace | Field::PodUID | Field::Ordinal => {}
            Field::NodeName => values.node_name = Some(facts.node_name().await?),
            Field::PodIP => values.pod_ip = Some(facts.pod_ip().await?),
            Field::HostIP => values.host_ip = facts.host_ips().await?.first().map(ToString::to_string),
            Field::Labels => values.labels = Some(facts.pod().await?.labels.clone()),
            Field::Annotations => values.annotations = Some(facts.pod().await?.annotations.clone()),
        }
    }
    Ok(values)
}

/// The pod is read for named target ports only where the `.conf` file says where to bind.
async fn targets(
    facts: &mut Facts<'_>,
    pod: &PodIdentity,
    ports: &[Port],
    akka: Option<&Akka>,
) -> Result<Vec<Option<u16>>, Error> {
    let bound = akka.filter(|akka| akka.bind == Bind::On);
    let mut targets = Vec::with_capacity(ports.len());
    for port in ports {
        let named = matches!(port.target_port, TargetPort::Name(_));
        let is_bound =
            |akka: &Akka| [&akka.artery, &akka.management].into_iter().any(|name| port.name.as_ref() == Some(name));
        targets.push(match bound {
            Some(akka) if named && is_bound(akka) => selector::target(&pod.name, Some(facts.pod().await?), port)?,
            _ => selector::target(&pod.name, None, port)?,
        });
    }
    Ok(targets)
}
