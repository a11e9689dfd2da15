//! Finds the API server and the credentials, and opens a client; it sends no request.

use std::{env, time::Duration};

use http::{HeaderValue, header::USER_AGENT};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Client as HyperClient, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Config,
    client::{AuthError, ConfigExt},
    config::{InClusterError, KubeConfigOptions, KubeconfigError},
};
use secrecy::ExposeSecret;
use tower::{BoxError, ServiceBuilder};

use super::{
    client::{Api, chain},
    token::{Claims, claims},
};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// A connection that says nothing for this long is asked whether it still lives, …
const PING: Duration = Duration::from_secs(10);

/// … and is given up when it does not answer for this long: a NAT or a load balancer drops connections silently.
const PONG: Duration = Duration::from_secs(5);

/// The API with what is known about the one who speaks to it.
pub struct Connection {
    /// The API.
    pub api: Api,
    /// The namespace of the service account, or of the kubeconfig's context.
    pub namespace: String,
    /// What the service account token says about the pod that holds it.
    pub claims: Option<Claims>,
}

/// The API server or the credentials cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// KUBECONFIG names no usable file.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] KubeconfigProblem),
    /// In a pod, but its environment is not Kubernetes'.
    #[error("cannot use KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which Kubernetes sets in every container")]
    Environment(#[source] InClusterError),
    /// In a pod, but without a token.
    #[error(
        "cannot use the pod's service account: is its token mounted? Set automountServiceAccountToken: true in the pod, or project a token into this container at /var/run/secrets/kubernetes.io/serviceaccount"
    )]
    ServiceAccount(#[source] InClusterError),
    /// Neither in a pod nor with a kubeconfig.
    #[error(
        "no Kubernetes API to speak to: KUBERNETES_SERVICE_HOST is not set, so this is no pod, and there is no usable kubeconfig"
    )]
    Nowhere(#[source] KubeconfigProblem),
    /// A proxy is asked for.
    #[error(
        "a proxy at {0} is set, by the kubeconfig's proxy-url or by HTTPS_PROXY, and proxies are not supported: take it out, and name the API server directly"
    )]
    Proxy(String),
    /// The API server's address is no URL.
    #[error("the kubeconfig's server {0} is no URL: write https://HOST:PORT")]
    Server(http::Uri),
    /// The kubeconfig's exec plugin failed. What it printed may hold secrets, and is not repeated.
    #[error("the kubeconfig's exec plugin failed with {0}: run it by hand to see why")]
    ExecPlugin(std::process::ExitStatus),
    /// The credentials cannot be used.
    #[error("cannot use the credentials for {url}")]
    Credentials {
        /// The API server.
        url: http::Uri,
        /// What is wrong with them.
        source: Box<kube::Error>,
    },
    /// The name to check the certificate against is none.
    #[error("tls-server-name {0:?} is no valid server name")]
    ServerName(String),
}

/// What is wrong with a kubeconfig, without the lines of it that a YAML parser quotes: a token may be in them.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KubeconfigProblem(String);

impl KubeconfigProblem {
    fn of(error: &KubeconfigError) -> Self {
        Self(chain(error).lines().next().unwrap_or_default().to_owned())
    }
}

/// Finds the API: KUBECONFIG where it is set, else the pod's service account, else `$HOME/.kube/config`. `program` is named in
/// the User-Agent header, so that audit logs tell the programs apart, which share a service account.
///
/// # Errors
/// Where there is none, or its credentials cannot be read.
pub async fn connect(program: &str) -> Result<Connection, ConnectError> {
    let mut config = find().await?;
    if let Ok(agent) = HeaderValue::try_from(format!("{program}/{}", env!("CARGO_PKG_VERSION"))) {
        config.headers.push((USER_AGENT, agent));
    }
    let claims = token(&config).as_deref().and_then(claims);
    let namespace = config.default_namespace.clone();
    Ok(Connection { api: Api::new(open(&config)?), namespace, claims })
}

async fn find() -> Result<Config, ConnectError> {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let kubeconfig = async || {
        let config = Config::from_kubeconfig(&KubeConfigOptions::default()).await;
        config.map_err(|error| KubeconfigProblem::of(&error))
    };
    if set("KUBECONFIG") {
        kubeconfig().await.map_err(ConnectError::Kubeconfig)
    } else if set("KUBERNETES_SERVICE_HOST") {
        Config::incluster().map_err(|error| match error {
            InClusterError::ReadEnvironmentVariable(_)
            | InClusterError::ParseClusterPort(_)
            | InClusterError::ParseClusterUrl(_) => ConnectError::Environment(error),
            _ => ConnectError::ServiceAccount(error),
        })
    } else {
        kubeconfig().await.map_err(ConnectError::Nowhere)
    }
}

/// The bearer token, for its claims. A file that cannot be read is reported by the first request.
fn token(config: &Config) -> Option<String> {
    let auth = &config.auth_info;
    match (&auth.token, &auth.token_file) {
        (Some(token), _) => Some(token.expose_secret().to_owned()),
        (None, Some(file)) => std::fs::read_to_string(file).ok(),
        (None, None) => None,
    }
}

/// A connector of our own, since kube's speaks HTTP/1.1, where parallel requests need a TLS session each, and notices a
/// silent connection only minutes later.
fn open(config: &Config) -> Result<kube::Client, ConnectError> {
    if let Some(proxy) = &config.proxy_url {
        // Without the user and the password that it may carry.
        return Err(ConnectError::Proxy(proxy.host().unwrap_or_default().to_owned()));
    }
    if config.cluster_url.scheme().is_none() {
        return Err(ConnectError::Server(config.cluster_url.clone()));
    }
    let unusable = |source| match source {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => ConnectError::ExecPlugin(out.status),
        source => ConnectError::Credentials { url: config.cluster_url.clone(), source: Box::new(source) },
    };

    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let mut tls =
        HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config().map_err(unusable)?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().map_err(|_| ConnectError::ServerName(name.clone()))?;
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(tls.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(Some(CONNECT));

    let http = HyperClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(unusable)?)
        .layer(config.extra_headers_layer().map_err(unusable)?)
        .map_err(BoxError::from)
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_kubeconfig_shows_none_of_its_secrets() {
        let text =
            "apiVersion: v1\nkind: Config\nusers:\n  - name: a\n    user:\n      token: SECRET\n     client-key: x\n";
        let problem = KubeconfigProblem::of(&Kubeconfig::from_yaml(text).unwrap_err()).to_string();
        assert!(!problem.contains("SECRET") && problem.contains("line"), "{problem}");
    }
}
