//! Decides which pod the creator runs in, from settings, token and host name; it never asks the API.

use common::{api::token::Claims, names::is_dns_subdomain};

/// The longest HOSTNAME that is surely a whole pod name: the kubelet cuts a longer name at 63 characters.
const LONGEST_HOSTNAME: usize = 62;

/// Where the pod's name came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The option `pod`.
    Option,
    /// The claims of the service account token.
    Token,
    /// The environment variable HOSTNAME.
    Hostname,
}

/// What is known about the pod before anything is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's UID; where it is not known, the API is asked.
    pub uid: Option<String>,
    /// The name of the pod's node.
    pub node: Option<String>,
    /// Where the name came from.
    pub source: Source,
}

/// What the settings say about the pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The option `pod`.
    pub pod: Option<&'a str>,
    /// The option `pod-uid`.
    pub uid: Option<&'a str>,
    /// The option `node-name`.
    pub node: Option<&'a str>,
    /// The option `namespace`.
    pub namespace: Option<&'a str>,
}

/// The pod cannot be known.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Nothing tells the name.
    #[error(
        "cannot tell which pod this is: the token names no pod and HOSTNAME is not set; set POD from the field metadata.name"
    )]
    Nothing,
    /// HOSTNAME may be a cut name.
    #[error(
        "cannot tell which pod this is: HOSTNAME {0} may be cut (the kubelet cuts it at 63 characters); set POD from the field metadata.name"
    )]
    CutHostname(String),
    /// HOSTNAME is no pod's name.
    #[error("cannot tell which pod this is: HOSTNAME {0:?} is no pod's name; set POD from the field metadata.name")]
    NoPodName(String),
    /// The option `namespace` names another namespace than the token.
    #[error(
        "namespace is set to {set}, but this is pod {pod} in namespace {actual}, and a Service reaches only pods of its own namespace: leave namespace out"
    )]
    OtherNamespace {
        /// The option's value.
        set: String,
        /// The pod of the token.
        pod: String,
        /// Its namespace.
        actual: String,
    },
    /// The option `pod-uid` contradicts the token.
    #[error(
        "pod-uid is set to {set}, but the service account token says that pod {pod} has UID {actual}: leave pod-uid out"
    )]
    OtherUid {
        /// The option's value.
        set: String,
        /// The pod of the token.
        pod: String,
        /// Its UID.
        actual: String,
    },
}

/// The pod: an explicit name wins, then the token's claims, then HOSTNAME.
///
/// The token's UID and node are taken only for the very pod that the token is bound to.
///
/// # Errors
/// Where nothing names the pod, or where settings and token contradict each other.
pub fn identify(
    told: Told<'_>,
    claims: Option<&Claims>,
    hostname: Option<&str>,
    connection_namespace: &str,
) -> Result<Identity, IdentityError> {
    let bound = claims.and_then(|claims| claims.pod.as_ref().map(|pod| (claims, pod)));
    let namespace = told.namespace.unwrap_or(claims.map_or(connection_namespace, |claims| &claims.namespace));

    let (pod, source) = match (told.pod, bound) {
        (Some(pod), _) => (pod, Source::Option),
        (None, Some((claims, pod))) if claims.namespace != namespace => {
            return Err(IdentityError::OtherNamespace {
                set: namespace.to_owned(),
                pod: pod.name.clone(),
                actual: claims.namespace.clone(),
            });
        }
        (None, Some((_, pod))) => (pod.name.as_str(), Source::Token),
        (None, None) => (whole(hostname)?, Source::Hostname),
    };

    let own = bound.filter(|(claims, bound)| bound.name == pod && claims.namespace == namespace);
    if let (Some(set), Some((_, bound))) = (told.uid, own)
        && set != bound.uid
    {
        return Err(IdentityError::OtherUid { set: set.to_owned(), pod: pod.to_owned(), actual: bound.uid.clone() });
    }
    let token_node = own.and_then(|(claims, _)| claims.node.as_ref());
    Ok(Identity {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        uid: told.uid.or(own.map(|(_, bound)| bound.uid.as_str())).map(str::to_owned),
        node: told.node.or(token_node.map(|node| node.name.as_str())).map(str::to_owned),
        source,
    })
}

