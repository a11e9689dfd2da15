//! `make bench`: what the programs cost, beside what else does the same work, on a real control plane.
//!
//! Prints Markdown. Exits with 1 when a program misses a bound.

mod bound;
mod creator;
mod net_service;
mod report;
mod table;
mod watcher;

use std::{error::Error, process::ExitCode};

use clap::{Parser, ValueEnum};

/// Measures the programs.
#[derive(Parser)]
struct Arguments {
    /// What to measure: everything unless named.
    parts: Vec<Part>,
    /// How often the creator and each of its contenders runs.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// How many pods are deleted one after the other, and how many at once.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=400))]
    pods: u16,
    /// With how many pods, and as many Services, the watcher is measured, in rising order.
    #[arg(long, default_value = "1000,3000,10000", value_delimiter = ',')]
    scale: Vec<usize>,
    /// How many pods of others there are beside them in the end.
    #[arg(long, default_value_t = 50_000)]
    others: usize,
    /// For how many seconds the idle watcher is measured.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// How many pods NetServices lead to.
    #[arg(long, default_value_t = 2500, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    attached: u16,
    /// Exit with 0 also when a bound is missed.
    #[arg(long)]
    report_only: bool,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The creator's time, memory and requests.
    Creator,
    /// How soon the watcher acts.
    Latency,
    /// What the watcher takes for many pods.
    Scale,
    /// What NetServices take for many pods.
    NetService,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut met = true;
    for part in [Part::Creator, Part::Latency, Part::Scale, Part::NetService] {
        if !arguments.parts.is_empty() && !arguments.parts.contains(&part) {
            continue;
        }
        let report = match part {
            Part::Creator => creator::bench(usize::from(arguments.rounds)).await?,
            Part::Latency => watcher::latency::bench(usize::from(arguments.pods)).await?,
            Part::Scale => watcher::scale::bench(&arguments.scale, arguments.others, arguments.idle).await?,
            Part::NetService => net_service::bench(usize::from(arguments.attached)).await?,
        };
        println!("{report}");
        met &= report.is_met();
    }
    Ok(if met || arguments.report_only { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
