//! Counts what the watcher does, and shows it as OpenMetrics; it decides nothing.
