//! The certificates and keys of one control plane, made in memory: no openssl.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// The names and addresses the apiserver is reached by: on loopback, from [nodes](crate::nodes), and the first address of
/// each Service range.
const SERVER_NAMES: [&str; 9] = [
    "127.0.0.1",
    crate::nodes::CONTROL_PLANE,
    "::1",
    "10.96.0.1",
    "fd00:10:96::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS#8.
    pub key: String,
}

/// A certificate authority with what an apiserver needs from it.
pub struct Certificates {
    issuer: Issuer<'static, KeyPair>,
    authority: String,
    authority_der: Vec<u8>,
    server: Identity,
    service_account: KeyPair,
}

impl Certificates {
    /// Makes all of them anew.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "cluster-tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);
        let server_params = CertificateParams::new(SERVER_NAMES.map(String::from))?;
        let server = sign(server_params, "kube-apiserver", &[], ExtendedKeyUsagePurpose::ServerAuth, &issuer)?;
        Ok(Self {
            issuer,
            authority: certificate.pem(),
            authority_der: certificate.der().to_vec(),
            server,
            service_account: KeyPair::generate()?,
        })
    }

    /// The authority's certificate in PEM: what clients trust.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The same in DER.
    #[must_use]
    pub fn authority_der(&self) -> &[u8] {
        &self.authority_der
    }

    /// The apiserver's certificate, valid for loopback; also for a proxy that stands in front of it.
    #[must_use]
    pub fn server(&self) -> &Identity {
        &self.server
    }

    /// The keys that sign and check service account tokens (private and public, in PEM).
    #[must_use]
    pub fn service_account_keys(&self) -> (String, String) {
        (self.service_account.serialize_pem(), self.service_account.public_key_pem())
    }

    /// A client certificate: Kubernetes takes the common name as user, the organizations as groups.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, rcgen::Error> {
        sign(CertificateParams::default(), user, groups, ExtendedKeyUsagePurpose::ClientAuth, &self.issuer)
    }
}

fn sign(
    mut params: CertificateParams,
    name: &str,
    organizations: &[&str],
    usage: ExtendedKeyUsagePurpose,
    issuer: &Issuer<'static, KeyPair>,
) -> Result<Identity, rcgen::Error> {
    let key = KeyPair::generate()?;
    params.distinguished_name.push(DnType::CommonName, name);
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    Ok(Identity { certificate: params.signed_by(&key, issuer)?.pem(), key: key.serialize_pem() })
}
