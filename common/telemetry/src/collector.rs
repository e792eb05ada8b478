//! The connection to the OTLP collector: plain HTTP/2 or TLS.
//!
//! The TLS files are read for each connection, so a renewed certificate needs no restart.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, ServerName,
    pem::{self, PemObject as _},
};
use tokio::{net::TcpStream, task::spawn_blocking};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// The time from the first packet to the end of the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The ALPN protocol of gRPC.
const ALPN: &[u8] = b"h2";

/// The files for TLS to the collector.
#[derive(Debug, Clone, Default)]
pub struct CollectorTls {
    /// The CA certificates for the collector's certificate (PEM). `None`: the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate and its private key (PEM).
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// The reason why the collector cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The address is not `http://HOST:PORT` or `https://HOST:PORT`.
    #[error("`{endpoint}` is not the address of a collector")]
    Endpoint {
        /// The address.
        endpoint: String,
    },
    /// A file is not valid PEM.
    #[error("`{}` cannot be read: {source}", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: pem::Error,
    },
    /// The certificates are unusable.
    #[error("the certificates for the collector cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// There is no CA certificate.
    #[error("`{file}` contains no certificate authority")]
    NoAuthority {
        /// The file, or the system's store.
        file: String,
    },
}

/// Reports whether a collector's address uses TLS. Returns `None` unless it is `http://` or `https://` with a host.
#[must_use]
pub fn is_tls(endpoint: &str) -> Option<bool> {
    let uri: Uri = endpoint.parse().ok()?;
    match (uri.scheme_str()?, uri.authority()) {
        ("https", Some(_)) => Some(true),
        ("http", Some(_)) => Some(false),
        _ => None,
    }
}

impl CollectorTls {
    /// Reads the files. Blocks.
    fn read(&self) -> Result<ClientConfig, CollectorError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(self.authorities()?);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let pair = PrivateKeyDer::from_pem_file(key).map_err(pem_of(key))?;
                builder.with_client_auth_cert(certificates(certificate)?, pair)?
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }

    fn authorities(&self) -> Result<RootCertStore, CollectorError> {
        let mut roots = RootCertStore::empty();
        let file = match &self.ca {
            Some(file) => {
                roots.add_parsable_certificates(certificates(file)?);
                file.display().to_string()
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                "the system's certificate store".to_owned()
            }
        };
        if roots.is_empty() { Err(CollectorError::NoAuthority { file }) } else { Ok(roots) }
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CollectorError> {
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(pem_of(file))
}

fn pem_of(file: &Path) -> impl FnOnce(pem::Error) -> CollectorError {
    let file = file.to_owned();
    move |source| CollectorError::Pem { file, source }
}

/// Returns a channel that connects at its first use, and again when a connection is lost. With `https://` the files of
/// `tls` are also read once here, so that an invalid file is found at the start. Needs a tokio runtime; blocks.
///
/// # Errors
/// See [`CollectorError`].
pub(crate) fn channel(endpoint: &str, tls: &CollectorTls) -> Result<Channel, CollectorError> {
    let refused = || CollectorError::Endpoint { endpoint: endpoint.to_owned() };
    let origin: Uri = endpoint.parse().map_err(|_| refused())?;
    let authority = origin.authority().ok_or_else(refused)?;
    if is_tls(endpoint) != Some(true) {
        let endpoint = Endpoint::from_shared(endpoint.to_owned()).map_err(|_| refused())?;
        return Ok(endpoint.connect_timeout(CONNECT_TIMEOUT).connect_lazy());
    }
    tls.read()?;
    // The connector performs TLS itself. TLS in the transport would keep using the files from the start.
    let transport = Endpoint::from_shared(format!("http://{authority}")).map_err(|_| refused())?;
    let transport = transport.origin(origin.clone()).connect_timeout(CONNECT_TIMEOUT);
    let tls = tls.clone();
    Ok(transport.connect_with_connector_lazy(service_fn(move |_: Uri| {
        let (origin, tls) = (origin.clone(), tls.clone());
        async move { connect(&origin, tls).await.map(TokioIo::new) }
    })))
}

async fn connect(origin: &Uri, tls: CollectorTls) -> io::Result<TlsStream<TcpStream>> {
    let host = origin.host().unwrap_or_default().trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let config = spawn_blocking(move || tls.read()).await?.map_err(io::Error::other)?;
    let stream = TcpStream::connect((host, origin.port_u16().unwrap_or(443))).await?;
    stream.set_nodelay(true)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[cfg(test)]
mod tests;
