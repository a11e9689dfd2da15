//! The creator on a real control plane, under the documented Role.

#![cfg(test)]

mod advertise;
mod bad_input;
mod container;
mod documented;
mod identity;
mod labels;
mod other_user;
mod output;
mod ownership;
mod permissions;
mod preview;
mod replace;
mod settings;
mod support;
mod terminating;
mod unwritable;
