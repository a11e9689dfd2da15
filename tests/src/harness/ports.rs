//! Free ports on loopback.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
};

/// Below the default NodePort range and Linux's range for outgoing connections, so that nothing takes a port by itself
/// between this look and the program's start, or while a test has that program stopped.
const FIRST: u16 = 20_000;
const COUNT: u64 = 10_000;

/// A port that nothing listens on now. Another process may still take it first: the caller tries again then.
pub(super) fn free() -> u16 {
    let random = RandomState::new();
    (0_u64..1_000)
        .filter_map(|attempt| u16::try_from(random.hash_one(attempt) % COUNT).ok())
        .map(|offset| FIRST + offset)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("one of a thousand ports is free")
}
