//! Starts the creator.

fn main() {}
