//! The creator beside a script that does the same, and beside the least that could be done.
//!
//! All run in turns against one real control plane, each time for a fresh pod with a token bound to it.

mod contender;

use std::{error::Error, fs};

use cluster_tests::{
    cost::quantiles::Quantiles,
    harness::{ControlPlane, Namespace, Options, Pod},
};

use self::contender::{Contender, Programs};
use crate::{bound::Bound, report::Report, table::Table};

/// Bytes; the bounds are in decimal megabytes.
const MEGABYTE: f64 = 1e6;

/// What was measured of one contender.
struct Row {
    contender: Contender,
    /// Milliseconds.
    wall: Quantiles,
    /// The largest of all runs, in megabytes.
    peak_resident: f64,
    /// The mean of all runs.
    requests: f64,
}

/// Runs each of them this often.
pub(crate) async fn bench(rounds: usize) -> Result<Report, Box<dyn Error>> {
    let programs = Programs::build()?;
    let control_plane = ControlPlane::try_start(Options::default()).await?;
    let rows = measure(&control_plane, &programs, rounds).await?;
    control_plane.close().await;

    let mut table = Table::new(["", "median ms", "p10", "p90", "peak RSS MB", "requests"]);
    for Row { contender, wall, peak_resident, requests } in &rows {
        let [median, p10, p90, peak_resident, requests] =
            [wall.median, wall.p10, wall.p90, *peak_resident, *requests].map(|number| format!("{number:.1}"));
        table.row([contender.name().to_owned(), median, p10, p90, peak_resident, requests]);
    }
    let mut report = Report::default();
    report.table(format!("The creator: {rounds} runs each"), table);
    let binary = fs::metadata(&programs.creator)?.len();
    for bound in bounds(&rows, megabytes(binary)) {
        report.bound(bound);
    }
    Ok(report)
}

/// Runs all contenders in turns; whoever is first in one round is last in the next.
async fn measure(control_plane: &ControlPlane, programs: &Programs, rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    // A namespace each, so that the audit log tells whose a request is by its user.
    let mut namespaces = Vec::new();
    for _ in Contender::ALL {
        namespaces.push(control_plane.namespace().await);
    }
    // One round more, which does not count: in it files and the apiserver's caches get warm.
    let mut pods = Vec::new();
    for round in 0..=rounds {
        pods.push(create_pods(&namespaces, round).await);
    }
    let mut samples = Contender::ALL.map(|_| Vec::new());
    for (round, pods) in pods.iter().enumerate() {
        for turn in 0..Contender::ALL.len() {
            let index = (turn + round) % Contender::ALL.len();
            let sample = Contender::ALL[index].run(programs, &pods[index]).await?;
            if round > 0 {
                samples[index].push(sample);
            }
        }
    }
    let mut rows = Vec::new();
    for ((contender, namespace), samples) in Contender::ALL.into_iter().zip(&namespaces).zip(samples) {
        let user = namespace.user();
        let requests = control_plane.audit(|event| event.user == user).await.len();
        let walls = samples.iter().map(|sample| sample.wall.as_secs_f64() * 1e3).collect();
        let peak = samples.iter().map(|sample| sample.peak_resident).max().unwrap_or_default();
        rows.push(Row {
            contender,
            wall: Quantiles::of(walls).ok_or("no round was run")?,
            peak_resident: megabytes(peak),
            requests: requests as f64 / (rounds + 1) as f64,
        });
    }
    Ok(rows)
}

/// A round's pods: one in each namespace.
async fn create_pods<'a>(namespaces: &'a [Namespace<'a>], round: usize) -> Vec<Pod<'a>> {
    let mut pods = Vec::new();
    for namespace in namespaces {
        pods.push(namespace.pod(&format!("app-{round}")).create().await);
    }
    pods
}

/// What is asked of the creator. Times are compared by their medians.
fn bounds(rows: &[Row], binary: f64) -> Vec<Bound> {
    let [creator, with_template, script, floor] = rows else { return Vec::new() };
    let peak_resident = creator.peak_resident.max(with_template.peak_resident);
    vec![
        Bound::new("creator: time / script's", creator.wall.median / script.wall.median, 0.15),
        Bound::new("creator: time / floor's", creator.wall.median / floor.wall.median, 1.5),
        Bound::new("creator: peak RSS, MB", peak_resident, 8.0),
        Bound::new("creator: program, MB", binary, 8.0),
        Bound::new("creator: requests", creator.requests, 3.0),
        Bound::new("creator: requests with template", with_template.requests, 2.0),
    ]
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MEGABYTE
}
