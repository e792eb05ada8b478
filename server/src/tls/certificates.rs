//! The certificates in files, the errors of the files of TLS, and the settings that connections use now.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{ServerConfig, server::VerifierBuilderError};
use rustls_pki_types::{
    CertificateDer,
    pem::{self, PemObject as _},
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

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

/// Reads the certificates of a PEM file.
pub(super) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refuse = |source| TlsError::Pem { file: file.to_owned(), what: "certificate", source };
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(file).map_err(refuse)?.collect::<Result<_, _>>().map_err(refuse)?;
    if certificates.is_empty() {
        return Err(TlsError::Empty { file: file.to_owned() });
    }
    Ok(certificates)
}

/// The TLS configuration for the next handshake. A cheap handle; all clones share the same state. A
/// replacement does not affect open connections.
#[derive(Clone)]
pub(crate) struct LiveTls(Arc<RwLock<Arc<ServerConfig>>>);

impl LiveTls {
    pub(super) fn new(config: Arc<ServerConfig>) -> Self {
        Self(Arc::new(RwLock::new(config)))
    }

    pub(crate) fn now(&self) -> Arc<ServerConfig> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn replace(&self, config: Arc<ServerConfig>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }
}

/// The certificate in a file that limits its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limiting {
    /// The first to expire: a chain is valid only while all of its certificates are.
    First,
    /// The last to expire: a bundle of authorities can contain an old one in addition to its successor.
    Last,
}

/// Returns the time at which the certificates of a PEM file expire, in seconds since 1970.
///
/// # Errors
/// As for reading certificates. A certificate that cannot be parsed is ignored.
pub(crate) fn expiry(file: &Path, limiting: Limiting) -> Result<Option<i64>, TlsError> {
    let certificates = certificates(file)?;
    let ends = certificates.iter().filter_map(|der| {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        Some(certificate.validity().not_after.timestamp())
    });
    Ok(match limiting {
        Limiting::First => ends.min(),
        Limiting::Last => ends.max(),
    })
}
