//! Whether the watcher lives and is ready; it decides nothing else.
