//! NetServices: how soon their endpoints are right, what is written for that, and what the controller takes.

use std::{error::Error, time::Duration};

use cluster_tests::cost::{
    attached::{Attached, Convergence, NET_SERVICES},
    load::Load,
    scale,
};

use crate::{bound::Bound, report::Report, table::Table, watcher::load_note};

const MEBIBYTE: f64 = (1 << 20) as f64;

/// How long a controller that was started again is looked at: many renewals of its Lease, and two bookmarks.
const IDLE: Duration = Duration::from_secs(120);

/// One in this many pods comes while the controller runs.
const NEW: usize = 10;

/// Measures it with this number of pods.
pub(crate) async fn bench(pods: usize) -> Result<Report, Box<dyn Error>> {
    let control_plane = scale::control_plane().await?;
    let mut attached = Attached::new(&control_plane).await;
    let load = Load::begin(&control_plane)?;
    attached.add(pods).await;
    attached.publish().await;
    eprintln!("net-service: {pods} pods, {NET_SERVICES} NetServices");
    let slices = attached.slices();
    let (running, start) = attached.converge().await?;
    eprintln!("net-service: {start:?}");
    let fallen = attached.one_fails(&running).await?;
    eprintln!("net-service: {fallen:?}");
    let new = (pods / NEW).max(1);
    let grown = attached.grow(&running, new).await?;
    eprintln!("net-service: {grown:?}");
    running.terminate().await.expect_code(0);
    let (running, restart) = attached.restart(IDLE).await?;
    eprintln!("net-service: {restart:?}");
    running.terminate().await.expect_code(0);

    let mut report = Report::default();
    let mut table = Table::new(["", "s", "Services", "slices", "statuses", "others", "CPU s", "peak RSS MiB"]);
    for (name, convergence) in [
        (format!("first start, {slices} slices: until all is right"), &start),
        ("one pod is not ready: until it is told".to_owned(), &fallen),
        (format!("{new} more pods: from the last of them"), &grown),
        (format!("another start, and then idle for {IDLE:?}"), &restart),
    ] {
        table.row(row(name, convergence));
    }
    report.table(format!("{NET_SERVICES} NetServices with {pods} pods on two networks: what is written"), table);
    report.note(load_note(load.of_others()?));
    let at = |what: &str| format!("net-service: {what} with {pods} pods");
    let writes = start.writes.slices as f64;
    let idle = &restart.writes;
    let written = (idle.services + idle.slices + idle.statuses + idle.others) as f64;
    let peak = [start, fallen, grown, restart].iter().map(|it| it.peak_resident).max().unwrap_or_default();
    report.bound(Bound::new(at("first start, s,"), start.took.as_secs_f64(), 30.0));
    report.bound(Bound::new(at("writes of slices at the first start"), writes, slices as f64));
    report.bound(Bound::new(at("a pod is told to be not ready, s,"), fallen.took.as_secs_f64(), 2.0));
    report.bound(Bound::new(at("new pods are told, s,"), grown.took.as_secs_f64(), 2.0));
    report.bound(Bound::new(at("writes of another start, but for the Lease,"), written, 0.0));
    report.bound(Bound::new(at("peak RSS, MiB,"), peak as f64 / MEBIBYTE, 64.0));
    control_plane.close().await;
    Ok(report)
}

fn row(name: String, convergence: &Convergence) -> [String; 8] {
    let Convergence { took, writes, cpu, peak_resident } = convergence;
    [
        name,
        format!("{:.2}", took.as_secs_f64()),
        writes.services.to_string(),
        writes.slices.to_string(),
        writes.statuses.to_string(),
        writes.others.to_string(),
        format!("{:.2}", cpu.as_secs_f64()),
        format!("{:.1}", *peak_resident as f64 / MEBIBYTE),
    ]
}
