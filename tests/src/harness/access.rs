//! Clients for a control plane, and kubeconfigs for programs.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, header::USER_AGENT};
use kube::{Client, Config, config::AuthInfo};
use serde_json::{Value, json};

use super::certificates::Identity;

/// Base64, as kubeconfig's `…-data` fields want it.
pub(super) fn base64(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// A kubeconfig with one context. It is JSON, which is YAML too.
#[must_use]
pub fn kubeconfig(server: &str, authority: &str, namespace: &str, user: &Value) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "cluster-tests",
            "cluster": {"server": server, "certificate-authority-data": base64(authority)},
        }],
        "users": [{"name": "cluster-tests", "user": user}],
        "contexts": [{
            "name": "cluster-tests",
            "context": {"cluster": "cluster-tests", "user": "cluster-tests", "namespace": namespace},
        }],
        "current-context": "cluster-tests",
    })
    .to_string()
}

/// How a client says who it is.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A client certificate.
    Certificate(Identity),
    /// A bearer token.
    Token(String),
}

impl Credentials {
    /// As the user of a kubeconfig.
    #[must_use]
    pub fn to_user(&self) -> Value {
        match self {
            Self::Certificate(identity) => json!({
                "client-certificate-data": base64(&identity.certificate),
                "client-key-data": base64(&identity.key),
            }),
            Self::Token(token) => json!({"token": token}),
        }
    }
}

/// A client that trusts one authority and asks each question once: a test sees what the API really answers.
///
/// It belongs to the tokio runtime it is made in, so a shared control plane makes one for each test.
///
/// # Panics
/// When the URL is none, or outside a tokio runtime.
#[must_use]
pub fn client(server: &str, authority_der: &[u8], credentials: &Credentials) -> Client {
    let mut config = Config::new(server.parse().expect("a server is a URL"));
    config.root_cert = Some(vec![authority_der.to_vec()]);
    config.auth_info = serde_json::from_value::<AuthInfo>(credentials.to_user())
        .expect("credentials have the shape of a kubeconfig's");
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static("cluster-tests")));
    Client::try_from(config).expect("a client can be made from certificates that were made for it")
}
