//! Names that Kubernetes restricts, as types: a value of one needs no further check.

use std::fmt;
use std::str::FromStr;

use crate::names::{is_dns_label, is_dns_subdomain};

/// The text is not a name of its kind.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct InvalidName(&'static str);

/// Defines a name: its documentation, what it must look like in words, and the check.
macro_rules! name {
    ($(#[$documentation:meta])* $name:ident, $expected:literal, $is_valid:path) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                if $is_valid(text) { Ok(Self(text.to_owned())) } else { Err(InvalidName($expected)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// An RFC 1123 label, as namespaces and the ports of a Service are named (`IsDNS1123Label` in
    /// k8s.io/apimachinery/pkg/util/validation).
    DnsLabel,
    "at most 63 lower-case letters, digits and dashes, the first and last no dash",
    is_dns_label
}

name! {
    /// An RFC 1123 subdomain, as pods, nodes and ConfigMaps are named (`IsDNS1123Subdomain` in
    /// k8s.io/apimachinery/pkg/util/validation).
    DnsSubdomain,
    "at most 253 lower-case letters, digits, dashes and dots, each part between dots starting and ending with a \
     letter or digit",
    is_dns_subdomain
}

name! {
    /// A key of a ConfigMap's data (`IsConfigMapKey` in k8s.io/apimachinery/pkg/util/validation).
    ConfigMapKey,
    "at most 253 letters, digits, dashes, underscores and dots, neither `.` nor starting with `..`",
    is_config_map_key
}

fn is_config_map_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        && text != "."
        && !text.starts_with("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_takes_what_kubernetes_takes() {
        let (long_label, longer_label) = ("a".repeat(63), "a".repeat(64));
        let (long, longer) = ("a".repeat(253), "a".repeat(254));
        for (text, label, subdomain, key) in [
            ("default", true, true, true),
            ("123", true, true, true),
            ("a-b", true, true, true),
            ("a.b-0", false, true, true),
            ("default.yaml", false, true, true),
            (long_label.as_str(), true, true, true),
            (longer_label.as_str(), false, true, true),
            (long.as_str(), false, true, true),
            (longer.as_str(), false, false, false),
            ("UPPER_case", false, false, true),
            ("", false, false, false),
            ("-a", false, false, true),
            ("a-", false, false, true),
            ("a..b", false, false, true),
            (".a", false, false, true),
            (".", false, false, false),
            ("..", false, false, false),
            ("..a", false, false, false),
            ("a b", false, false, false),
            ("a/b", false, false, false),
            ("é", false, false, false),
            ("a\n", false, false, false),
        ] {
            assert_eq!(text.parse::<DnsLabel>().is_ok(), label, "label {text:?}");
            assert_eq!(text.parse::<DnsSubdomain>().is_ok(), subdomain, "subdomain {text:?}");
            assert_eq!(text.parse::<ConfigMapKey>().is_ok(), key, "key {text:?}");
        }
    }
}
