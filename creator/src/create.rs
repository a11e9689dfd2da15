//! One run: the order of its steps, and what is done at the same time.

use std::io::Write as _;

use common::{
    api::{
        connect::{Connection, connect},
        retry::Deadline,
    },
    labels::CREATOR,
    settings::{DnsLabel, DnsSubdomain},
};

use crate::{
    address::{self, Advertised, Need},
    effect::Effect,
    ensure::{Task, ensure},
    ensure_error::EnsureError,
    error::Error,
    facts::Facts,
    host::Host,
    identity::{Identity, IdentityError, Told, identify},
    judge::Wanted,
    label::label,
    output::{AllocatedPort, Allocation, hocon::Akka, render::Renderers, write},
    place::Source,
    plan::{Planned, plan, values},
    preview::preview,
    rejection::Rejection,
    resolve::Lookup,
    settings::Settings,
    template::Template,
};

/// Brings about the Service and writes the files.
///
/// Everything that can be wrong shows before anything is created; labelling the pod and creating the Service, which
/// depend on nothing of each other, are done at the same time.
///
/// # Errors
/// As [`Error`] says.
pub async fn create(settings: &Settings) -> Result<(), Error> {
    let deadline = Deadline::after(settings.timeout);
    let connection = connect(CREATOR).await?;
    let identity = who_am_i(settings, &connection)?;
    let api = connection.api;
    let outputs = Renderers::prepare(&settings.outputs, akka(settings))?;
    let mut facts = Facts::new(&api, identity, settings.host_ips.clone(), settings.pod_ip, deadline);

    let mut planned = plan(settings, &api, &mut facts, &outputs, deadline).await?;
    let host = advertise(settings, &mut facts).await?;
    let lookup = Lookup::start(&host);
    planned.service = planned.service.with_advertised_host(&host.to_string());
    let node = if outputs.need_node() { Some(facts.node_name().await?) } else { None };
    let allocation = |ports| allocation(&planned, &facts, &host, node.as_deref(), ports);
    outputs.render(&allocation(planned.rehearsal()))?;
    warn(&planned, &host, &facts);

    let Planned { service, .. } = &planned;
    let pod = &planned.pod.reference();
    let task = Task {
        namespace: facts.namespace(),
        name: &service.name,
        body: &service.body,
        wanted: Wanted { pod, selector: &service.selector, ports: &service.ports },
    };
    let explain = |error| explain(error, &planned);
    let labelled = async { Ok(label(&api, &planned.pod, &service.pod_labels, settings.effect, deadline).await?) };
    match settings.effect {
        Effect::DryRun => {
            let shown = async { preview(&api, task, deadline).await.map_err(explain) };
            let ((), shown) = tokio::try_join!(labelled, shown)?;
            // A reader that has seen enough and closes the pipe is no failure.
            let _ = std::io::stdout().write_all(shown.text().as_bytes());
        }
        Effect::Stored => {
            let ensured = async { ensure(&api, task, deadline).await.map_err(explain) };
            let ((), granted) = tokio::try_join!(labelled, ensured)?;
            if let Some(doubt) = address::family_doubt(&host, &granted.ip_families) {
                tracing::warn!(warning = %doubt, "others may not reach the pod");
            }
            let allocation = allocation(planned.allocated(&granted.ports));
            write(outputs.render(&allocation)?).await?;
            report(settings, &allocation);
        }
    }
    if let Some(warning) = lookup.outcome().and_then(|resolution| resolution.warning()) {
        tracing::warn!(%warning, "the application may not reach itself");
    }
    Ok(())
}

fn who_am_i(settings: &Settings, connection: &Connection) -> Result<Identity, IdentityError> {
    let told = Told {
        pod: settings.pod.as_ref().map(DnsSubdomain::as_str),
        uid: settings.pod_uid.as_deref(),
        node: settings.node_name.as_ref().map(DnsSubdomain::as_str),
        namespace: settings.namespace.as_ref().map(DnsLabel::as_str),
    };
    let hostname = std::env::var("HOSTNAME").ok();
    let bound = connection.claims.as_ref().and_then(|claims| claims.pod.as_ref());
    if let (Some(told), Some(bound)) = (told.pod, bound)
        && told != bound.name
    {
        tracing::warn!(pod = told, token = bound.name, "acting for another pod than the one whose token this is");
    }
    identify(told, connection.claims.as_ref(), hostname.as_deref(), &connection.namespace)
}

fn akka(settings: &Settings) -> Akka {
    Akka {
        artery: settings.artery_port_name.to_string(),
        management: settings.management_port_name.to_string(),
        flavor: settings.flavor,
        bind: settings.bind,
    }
}

/// The address to advertise; of the pod and its node only that is read which an earlier choice does not make needless.
async fn advertise(settings: &Settings, facts: &mut Facts<'_>) -> Result<Host, Error> {
    loop {
        match address::advertised(&settings.advertise, settings.ip_family, facts.known())? {
            Advertised::Host(host) => return Ok(host),
            Advertised::Needs(Need::Rendered(text)) => {
                let template = Template::parse(&Source::Setting("advertise"), &text).map_err(Error::Advertise)?;
                let values = values(&template.needs(), facts).await?;
                let rendered = template.render_text(&values).map_err(Error::Advertise)?;
                facts.rendered(text, rendered);
            }
            Advertised::Needs(need) => facts.supply(&need).await?,
        }
    }
}

fn allocation(
    planned: &Planned,
    facts: &Facts<'_>,
    host: &Host,
    node: Option<&str>,
    ports: Vec<AllocatedPort>,
) -> Allocation {
    Allocation {
        host: host.clone(),
        addresses: address::known(host, facts.known()),
        ports,
        pod: planned.pod.clone(),
        node: node.map(str::to_owned),
        service: planned.service.name.clone(),
    }
}

fn warn(planned: &Planned, host: &Host, facts: &Facts<'_>) {
    for warning in &planned.service.warnings {
        tracing::warn!(%warning, "this may not be meant");
    }
    if let Some(doubt) = address::doubt(host, facts.known()) {
        tracing::warn!(warning = %doubt, "others may not reach the pod");
    }
}

/// A refusal of the Service itself is told in the template's terms.
fn explain(error: EnsureError, planned: &Planned) -> Error {
    let refused = match &error {
        EnsureError::Refused(refused) => Rejection::of(refused, &planned.template, &planned.tree),
        _ => None,
    };
    refused.map_or_else(|| error.into(), Error::from)
}

/// Beside the runtime's thread: a disk that hangs must not keep SIGTERM from ending the run.
async fn write(outputs: Vec<write::Output>) -> Result<(), Error> {
    match tokio::task::spawn_blocking(move || write::write(&outputs)).await {
        Ok(written) => Ok(written?),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

fn report(settings: &Settings, allocation: &Allocation) {
    let ports: Vec<_> = allocation.ports.iter().map(|port| format!("{}={}", port.key(), port.node_port)).collect();
    for output in &settings.outputs {
        tracing::info!(path = %output.path.display(), host = %allocation.host, ports = ports.join(" "), "wrote the file");
    }
}
