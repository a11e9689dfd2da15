//! NetServices on a real control plane, under the shipped permissions: the behaviours of their specification, by number.

#![cfg(test)]

mod annotation;
mod bad_input;
mod endpoints;
mod foreign;
mod names;
mod node_ports;
mod permissions;
mod pods;
mod samples;
mod slices;
mod steady;
mod types;
