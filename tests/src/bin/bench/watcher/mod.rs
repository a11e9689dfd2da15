//! The watcher: how soon it acts, and what it takes.

pub(crate) mod latency;
pub(crate) mod scale;

/// Tells the reader whether the times can be compared.
pub(crate) fn load_note(others: f64) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Meanwhile other processes used {others:.1} of {cores} cores.")
}
