//! From a pod's DELETED event to its Service's, beside Kubernetes' own garbage collector.

use std::{error::Error, time::Duration};

use cluster_tests::{
    cost::{
        latency::{Burst, Each, Rivals},
        load::Load,
        quantiles::Quantiles,
    },
    harness::{ControlPlane, Options},
};

use super::load_note;
use crate::{bound::Bound, report::Report, table::Table};

/// How many bursts each takes.
const BURSTS: usize = 3;

/// Deletes this many pods one after the other, then as many at once, and at once again.
pub(crate) async fn bench(pods: usize) -> Result<Report, Box<dyn Error>> {
    let control_plane = ControlPlane::try_start(Options::default()).await?;
    let load = Load::begin(&control_plane)?;
    let mut rivals = Rivals::start(&control_plane).await;
    eprintln!("latency: {pods} pods of each, one after the other");
    let before = rivals.requests().await;
    let one_by_one = rivals.one_by_one(pods).await;
    let requests = (rivals.requests().await - before) as f64 / pods as f64;
    eprintln!("latency: {BURSTS} bursts of {pods} pods of each");
    let bursts = rivals.bursts(BURSTS, pods).await;
    let others = load.of_others()?;
    drop(rivals);
    control_plane.close().await;

    let mut report = Report::default();
    let quantiles = one_by_one.map(|latencies| Quantiles::of(latencies.into_iter().map(milliseconds).collect()));
    let (Some(watcher), Some(collector)) = (quantiles.watcher, quantiles.collector) else {
        return Err("nothing was measured".into());
    };
    report.table(
        format!("The watcher: from a pod's DELETED event to its Service's, {pods} pods one after the other, in turns"),
        one_by_one_table(&watcher, &collector),
    );
    report.table(
        format!("The watcher: {pods} pods deleted at once, {BURSTS} times, in turns; ms, the slowest"),
        bursts_table(&bursts),
    );
    report.note(load_note(others));
    report.bound(Bound::new("watcher: Service after its pod, p99, ms", watcher.p99, 100.0));
    // How long the pods themselves take to go is not the watcher's doing.
    let slowest = slowest(&bursts.watcher, |burst| burst.from_last);
    report.bound(Bound::new(format!("watcher: burst of {pods}, last pod to last Service, s"), slowest / 1e3, 2.0));
    report.bound(Bound::new("watcher: requests a Service", requests, 3.0));
    Ok(report)
}

fn one_by_one_table(watcher: &Quantiles, collector: &Quantiles) -> Table {
    let mut table = Table::new(["", "p50 ms", "p90", "p99", "max"]);
    let numbers = |quantiles: &Quantiles| [quantiles.median, quantiles.p90, quantiles.p99, quantiles.max];
    let (watcher, collector) = (numbers(watcher), numbers(collector));
    let ratio = [0, 1, 2, 3].map(|column| watcher[column] / collector[column]);
    for (name, numbers) in [("watcher, no owner", watcher), ("garbage collector, owner", collector), ("ratio", ratio)] {
        let [p50, p90, p99, max] = numbers.map(|number| format!("{number:.2}"));
        table.row([name.to_owned(), p50, p90, p99, max]);
    }
    table
}

fn bursts_table(bursts: &Each<Vec<Burst>>) -> Table {
    let mut table = Table::new(["", "first pod to last pod", "last pod to last Service", "first pod to last Service"]);
    let numbers = |bursts: &[Burst]| {
        [
            slowest(bursts, |burst| burst.pods),
            slowest(bursts, |burst| burst.from_last),
            slowest(bursts, |burst| burst.from_first),
        ]
    };
    let (watcher, collector) = (numbers(&bursts.watcher), numbers(&bursts.collector));
    let ratio = [0, 1, 2].map(|column| watcher[column] / collector[column]);
    for (name, numbers, digits) in
        [("watcher, no owner", watcher, 0), ("garbage collector, owner", collector, 0), ("ratio", ratio, 2)]
    {
        let [pods, from_last, from_first] = numbers.map(|number| format!("{number:.digits$}"));
        table.row([name.to_owned(), pods, from_last, from_first]);
    }
    table
}

fn slowest(bursts: &[Burst], part: impl Fn(&Burst) -> Duration) -> f64 {
    bursts.iter().map(part).max().map_or(f64::NAN, milliseconds)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
