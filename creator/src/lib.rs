//! The creator: gives its own pod a NodePort Service and tells the application in a file.

pub mod choices;
pub mod place;
pub mod service;
pub mod template;
pub mod values;
pub mod yaml;
