//! The configuration of TLS handshakes from its files.

use std::{path::Path, sync::Arc};

use rustls::{RootCertStore, ServerConfig, crypto::ring, server::WebPkiClientVerifier};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};

use super::{
    certificates::LiveTls,
    certificates::{TlsError, certificates},
};
use crate::config::{ClientCertificates, Tls};

/// The only supported protocol.
const ALPN: &[u8] = b"h2";

/// Returns the configuration of TLS handshakes.
///
/// # Errors
/// See [`TlsError`]. Each error names its file.
pub fn server_config(tls: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Versions)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(authorities(file)?.into(), provider);
            let verifier = match tls.client_certificates {
                ClientCertificates::Optional => verifier.allow_unauthenticated(),
                ClientCertificates::Required => verifier,
            };
            let refuse = |source| TlsError::Verifier { file: file.clone(), source };
            builder.with_client_cert_verifier(verifier.build().map_err(refuse)?)
        }
    };
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|source| TlsError::Pem {
        file: tls.key.clone(),
        what: "private key",
        source,
    })?;
    let mut config = builder.with_single_cert(certificates(&tls.certificate)?, key).map_err(|source| {
        TlsError::Pair { certificate: tls.certificate.clone(), key: tls.key.clone(), source }
    })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// Like [`server_config`], but replaceable while it is in use.
///
/// # Errors
/// See [`server_config`].
pub(crate) fn live(tls: &Tls) -> Result<LiveTls, TlsError> {
    server_config(tls).map(LiveTls::new)
}

/// Reads the files again. The next handshake uses them.
///
/// # Errors
/// See [`server_config`]. In this case, nothing changes.
pub(crate) fn renew(tls: &Tls, live: &LiveTls) -> Result<(), TlsError> {
    live.replace(server_config(tls)?);
    Ok(())
}

fn authorities(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|source| TlsError::Authority { file: file.to_owned(), source })?;
    }
    Ok(roots)
}
