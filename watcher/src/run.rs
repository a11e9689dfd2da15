//! The process: how a run starts, and how it ends on success, failure and signals.

use std::{io::Write as _, process::exit, sync::Arc, time::Duration};

use common::{
    api::{
        call::{Extent, Selection},
        client::{Api, chain},
        connect::{Connection, connect},
        resource::Resource,
        watch::{Absence, Watch},
    },
    exit::Exit,
    labels::WATCHER,
    logging,
};
use net_service::{pulse::Pulse, run::NetServices};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, oneshot, watch},
};

use crate::{
    choices::{self, Controllers, Course, Listen, Scope},
    cleanup::Cleanup,
    controller::Controller,
    error::Error,
    events::Events,
    health::Health,
    metrics::Metrics,
    once::once,
    orphan::Rules,
    report::Report,
    scan::{Scan, UNFINISHED},
    serve::serve,
    settings::{Settings, SettingsError},
    watched::{Hearing, Watched},
};

/// Changes that wait to be taken in: a watch that has more to report waits.
const CHANGES: usize = 256;

/// How long a run may take to end. What hangs by then (a log that nobody reads, a plugin for credentials) is left.
const FAREWELL: Duration = Duration::from_millis(900);

/// Runs the watcher until it is told to end. What went wrong is logged.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    let stop = signals(settings.course);
    logging::init(settings.log);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(Exit::Other, &format!("cannot start: {error}")),
    };
    let exit = match runtime.block_on(until_terminated(settings, stop)) {
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

async fn until_terminated(settings: &Settings, stop: oneshot::Receiver<&'static str>) -> Result<Exit, Error> {
    let stop = async {
        match stop.await {
            Ok(signal) => tracing::info!("ended by {signal}"),
            // There are no signals.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::pin!(stop);
    let connection = tokio::select! {
        biased;
        () = &mut stop => return Ok(interrupted(settings.course)),
        connection = connect(WATCHER) => connection?,
    };
    let Connection { api, namespace, .. } = connection;
    let pulse = Pulse::default();
    let (health, metrics) = shown(&settings.controllers, &pulse);
    let counted = metrics.clone();
    let api = api.observed(Arc::new(move |call, code| counted.requested(call.verb, call.resource, code)));
    let own_namespace = namespace;
    let namespace = match &settings.scope {
        Scope::Own => Some(own_namespace.clone()),
        Scope::Namespace(name) => Some(name.clone()),
        Scope::AllNamespaces => None,
    };
    if settings.course == Course::Once {
        let cleanup = cleanup(settings, &api);
        let scan = scan(settings, &api, namespace);
        let report = Report::new(Events::start(api), metrics);
        return tokio::select! {
            biased;
            () = &mut stop => Ok(interrupted(Course::Once)),
            done = once(cleanup, &scan, report) => Ok(done.map(|()| Exit::Done)?),
        };
    }

    if let Listen::At(address) = settings.listen {
        let refused = |source| Error::Listen { listen: settings.listen, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        tokio::spawn(serve(listener, health.clone(), metrics.clone()));
    }
    // Each controller ends in its own way once this one is dropped.
    let (running, ended) = watch::channel(());
    let net_services = {
        let (api, namespace) = (api.clone(), namespace.clone());
        let lease_namespace = namespace.clone().unwrap_or(own_namespace);
        let ended = until(ended.clone());
        async {
            if settings.controllers.include(choices::Controller::NetService) {
                NetServices { api, namespace, lease_namespace, pulse }.run(ended).await;
            }
        }
    };
    let cleanup = async {
        if settings.controllers.include(choices::Controller::Cleanup) {
            clean_up(settings, api, namespace, health, metrics, until(ended)).await;
        }
    };
    let both = async { tokio::join!(cleanup, net_services) };
    tokio::pin!(both);
    tokio::select! {
        biased;
        () = &mut stop => {}
        _ = &mut both => return Ok(Exit::Done),
    }
    drop(running);
    both.await;
    Ok(Exit::Done)
}

/// Returns once the other end of this channel is dropped.
async fn until(mut ended: watch::Receiver<()>) {
    while ended.changed().await.is_ok() {}
}

fn shown(controllers: &Controllers, pulse: &Pulse) -> (Health, Metrics) {
    let (mut health, mut metrics) = (Health::new(), Metrics::new());
    if controllers.include(choices::Controller::Cleanup) {
        health = health.with_cleanup();
    } else {
        metrics = metrics.without_cleanup();
    }
    if controllers.include(choices::Controller::NetService) {
        (health, metrics) = (health.with_net_service(pulse.clone()), metrics.with_net_service());
    }
    (health, metrics)
}

fn cleanup(settings: &Settings, api: &Api) -> Cleanup {
    let rules = Rules { grace: settings.grace, release_delay: settings.release_delay };
    Cleanup::new(api.clone(), rules, settings.effect)
}

fn scan(settings: &Settings, api: &Api, namespace: Option<String>) -> Scan {
    Scan {
        api: api.clone(),
        namespace,
        pods: settings.pod_selector.clone(),
        services: settings.service_selector.clone(),
    }
}

/// Runs the clean-up, with its watches, until `stop`.
async fn clean_up(
    settings: &Settings,
    api: Api,
    namespace: Option<String>,
    health: Health,
    metrics: Metrics,
    stop: impl Future<Output = ()>,
) {
    let (reported, changes) = mpsc::channel(CHANGES);
    for (watched, resource, labels, fields) in [
        (Watched::Pods, Resource::Pods, &settings.pod_selector, UNFINISHED),
        (Watched::Services, Resource::Services, &settings.service_selector, ""),
    ] {
        let watch = Watch {
            api: api.clone(),
            selection: Selection {
                resource,
                namespace: namespace.clone(),
                labels: labels.to_string(),
                fields,
                extent: Extent::Metadata,
            },
            absence: Absence::Failure,
            changes: reported.clone(),
            audience: Hearing { watched, health: health.clone(), metrics: metrics.clone() },
        };
        tokio::spawn(watch.run());
    }
    // What waits for room in it ends with the others.
    drop(reported);
    let (cleanup, scan) = (cleanup(settings, &api), scan(settings, &api, namespace));
    let report = Report::new(Events::start(api), metrics.clone());
    Controller::new(cleanup, scan, settings.scan_interval, report, metrics).run(changes, stop).await;
}

/// How a run ends that a signal has ended.
fn interrupted(course: Course) -> Exit {
    match course {
        Course::Endless => Exit::Done,
        // What it was started for is not done.
        Course::Once => Exit::Terminated,
    }
}

/// The first signal, by its name. It ends the run; where that takes too long, or at a second signal, it ends the process.
/// All on a thread of its own: whatever blocks the others, signals are heard, also as PID 1, where nothing else would end
/// the process.
fn signals(course: Course) -> oneshot::Receiver<&'static str> {
    let (first, stop) = oneshot::channel();
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
            let (Ok(mut terminate), Ok(mut interrupt)) = signals else { return };
            let _ = ready.send(());
            let _ = first.send(next(&mut terminate, &mut interrupt).await);
            let exit_code = tokio::select! {
                _ = next(&mut terminate, &mut interrupt) => Exit::Terminated,
                () = tokio::time::sleep(FAREWELL) => interrupted(course),
            };
            exit(exit_code as i32);
        });
    });
    // An error says that signals will not be heard: they end the process as they do by default.
    let _ = is_ready.recv();
    stop
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
