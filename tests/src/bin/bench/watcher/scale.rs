//! What the watcher takes for many pods and as many Services.

use std::{error::Error, time::Duration};

use cluster_tests::{
    cost::{
        load::Load,
        scale::{self, Crowd, Idle, Loss, Start},
    },
    harness::Running,
};

use super::load_note;
use crate::{bound::Bound, report::Report, table::Table};

const MEBIBYTE: f64 = (1 << 20) as f64;

/// How many objects are made between two lines of progress.
const STEP: usize = 5000;

/// The watcher scans this often unless told otherwise.
const SCAN_INTERVAL: Duration = Duration::from_secs(300);

/// One in this many pods is lost at once.
const LOST: usize = 10;

/// Measures it with each of these numbers of pods, for so many seconds while it is idle, and once more beside others.
pub(crate) async fn bench(sizes: &[usize], others: usize, idle: u64) -> Result<Report, Box<dyn Error>> {
    let window = Duration::from_secs(idle);
    let control_plane = scale::control_plane().await?;
    let mut crowd = Crowd::new(&control_plane).await;
    let load = Load::begin(&control_plane)?;
    let (watcher, start) = crowd.start().await?;
    end(watcher).await;
    let mut rows = vec![(start, None)];
    let mut running = None;
    for size in sizes {
        if let Some(watcher) = running.take() {
            end(watcher).await;
        }
        grow(&mut crowd, *size).await;
        let (watcher, row) = measure(&crowd, window).await?;
        rows.push(row);
        running = Some(watcher);
    }
    let watcher = running.ok_or("no size was named")?;
    let size = crowd.couples();
    let count = (size / LOST).max(1);
    eprintln!("scale: {count} pods are deleted beside the watcher");
    let seen = crowd.lose(&watcher, count).await?;
    end(watcher).await;
    eprintln!("scale: {seen:?}; {count} pods are deleted without it");
    let (watcher, unseen) = crowd.lose_unseen(count).await?;
    eprintln!("scale: {unseen:?}");
    end(watcher).await;

    grow(&mut crowd, size).await;
    for made in (0..others).step_by(STEP) {
        crowd.add_others(STEP.min(others - made)).await;
        eprintln!("scale: {} pods of others", made + STEP.min(others - made));
    }
    let (watcher, row) = measure(&crowd, window).await?;
    end(watcher).await;
    rows.push(row);
    let load = load.of_others()?;
    drop(crowd);
    control_plane.close().await;
    report(&rows, &seen, &unseen, load)
}

/// A start, and the idle time after it where that was measured.
type Row = (Start, Option<Idle>);

async fn measure(crowd: &Crowd<'_>, window: Duration) -> Result<(Running, Row), Box<dyn Error>> {
    let (watcher, start) = crowd.start().await?;
    // All of it at once: whoever interrupts the rest keeps what was measured.
    eprintln!("scale: {start:?}");
    let idle = crowd.idle(&watcher, window).await?;
    eprintln!("scale: {idle:?}");
    Ok((watcher, (start, Some(idle))))
}

async fn end(watcher: Running) {
    watcher.terminate().await.expect_code(0);
}

async fn grow(crowd: &mut Crowd<'_>, size: usize) {
    while crowd.couples() < size {
        crowd.add_couples(STEP.min(size - crowd.couples())).await;
        eprintln!("scale: {} pods with Services", crowd.couples());
    }
}

fn report(rows: &[Row], seen: &Loss, unseen: &Loss, load: f64) -> Result<Report, Box<dyn Error>> {
    let [.., (alone, Some(idle)), (beside_others, Some(_))] = rows else { return Err("nothing was measured".into()) };
    let mut report = Report::default();
    report.table(
        format!("The watcher with many pods and as many Services; idle for {:.0?}", idle.window),
        starts_table(rows),
    );
    report.table(format!("The watcher with {} pods, some of which go", alone.couples), losses_table(seen, unseen));
    report.note(load_note(load));
    let at = |what: &str| format!("watcher: {what} at {} + {}", alone.couples, alone.couples);
    let peak = alone.peak_resident.max(seen.peak_resident).max(unseen.peak_resident);
    report.bound(Bound::new(at("peak RSS, also while pods go, MiB,"), mebibytes(peak), 20.0));
    report.bound(Bound::new(at("first scan, s,"), alone.scanned.as_secs_f64(), 10.0));
    report.bound(Bound::new(at("idle and a scan each 5 min, % of a core,"), idle_share(alone, idle), 1.0));
    let added = mebibytes(beside_others.peak_resident) - mebibytes(alone.peak_resident);
    // Two starts with the same objects differ by some pages.
    report.bound(Bound::new(
        format!("watcher: peak RSS that {} pods of others add, MiB", beside_others.others),
        added,
        0.5,
    ));
    Ok(report)
}

fn starts_table(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "pods + Services",
        "watching s",
        "scanned s",
        "scan's CPU s",
        "watching: peak RSS MiB",
        "scanned: peak RSS MiB",
        "B an object",
        "idle CPU %",
        "with scans %",
        "idle requests",
    ]);
    let mut earlier: Option<&Start> = None;
    for (start, idle) in rows {
        let mut name = format!("{} + {}", start.couples, start.couples);
        if start.others > 0 {
            name += &format!(" and {} of others", start.others);
        }
        let per_object = earlier.and_then(|earlier| bytes_an_object(earlier, start));
        table.row([
            name,
            format!("{:.2}", start.watching.as_secs_f64()),
            format!("{:.2}", start.scanned.as_secs_f64()),
            format!("{:.2}", start.scan_cpu.as_secs_f64()),
            format!("{:.1}", mebibytes(start.peak_watching)),
            format!("{:.1}", mebibytes(start.peak_resident)),
            per_object.map_or_else(String::new, |bytes| format!("{bytes:.0}")),
            idle.map_or_else(String::new, |idle| format!("{:.2}", share(idle.cpu, idle.window))),
            idle.map_or_else(String::new, |idle| format!("{:.2}", idle_share(start, &idle))),
            idle.map_or_else(String::new, |idle| idle.requests.to_string()),
        ]);
        earlier = Some(start);
    }
    table
}

fn losses_table(seen: &Loss, unseen: &Loss) -> Table {
    let mut table =
        Table::new(["", "first pod to last pod s", "then until the last Service is gone s", "peak RSS MiB"]);
    for (name, loss) in [
        (format!("{} deleted at once: from the last pod's DELETED event", seen.pods), seen),
        (format!("{} deleted while it was off: from its start", unseen.pods), unseen),
    ] {
        let seconds = [loss.pods_took, loss.took].map(|took| format!("{:.2}", took.as_secs_f64()));
        let [pods_took, took] = seconds;
        table.row([name, pods_took, took, format!("{:.1}", mebibytes(loss.peak_resident))]);
    }
    table
}

/// What each of the objects that were added takes at the peak.
fn bytes_an_object(before: &Start, after: &Start) -> Option<f64> {
    let added = 2 * after.couples.checked_sub(before.couples).filter(|added| *added > 0)?;
    Some((after.peak_resident as f64 - before.peak_resident as f64) / added as f64)
}

/// A scan falls into few idle times that are measured, but into each that is long enough.
fn idle_share(start: &Start, idle: &Idle) -> f64 {
    share(idle.cpu, idle.window) + share(start.scan_cpu, SCAN_INTERVAL)
}

fn share(cpu: Duration, of: Duration) -> f64 {
    100.0 * cpu.as_secs_f64() / of.as_secs_f64()
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MEBIBYTE
}
