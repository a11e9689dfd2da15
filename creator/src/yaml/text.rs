//! A text and where its pieces come from.

/// Where a piece of a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The template itself.
    Literal,
    /// The pod's name or UID.
    Identity,
    /// Any other value.
    Value,
    /// An integer that the template computes.
    Sum,
}

/// A text of the YAML.
#[derive(Clone, Debug, Default)]
pub struct Text {
    whole: String,
    origins: Vec<Origin>,
}

/// Texts are equal that read the same, wherever they come from.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.whole == other.whole
    }
}

impl Text {
    /// The text as Kubernetes gets it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.whole
    }

    /// Whether the template's author wrote all of it.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.origins.iter().all(|origin| *origin == Origin::Literal)
    }

    /// Whether the pod's whole name or UID is in it, and nothing else but text of the template: two values side by side
    /// could be the same text for two pods (`a` and `bc`, `ab` and `c`).
    #[must_use]
    pub fn carries_identity(&self) -> bool {
        let mut rendered = self.origins.iter().filter(|origin| **origin != Origin::Literal);
        rendered.next() == Some(&Origin::Identity) && rendered.next().is_none()
    }

    /// Whether it is one computed integer and nothing else.
    pub(super) fn is_sum(&self) -> bool {
        self.origins == [Origin::Sum]
    }

    pub(super) fn push(&mut self, piece: &str, origin: Origin) {
        self.whole.push_str(piece);
        self.origins.push(origin);
    }
}
