//! Certificates and TLS, to the client and to the apiserver.

use std::{net::Ipv4Addr, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

/// The proxy's certificate, or trust in the apiserver's, could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate could not be made.
    #[error("cannot make the proxy's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// rustls refuses a key, a certificate or its settings.
    #[error("cannot set up TLS: {0}")]
    Settings(#[from] rustls::Error),
    /// What should be the apiserver's CA is none.
    #[error("the apiserver's CA is not usable: {0}")]
    Ca(#[source] pem::Error),
    /// What should be the proxy's identity is none.
    #[error("the proxy's certificate or key is not usable: {0}")]
    Identity(#[source] pem::Error),
}

/// What the proxy speaks with its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// HTTP/2 or HTTP/1.1, as the client likes.
    Both,
    /// Only HTTP/1.1, as some load balancers and gateways: no pings tell that a connection is dead.
    Http1,
}

/// Who the proxy is to its clients.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The CA that a client has to trust, as PEM.
    pub ca_pem: String,
    /// The certificate for 127.0.0.1 that this CA signed, as PEM.
    pub certificate_pem: String,
    /// The certificate's key, as PEM.
    pub key_pem: String,
}

impl Identity {
    /// Makes a CA that nobody trusts yet, and with it a certificate.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn generate() -> Result<Self, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "fault proxy CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([Ipv4Addr::LOCALHOST.to_string()])?.signed_by(&key, &ca)?;
        Ok(Self { ca_pem: ca.pem(), certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }

    /// TLS as this server.
    pub(super) fn server_config(&self, protocols: Protocols) -> Result<ServerConfig, TlsError> {
        let certificates = CertificateDer::pem_slice_iter(self.certificate_pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(TlsError::Identity)?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).map_err(TlsError::Identity)?;
        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        server.alpn_protocols = match protocols {
            Protocols::Both => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Protocols::Http1 => vec![b"http/1.1".to_vec()],
        };
        Ok(server)
    }
}

/// TLS to a server whose certificate the CAs in `ca_pem` signed. ALPN is left to whoever connects.
///
/// # Errors
/// When `ca_pem` holds no certificate.
pub fn client_config(ca_pem: &str) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots.add(certificate.map_err(TlsError::Ca)?)?;
    }
    if roots.is_empty() {
        return Err(TlsError::Ca(pem::Error::NoItemsFound));
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
