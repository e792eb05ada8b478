//! The listener: TCP and TLS up to the first byte of HTTP/2, with limits of number and time.
//!
//! A connection that is passed on has completed its handshake, and its client certificate, if there is one,
//! was verified. This module does not determine the principal.

mod accept;
mod activity;
mod connection;
mod live;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    server::{VerifierBuilderError, WebPkiClientVerifier},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _};

pub(crate) use accept::{Accept, AcceptLimits};
pub(crate) use activity::OpenCall;
pub(crate) use connection::{Connection, ConnectionInfo};
pub(crate) use live::{Limiting, LiveTls, expiry};

use crate::config::{ClientCertificates, Tls};

/// The only supported protocol.
const ALPN: &[u8] = b"h2";

/// The reason why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file does not contain the expected PEM object.
    #[error("`{}` contains no {what}: {source}", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// `certificate` or `private key`.
        what: &'static str,
        /// The reason.
        source: pem::Error,
    },
    /// A file contains no certificate.
    #[error("`{}` contains no certificate", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// A certificate cannot be used as an authority.
    #[error("`{}` contains a certificate that is not an authority: {source}", file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
    /// Client certificates cannot be verified.
    #[error("client certificates cannot be verified with `{}`: {source}", file.display())]
    Verifier {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: VerifierBuilderError,
    },
    /// The provider does not support the protocol versions.
    #[error("the protocol versions cannot be set: {0}")]
    Versions(#[source] rustls::Error),
    /// Key and certificate do not match or cannot be used.
    #[error("certificate `{}` and key `{}` cannot be used: {source}", certificate.display(), key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
}

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

/// As [`server_config`], but replaceable while it is in use.
///
/// # Errors
/// As [`server_config`].
pub(crate) fn live(tls: &Tls) -> Result<LiveTls, TlsError> {
    server_config(tls).map(LiveTls::new)
}

/// Reads the files again. The next handshake uses them.
///
/// # Errors
/// As [`server_config`]. In this case, nothing changes.
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

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refuse = |source| TlsError::Pem { file: file.to_owned(), what: "certificate", source };
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(file).map_err(refuse)?.collect::<Result<_, _>>().map_err(refuse)?;
    if certificates.is_empty() {
        return Err(TlsError::Empty { file: file.to_owned() });
    }
    Ok(certificates)
}
