//! The creator: gives its own pod a NodePort Service and tells the application in a file.

pub mod address;
pub mod choices;
pub mod host;
pub mod output;
pub mod resolve;
pub mod termination;
