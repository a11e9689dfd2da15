//! The creator on a real control plane, under the documented Role.

#![cfg(test)]

mod documented;
