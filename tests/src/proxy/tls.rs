//! Certificates and TLS, to the client and to the apiserver.

use std::{net::Ipv4Addr, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, pem::PemObject},
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
    /// The apiserver's CA is no PEM.
    #[error("the apiserver's CA is no PEM certificate: {0}")]
    Ca(#[from] rustls::pki_types::pem::Error),
}

/// Who the proxy is to its clients.
pub(super) struct Identity {
    /// The CA that a client has to trust, as PEM.
    pub(super) ca_pem: String,
    pub(super) server: Arc<ServerConfig>,
}

impl Identity {
    /// Makes a CA, and with it a certificate for 127.0.0.1.
    pub(super) fn make() -> Result<Self, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "fault proxy CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([Ipv4Addr::LOCALHOST.to_string()])?.signed_by(&key, &ca)?;
        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { ca_pem: ca.pem(), server: Arc::new(server) })
    }
}

/// TLS to a server whose certificate the CAs in `ca_pem` signed. ALPN is left to whoever connects.
///
/// # Errors
/// When `ca_pem` holds no certificate.
pub fn client_config(ca_pem: &str) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    if roots.is_empty() {
        return Err(rustls::pki_types::pem::Error::NoItemsFound.into());
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
