//! The creator: gives its own pod a NodePort Service and tells the application in a file.

pub mod choices;
pub mod settings;
