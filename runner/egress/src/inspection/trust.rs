//! The authorities that may have signed the certificate of an inspected target.

use std::{fmt, sync::Arc};

use pem::{EncodeConfig, LineEnding, Pem};
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};

/// The protocol of inspected connections, for ALPN. It excludes HTTP/2, whose connections serve several hosts.
pub(super) const HTTP_11: &[u8] = b"http/1.1";

/// The reason why no target can be verified.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no authority.
    #[error("the system's certificate store is empty; install the package `ca-certificates`")]
    Empty,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// The authorities of the system and of the runner's configuration.
pub struct Trust {
    client: Arc<ClientConfig>,
    pem: String,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl Trust {
    /// Trusts the authorities of the system, and these. Blocks.
    ///
    /// # Errors
    ///
    /// See [`TrustError`].
    pub fn of_system(more: Vec<CertificateDer<'static>>) -> Result<Self, TrustError> {
        let mut certificates = rustls_native_certs::load_native_certs().certs;
        certificates.extend(more);
        Self::new(&certificates)
    }

    /// Trusts only these authorities.
    ///
    /// # Errors
    ///
    /// See [`TrustError`].
    pub fn new(certificates: &[CertificateDer<'static>]) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        if roots.is_empty() {
            return Err(TrustError::Empty);
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?;
        let mut client = builder.with_root_certificates(roots).with_no_client_auth();
        client.alpn_protocols = vec![HTTP_11.to_vec()];
        Ok(Self { client: Arc::new(client), pem: certificates.iter().map(pem).collect() })
    }

    pub(super) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let form = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new("CERTIFICATE", certificate.to_vec()), form)
}
