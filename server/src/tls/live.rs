//! The active TLS configuration, and the expiry of the certificates in a file.

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use rustls::ServerConfig;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::certificates::{TlsError, certificates};

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
