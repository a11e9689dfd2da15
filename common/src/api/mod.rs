//! Speaks to the Kubernetes API: one call, one classified answer, and patience between calls.
//!
//! [`connect`](connect::connect) finds the API and the credentials, [`call`] says what is asked, [`classify`] what an
//! answer means (pure), [`retry`] how long to go on, [`client`] does the I/O. [`watch`] reports what happens to many objects.

pub mod call;
mod call_error;
pub mod classify;
pub mod client;
pub mod connect;
pub mod lines;
pub mod outage;
pub mod pages;
pub mod resource;
pub mod retry;
pub mod token;
pub mod watch;
