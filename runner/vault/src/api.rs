//! One request to Vault over a connection of its own, with TLS that is verified. No redirect is followed.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use crate::{error::VaultError, settings::Settings};

/// Connections that may be open at the same time. Further requests wait within their timeout.
const CONNECTIONS: usize = 8;
/// The longest body of an answer, in bytes.
const BODY: usize = 64 * 1024;
/// The longest head of an answer, in bytes.
const HEAD: usize = 16 * 1024;

/// The API of one server.
pub(crate) struct Api {
    settings: Settings,
    /// The TLS settings with the authorities of the system, read at the first use.
    of_system: Mutex<Option<Arc<ClientConfig>>>,
    permits: Semaphore,
}

/// A request.
pub(crate) struct Ask<'a> {
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    /// With a body, the request is a POST.
    pub(crate) body: Option<Vec<u8>>,
    /// Whether the request is for the namespace of the settings.
    pub(crate) is_in_namespace: bool,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("address", &self.settings.address).finish_non_exhaustive()
    }
}

impl Api {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, of_system: Mutex::new(None), permits: Semaphore::new(CONNECTIONS) }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends a request, and returns the answer with any status. Dropping the future closes the connection.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, VaultError> {
        let request = self.request(ask)?;
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        let address = &self.settings.address;
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
        let stream = stream.map_err(VaultError::Connect)?;
        if !address.tls {
            return exchange(stream, request).await;
        }
        let name = ServerName::try_from(address.host.clone());
        let name = name.map_err(|error| VaultError::Tls(io::Error::other(error)))?;
        let connector = TlsConnector::from(self.trust().await?);
        exchange(connector.connect(name, stream).await.map_err(VaultError::Tls)?, request).await
    }

    fn request(&self, ask: Ask<'_>) -> Result<Request<Full<Bytes>>, VaultError> {
        let method = if ask.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder()
            .method(method)
            .uri(ask.path)
            .header(HOST, self.settings.address.authority())
            .header(CONNECTION, "close")
            // Agents of Vault require it, as a protection against requests that browsers are made to send.
            .header("x-vault-request", "true");
        if ask.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(namespace) = self.settings.namespace.as_deref().filter(|_| ask.is_in_namespace) {
            request = request.header("x-vault-namespace", namespace);
        }
        if let Some(token) = ask.token {
            let unfit = |_| VaultError::TokenFile("it is not a token".to_owned());
            let mut token = HeaderValue::from_str(token).map_err(unfit)?;
            token.set_sensitive(true);
            request = request.header("x-vault-token", token);
        }
        // The configuration was checked, so every part fits.
        request.body(Full::from(ask.body.unwrap_or_default())).map_err(|_| VaultError::Malformed)
    }

    /// Returns the TLS settings. A file of authorities is read for each connection, so that a new one takes effect.
    async fn trust(&self) -> Result<Arc<ClientConfig>, VaultError> {
        if let Some(file) = self.settings.ca.clone() {
            return blocking(move || client(&authorities(&file)?)).await;
        }
        let known = self.of_system.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = blocking(|| client(&rustls_native_certs::load_native_certs().certs)).await?;
        *self.of_system.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// Runs work that blocks for some milliseconds.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, VaultError> + Send + 'static,
) -> Result<T, VaultError> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(VaultError::Ca(error.to_string())))
}

fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, VaultError> {
    let invalid = |error: rustls::pki_types::pem::Error| VaultError::Ca(error.to_string());
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(invalid)
}

fn client(certificates: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, VaultError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    if roots.is_empty() {
        return Err(VaultError::Ca("there is no certificate".to_owned()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| VaultError::Ca(error.to_string()))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, VaultError> {
    let mut settings = http1::Builder::new();
    settings.max_buf_size(HEAD);
    let (mut sender, connection) =
        settings.handshake(TokioIo::new(stream)).await.map_err(VaultError::Http)?;
    // It ends with this call.
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        let _ = connection.await;
    });
    let answer = sender.send_request(request).await.map_err(VaultError::Http)?;
    let status = answer.status();
    Ok(Answer { status, body: body(answer).await? })
}

async fn body(answer: Response<Incoming>) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    match Limited::new(answer.into_body(), BODY).collect().await {
        Ok(whole) => Ok(Zeroizing::new(whole.to_bytes().to_vec())),
        Err(error) if error.is::<LengthLimitError>() => Err(VaultError::TooLarge(BODY)),
        Err(error) => Err(match error.downcast::<hyper::Error>() {
            Ok(error) => VaultError::Http(*error),
            Err(error) => VaultError::Connect(io::Error::other(error)),
        }),
    }
}
