//! The creator: gives its own pod a NodePort Service and tells the application in a file.

pub mod address;
pub mod choices;
pub mod effect;
pub mod ensure;
pub mod ensure_error;
pub mod facts;
pub mod host;
pub mod identity;
pub mod judge;
pub mod label;
pub mod output;
pub mod pod;
pub mod ports;
pub mod resolve;
pub mod settings;
pub mod source;
pub mod termination;
