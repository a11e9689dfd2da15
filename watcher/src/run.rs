//! The process: how a run starts, and how it ends on success, failure and signals.

use std::{io::Write as _, process::exit, sync::Arc};

use common::{
    api::{
        call::{Resource, Selection},
        client::chain,
        connect::{Connection, connect},
    },
    exit::Exit,
    logging,
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, oneshot},
};

use crate::{
    choices::{Course, Listen, Scope},
    cleanup::Cleanup,
    controller::Controller,
    error::Error,
    events::Events,
    health::{Health, Watched},
    metrics::Metrics,
    once::once,
    orphan::Rules,
    report::Report,
    scan::{Scan, UNFINISHED},
    serve::serve,
    settings::{Settings, SettingsError},
    watch::Watch,
};

/// Changes that wait to be taken in: a watch that has more to report waits.
const CHANGES: usize = 256;

/// Runs the watcher until it is told to end. What went wrong is logged.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    logging::init(settings.log);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(Exit::Other, &format!("cannot start: {error}")),
    };
    let exit = match runtime.block_on(until_terminated(settings)) {
        Ok(exit) => exit,
        Err(error) => fail(error.exit(), &chain(&error)),
    };
    // A look-up that nobody waits for must not hold the program.
    runtime.shutdown_background();
    exit
}

/// Ends a run that never began, because its settings are wrong.
#[must_use]
pub fn refuse(error: &SettingsError) -> Exit {
    // Where nobody can read it, the exit code still tells.
    let _ = writeln!(std::io::stderr(), "error: {}", chain(error));
    Exit::Usage
}

fn fail(exit: Exit, message: &str) -> Exit {
    tracing::error!(exit = exit as u8, error = %message, "failed");
    exit
}

async fn until_terminated(settings: &Settings) -> Result<Exit, Error> {
    let (terminated, stop) = oneshot::channel();
    tokio::spawn(listen_to_signals(terminated));
    let stop = async {
        let _ = stop.await;
    };
    tokio::pin!(stop);
    let (health, metrics) = (Health::new(), Metrics::new());
    let connection = tokio::select! {
        biased;
        () = &mut stop => return Ok(Exit::Done),
        connection = connect() => connection?,
    };
    let Connection { api, namespace, .. } = connection;
    let counted = metrics.clone();
    let api = api.observed(Arc::new(move |call, code| counted.requested(call.verb, call.resource, code)));
    let namespace = match &settings.scope {
        Scope::Own => Some(namespace),
        Scope::Namespace(name) => Some(name.clone()),
        Scope::AllNamespaces => None,
    };

    let rules = Rules { grace: settings.grace, release_delay: settings.release_delay };
    let cleanup = Cleanup::new(api.clone(), rules, settings.effect);
    let scan = Scan {
        api: api.clone(),
        namespace: namespace.clone(),
        pods: settings.pod_selector.clone(),
        services: settings.service_selector.clone(),
    };
    let report = Report::new(Events::start(api.clone()), metrics.clone());
    if settings.course == Course::Once {
        return tokio::select! {
            biased;
            // What it was started for is not done.
            () = &mut stop => Ok(Exit::Terminated),
            done = once(cleanup, &scan, report) => Ok(done.map(|()| Exit::Done)?),
        };
    }

    if let Listen::At(address) = settings.listen {
        let refused = |source| Error::Listen { listen: settings.listen, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        tokio::spawn(serve(listener, health.clone(), metrics.clone()));
    }
    let (reported, changes) = mpsc::channel(CHANGES);
    for (watched, resource, labels, fields) in [
        (Watched::Pods, Resource::Pods, &settings.pod_selector, UNFINISHED),
        (Watched::Services, Resource::Services, &settings.service_selector, ""),
    ] {
        let watch = Watch {
            api: api.clone(),
            watched,
            selection: Selection { resource, namespace: namespace.clone(), labels: labels.to_string(), fields },
            changes: reported.clone(),
            health: health.clone(),
            metrics: metrics.clone(),
        };
        tokio::spawn(watch.run());
    }
    Controller::new(cleanup, scan, settings.scan_interval, report, metrics).run(changes, stop).await;
    Ok(Exit::Done)
}

/// The first signal ends the run, the second the process.
async fn listen_to_signals(terminated: oneshot::Sender<()>) {
    // As PID 1 a program without a handler would ignore them.
    let (mut terminate, mut interrupt) = match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "signals will not be noticed");
            // Dropping `terminated` would end the run.
            return std::future::pending().await;
        }
    };
    tracing::info!("ended by {}", next(&mut terminate, &mut interrupt).await);
    let _ = terminated.send(());
    let signal = next(&mut terminate, &mut interrupt).await;
    tracing::warn!("ended at once by {signal}");
    exit(Exit::Terminated as i32);
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
