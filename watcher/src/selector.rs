//! A label selector as Kubernetes reads it; it selects nothing itself.

use std::{fmt, str::FromStr};

/// A label selector that Kubernetes accepts, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector(String);

/// The text is no label selector.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a label selector such as product=ipfv2, app in (a, b) or !canary")]
pub struct InvalidSelector;

impl LabelSelector {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() { Err(InvalidSelector) } else { Ok(Self(text.to_owned())) }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
