//! The certificates in files, and the errors of the files of TLS.

use std::path::{Path, PathBuf};

use rustls::server::VerifierBuilderError;
use rustls_pki_types::{
    CertificateDer,
    pem::{self, PemObject as _},
};

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
