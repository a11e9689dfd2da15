//! Which texts Kubernetes accepts as a Service name or a label value, and the short forms of those that it refuses.
//!
//! A short form is the readable start of the full text, a hyphen, and 50 bits of the SHA-256 digest of the whole
//! of it: the same on every run, and different for two pods whose long names begin alike.

use ring::digest::{SHA256, digest};

/// The most characters of a DNS label and of a label value (RFC 1123, Kubernetes' "Object Names and IDs").
pub const MAX_LENGTH: usize = 63;

/// Characters of the digest in a short form: 5 bits each.
const DIGEST_LENGTH: usize = 10;

/// RFC 4648 base32 in lower case: every character may stand anywhere in a name.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Whether the text is a DNS label of RFC 1123: at most 63 of `a-z`, `0-9` and `-`, no hyphen at either end.
#[must_use]
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= MAX_LENGTH && is_enclosed(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), |b| b == b'-')
}

/// Whether the text is an RFC 1123 subdomain, as pods, nodes and ConfigMaps are named: labels between dots, of any length
/// together at most 253.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    let is_part = |part: &str| is_enclosed(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), |b| b == b'-');
    text.len() <= 253 && text.split('.').all(is_part)
}

/// Whether the text is a DNS label of RFC 1035, which Kubernetes documents for Service names: one that also begins
/// with a letter.
#[must_use]
pub fn is_service_name(text: &str) -> bool {
    is_dns_label(text) && text.as_bytes()[0].is_ascii_lowercase()
}

/// Whether the text is a label value: empty, or at most 63 letters, digits, `-`, `_` and `.`, with a letter or
/// digit at either end.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= MAX_LENGTH && has_label_characters(text))
}

/// Whether the text would be a label value if length did not matter.
#[must_use]
pub fn has_label_characters(text: &str) -> bool {
    is_enclosed(text, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.'))
}

/// The text itself where it is a Service name, else its short form.
#[must_use]
pub fn service_name(full: &str) -> String {
    if is_service_name(full) {
        return full.to_owned();
    }
    let mut start = String::new();
    for character in full.chars().map(|c| c.to_ascii_lowercase()) {
        let kept = if character.is_ascii_lowercase() || character.is_ascii_digit() { character } else { '-' };
        if start.is_empty() && !kept.is_ascii_lowercase() {
            start.push('s'); // A digit or a hyphen may not come first; `s` as in Service.
        }
        start.push(kept);
    }
    if start.is_empty() {
        start.push('s');
    }
    shorten(&start, full)
}

/// The text itself where it is a label value, else its short form.
#[must_use]
pub fn label_value(full: &str) -> String {
    if is_label_value(full) {
        return full.to_owned();
    }
    let start: String = full
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .collect();
    shorten(&start, full)
}

/// `start`, cut so that a hyphen and the digest of `full` fit behind it. `start` is ASCII.
fn shorten(start: &str, full: &str) -> String {
    let cut = &start[..start.len().min(MAX_LENGTH - DIGEST_LENGTH - 1)];
    let cut = cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let digest = short_digest(full);
    if cut.is_empty() { digest } else { format!("{cut}-{digest}") }
}

/// The first 50 bits of the SHA-256 digest, five to a character.
fn short_digest(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let bits = digest.as_ref().iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    (0..DIGEST_LENGTH).map(|i| char::from(BASE32[(bits >> (59 - 5 * i) & 31) as usize])).collect()
}

/// Whether the text is not empty, begins and ends with `outer`, and has only `outer` and `inner` between.
fn is_enclosed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => outer(*only),
        [first, middle @ .., last] => outer(*first) && outer(*last) && middle.iter().all(|b| outer(*b) || inner(*b)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_service_name_is_kept_or_shortened() {
        let long = "a".repeat(70);
        for (full, expected) in [
            ("app-0", "app-0"),
            ("a", "a"),
            (&long[..63], &long[..63]),
            (&long[..64], "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-77qfj7t24d"),
            (&long, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-npk6ka2ikw"),
            ("a.b-0", "a-b-0-b4dzwo7z6h"),
            ("1pod", "s1pod-75mr2ganmw"),
            ("123", "s123-uzs2iwjaii"),
            ("", "s-4oymiquy7q"),
            ("A", "a-kwnovuecmt"),
        ] {
            assert_eq!(service_name(full), expected, "of {full:?}");
        }
    }

    #[test]
    fn a_label_value_is_kept_or_shortened() {
        let long = format!("{}.x-0", "a".repeat(70));
        for (full, expected) in [
            ("", ""),
            ("app-0", "app-0"),
            ("1e5", "1e5"),
            ("a.b_C-0", "a.b_C-0"),
            (&long[..63], &long[..63]),
            (&long, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-7icvs7c3du"),
        ] {
            assert_eq!(label_value(full), expected, "of {full:?}");
        }
    }

    #[test]
    fn a_cut_never_ends_in_two_separators() {
        let full = format!("{}{}", "a".repeat(50), ".b".repeat(20));
        assert!(service_name(&full).starts_with(&format!("{}-b-", "a".repeat(50))));
        let full = format!("{}-{}", "a".repeat(51), "b".repeat(20));
        assert!(service_name(&full).starts_with(&format!("{}-", "a".repeat(51))));
        assert_eq!(service_name(&full).len(), 51 + 11);
    }

    proptest! {
        #[test]
        fn every_short_form_is_accepted_and_stays(full in any::<String>()) {
            let name = service_name(&full);
            prop_assert!(is_service_name(&name), "{name:?}");
            prop_assert_eq!(service_name(&name), name);
            let value = label_value(&full);
            prop_assert!(is_label_value(&value), "{value:?}");
            prop_assert_eq!(label_value(&value), value);
        }

        #[test]
        fn texts_that_begin_alike_stay_apart(
            start in "[a-z][a-z0-9.-]{60,120}", first in "[a-z0-9]{1,20}", second in "[a-z0-9]{1,20}",
        ) {
            prop_assume!(first != second);
            let (first, second) = (format!("{start}{first}"), format!("{start}{second}"));
            prop_assert_ne!(service_name(&first), service_name(&second));
            prop_assert_ne!(label_value(&first), label_value(&second));
        }
    }
}
