//! Reads from a service account token which pod holds it; it never verifies a token, and never shows one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

/// What the API server wrote into a bound token (the claim `kubernetes.io`).
///
/// The pod's part is there in tokens that the kubelet projects; the node's since Kubernetes 1.32 by default.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// The namespace of the service account, and so of the pod.
    pub namespace: String,
    /// The pod that the token is bound to.
    pub pod: Option<Bound>,
    /// The node that this pod runs on.
    pub node: Option<Bound>,
}

/// One object that a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Bound {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "kubernetes.io")]
    kubernetes: Claims,
}

/// The claims of a service account token; `None` for a token of any other kind.
///
/// The signature is not checked: the API server does that on every request, and a forged claim gives no rights.
#[must_use]
pub fn claims(token: &str) -> Option<Claims> {
    let payload = token.trim().split('.').nth(1)?;
    let json = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice::<Payload>(&json).ok().map(|payload| payload.kubernetes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(payload: &str) -> String {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(payload))
    }

    #[test]
    fn reads_the_claims_of_a_bound_token() {
        let bound = token(
            r#"{"aud":["https://kubernetes.default.svc"],"kubernetes.io":{"namespace":"shop","node":{"name":"node-1","uid":"n"},
                "pod":{"name":"app-0","uid":"p"},"serviceaccount":{"name":"sa","uid":"s"},"warnafter":1}}"#,
        );
        let claims = claims(&format!("{bound}\n")).unwrap();
        assert_eq!(claims.namespace, "shop");
        assert_eq!(claims.pod, Some(Bound { name: "app-0".into(), uid: "p".into() }));
        assert_eq!(claims.node, Some(Bound { name: "node-1".into(), uid: "n".into() }));
    }

    #[test]
    fn an_unbound_token_names_no_pod() {
        let unbound = token(r#"{"kubernetes.io":{"namespace":"shop","serviceaccount":{"name":"sa","uid":"s"}}}"#);
        let claims = claims(&unbound).unwrap();
        assert_eq!((claims.pod, claims.node), (None, None));
    }

    #[test]
    fn other_tokens_have_no_claims() {
        for other in ["", "admintoken", "a.b.c", "a.!!.c", &token("{}"), &token("[]"), &token("not json")] {
            assert_eq!(claims(other), None, "{other:?}");
        }
    }
}