fn whole(hostname: Option<&str>) -> Result<&str, IdentityError> {
    match hostname {
        None | Some("") => Err(IdentityError::Nothing),
        Some(name) if name.len() > LONGEST_HOSTNAME => Err(IdentityError::CutHostname(name.to_owned())),
        Some(name) if !is_dns_subdomain(name) => Err(IdentityError::NoPodName(name.to_owned())),
        Some(name) => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::api::token::Bound;

    fn claims(pod: Option<&str>) -> Claims {
        let bound = |name: &str, uid: &str| Bound { name: name.into(), uid: uid.into() };
        Claims {
            namespace: "shop".into(),
            pod: pod.map(|name| bound(name, "token-uid")),
            node: pod.map(|_| bound("node-1", "n")),
        }
    }

    fn found(namespace: &str, pod: &str, uid: Option<&str>, node: Option<&str>, source: Source) -> Identity {
        Identity {
            namespace: namespace.into(),
            pod: pod.into(),
            uid: uid.map(Into::into),
            node: node.map(Into::into),
            source,
        }
    }

    #[test]
    fn each_source_in_its_turn() {
        let bound = claims(Some("app-0"));
        let unbound = claims(None);
        let none = Told::default();
        let pod = |pod| Told { pod: Some(pod), ..none };
        let long = "a".repeat(200);
        let long_claims = claims(Some(&long));
        let table = [
            (
                "token",
                none,
                Some(&bound),
                Some("node-1.example"),
                found("shop", "app-0", Some("token-uid"), Some("node-1"), Source::Token),
            ),
            (
                "token, long name",
                none,
                Some(&long_claims),
                Some(&long[..63]),
                found("shop", &long, Some("token-uid"), Some("node-1"), Source::Token),
            ),
            (
                "option beside a token of the same pod",
                pod("app-0"),
                Some(&bound),
                None,
                found("shop", "app-0", Some("token-uid"), Some("node-1"), Source::Option),
            ),
            (
                "option, the token is another pod's",
                pod("app-1"),
                Some(&bound),
                None,
                found("shop", "app-1", None, None, Source::Option),
            ),
            (
                "option in another namespace than the token's",
                Told { namespace: Some("other"), ..pod("app-0") },
                Some(&bound),
                None,
                found("other", "app-0", None, None, Source::Option),
            ),
            (
                "HOSTNAME, unbound token",
                none,
                Some(&unbound),
                Some("app-0"),
                found("shop", "app-0", None, None, Source::Hostname),
            ),
            ("HOSTNAME, no token", none, None, Some("app-0"), found("default", "app-0", None, None, Source::Hostname)),
            (
                "HOSTNAME with a namespace that is set",
                Told { namespace: Some("other"), ..none },
                Some(&unbound),
                Some("app-0"),
                found("other", "app-0", None, None, Source::Hostname),
            ),
            (
                "all told",
                Told { pod: Some("p"), uid: Some("u"), node: Some("n"), namespace: Some("ns") },
                None,
                Some("h"),
                found("ns", "p", Some("u"), Some("n"), Source::Option),
            ),
            (
                "the node told wins over the token's",
                Told { node: Some("node-2"), ..none },
                Some(&bound),
                None,
                found("shop", "app-0", Some("token-uid"), Some("node-2"), Source::Token),
            ),
            (
                "the UID told is the token's",
                Told { uid: Some("token-uid"), ..none },
                Some(&bound),
                None,
                found("shop", "app-0", Some("token-uid"), Some("node-1"), Source::Token),
            ),
            (
                "62 characters are whole",
                none,
                None,
                Some(&long[..62]),
                found("default", &long[..62], None, None, Source::Hostname),
            ),
        ];
        for (case, told, claims, hostname, expected) in table {
            assert_eq!(identify(told, claims, hostname, "default"), Ok(expected), "{case}");
        }
    }

    #[test]
    fn contradictions_and_gaps_are_errors() {
        let bound = claims(Some("app-0"));
        let none = Told::default();
        let cut = "a".repeat(63);
        let table = [
            ("nothing", none, None, None, IdentityError::Nothing),
            ("an empty HOSTNAME", none, None, Some(""), IdentityError::Nothing),
            ("a cut HOSTNAME", none, None, Some(cut.as_str()), IdentityError::CutHostname(cut.clone())),
            (
                "another namespace",
                Told { namespace: Some("other"), ..none },
                Some(&bound),
                None,
                IdentityError::OtherNamespace { set: "other".into(), pod: "app-0".into(), actual: "shop".into() },
            ),
            (
                "another UID",
                Told { uid: Some("x"), ..none },
                Some(&bound),
                None,
                IdentityError::OtherUid { set: "x".into(), pod: "app-0".into(), actual: "token-uid".into() },
            ),
        ];
        for (case, told, claims, hostname, expected) in table {
            assert_eq!(identify(told, claims, hostname, "default"), Err(expected), "{case}");
        }
    }
}
