//! A UID in 16 bytes instead of 36 characters.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Stands for a UID where many are held. Kubernetes promises no form; all that it makes are UUIDs, and any other text is
/// hashed. A UUID is held whole, so two of these are equal only if the texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uid([u64; 2]);

impl Uid {
    /// The UID that is written so.
    #[must_use]
    pub fn of(text: &str) -> Self {
        uuid(text).unwrap_or_else(|| {
            let hash = |salt: u8| {
                let mut hasher = DefaultHasher::new();
                (salt, text).hash(&mut hasher);
                hasher.finish()
            };
            Self([hash(0), hash(1)])
        })
    }
}

fn uuid(text: &str) -> Option<Uid> {
    let digits: String = text.split('-').collect();
    if text.len() != 36 || digits.len() != 32 {
        return None;
    }
    let half = |digits: &str| u64::from_str_radix(digits, 16).ok();
    Some(Uid([half(digits.get(..16)?)?, half(digits.get(16..)?)?]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn different_texts_are_different_uids() {
        let texts = [
            "27a3c2f1-6a1e-4f6c-9d5a-0b8f8f0e4b11",
            "27a3c2f1-6a1e-4f6c-9d5a-0b8f8f0e4b12",
            "37a3c2f1-6a1e-4f6c-9d5a-0b8f8f0e4b11",
            "27a3c2f16a1e4f6c9d5a0b8f8f0e4b11",
            "+7a3c2f1-6a1e-4f6c-9d5a-0b8f8f0e4b11",
            "",
            "u1",
            "u2",
            "é",
        ];
        let uids: HashSet<_> = texts.into_iter().map(Uid::of).collect();
        assert_eq!(uids.len(), texts.len());
        assert_eq!(Uid::of("u1"), Uid::of("u1"));
    }
}
