//! `make bench`: the creator beside a script that does the same, and beside the least that could be done.
//!
//! All run in turns against one real control plane, each time for a fresh pod with a token bound to it. Exits with 1
//! when the creator misses a bound.

mod bound;
mod contender;
mod quantiles;

use std::{error::Error, fs, process::ExitCode};

use clap::Parser;
use cluster_tests::harness::{ControlPlane, Namespace, Options, Pod};

use crate::{
    bound::Bound,
    contender::{Contender, Programs},
    quantiles::Quantiles,
};

/// Bytes; the bounds are in decimal megabytes.
const MEGABYTE: f64 = 1e6;

/// Measures the creator beside a script and a floor.
#[derive(Parser)]
struct Arguments {
    /// How often each of them runs.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Exit with 0 also when a bound is missed.
    #[arg(long)]
    report_only: bool,
}

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

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    let programs = Programs::build()?;
    let control_plane = ControlPlane::try_start(Options::default()).await?;
    let rows = measure(&control_plane, &programs, usize::from(arguments.rounds)).await?;
    control_plane.close().await;

    let binary = fs::metadata(&programs.creator)?.len();
    let bounds = bounds(&rows, megabytes(binary));
    println!("{:24} {:>10} {:>8} {:>8} {:>13} {:>9}", "", "median ms", "p10", "p90", "peak RSS MB", "requests");
    for Row { contender, wall, peak_resident, requests } in &rows {
        let Quantiles { p10, median, p90 } = wall;
        let name = contender.name();
        println!("{name:24} {median:>10.1} {p10:>8.1} {p90:>8.1} {peak_resident:>13.1} {requests:>9.1}");
    }
    println!();
    for bound in &bounds {
        println!("{bound}");
    }
    let met = bounds.iter().all(Bound::is_met);
    Ok(if met || arguments.report_only { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
        Bound { what: "time / script's", seen: creator.wall.median / script.wall.median, at_most: 0.15 },
        Bound { what: "time / floor's", seen: creator.wall.median / floor.wall.median, at_most: 1.5 },
        Bound { what: "peak RSS, MB", seen: peak_resident, at_most: 8.0 },
        Bound { what: "program, MB", seen: binary, at_most: 8.0 },
        Bound { what: "requests", seen: creator.requests, at_most: 3.0 },
        Bound { what: "requests with template", seen: with_template.requests, at_most: 2.0 },
    ]
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MEGABYTE
}
