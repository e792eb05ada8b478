//! A gRPC client that can send arbitrary data: hand-written HTTP/2 and gRPC frames over TLS.
//!
//! It does not judge responses; it returns them unchanged.

use std::{collections::HashMap, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::{
    RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{HeaderMap, Request, Response};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};
use tokio_rustls::TlsConnector;
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::{pki::Pair, site::PATIENCE};

/// The longest wait for a response.
pub const ANSWER: Duration = PATIENCE;

/// Returns the TLS settings of a client that trusts `ca` and uses the certificate `pair`.
///
/// # Panics
/// If a file is missing.
#[must_use]
pub fn tls(ca: &Path, pair: Option<&Pair>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match pair {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let chain = vec![CertificateDer::from_pem_file(&pair.certificate).unwrap()];
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(&pair.key).unwrap()).unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The response to a call.
#[derive(Debug)]
pub struct Answer {
    /// The messages without their frames.
    pub messages: Vec<Bytes>,
    /// The gRPC status; UNKNOWN if there was none.
    pub status: Status,
    /// The HTTP status.
    pub http: u16,
}

impl Answer {
    /// Returns the reason of the `ErrorInfo`, or an empty text.
    #[must_use]
    pub fn reason(&self) -> String {
        self.details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
    }

    /// Returns the details.
    #[must_use]
    pub fn details(&self) -> ErrorDetails {
        self.status.get_error_details()
    }

    /// Returns the invalid fields with their descriptions.
    #[must_use]
    pub fn violations(&self) -> Vec<(String, String)> {
        let details = self.details();
        let all = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
        all.into_iter().map(|one| (one.field, one.description)).collect()
    }

    /// Returns the metadata of the `ErrorInfo`.
    #[must_use]
    pub fn metadata(&self) -> HashMap<String, String> {
        self.details().error_info().map(|info| info.metadata.clone()).unwrap_or_default()
    }
}

/// A call with a body that is still being written.
#[derive(Debug)]
pub struct Call {
    /// The request stream.
    pub body: SendStream<Bytes>,
    response: ResponseFuture,
}

impl Connection {
    /// Connects with TLS and HTTP/2.
    ///
    /// # Errors
    /// If the server refuses the connection.
    pub async fn open(address: SocketAddr, tls: Arc<ClientConfig>) -> Result<Self, String> {
        let connect = async {
            let stream = TcpStream::connect(address).await.map_err(text)?;
            stream.set_nodelay(true).map_err(text)?;
            let name = ServerName::try_from("localhost").map_err(text)?;
            let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(text)?;
            h2::client::handshake(stream).await.map_err(text)
        };
        let (sender, connection) = timeout(ANSWER, connect).await.map_err(text)??;
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, driver })
    }

    /// Starts a gRPC POST request with these additional headers. Its body must follow.
    ///
    /// # Errors
    /// If the connection has ended.
    pub async fn begin(&self, path: &str, headers: &[(&str, &[u8])]) -> Result<Call, String> {
        let mut request = Request::post(format!("https://localhost{path}"));
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/grpc");
        }
        request = request.header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut sender = timeout(ANSWER, self.sender.clone().ready()).await.map_err(text)?.map_err(text)?;
        let (response, body) = sender.send_request(request.body(()).map_err(text)?, false).map_err(text)?;
        Ok(Call { body, response })
    }

    /// Sends a call with this body, which may be arbitrary.
    ///
    /// # Errors
    /// If there is no response: the stream was reset, the connection ended, or it took too long.
    pub async fn call(&self, path: &str, headers: &[(&str, &[u8])], body: Bytes) -> Result<Answer, String> {
        let mut call = self.begin(path, headers).await?;
        // This fails if the server has already responded; the response contains the reason.
        drop(call.body.send_data(body, true));
        call.answer().await
    }
}

impl Call {
    /// Returns the whole response.
    ///
    /// # Errors
    /// See [`Connection::call`].
    pub async fn answer(self) -> Result<Answer, String> {
        self.answer_within(ANSWER).await
    }

    /// Returns the whole response, if it arrives within `limit`.
    ///
    /// # Errors
    /// See [`Connection::call`].
    pub async fn answer_within(self, limit: Duration) -> Result<Answer, String> {
        let Self { body: _kept_open, response } = self;
        timeout(limit, collect(response)).await.map_err(|_| format!("no answer in {limit:?}"))?
    }

    /// Returns the response's headers and its body stream.
    ///
    /// # Errors
    /// See [`Connection::call`].
    pub async fn head(self) -> Result<(SendStream<Bytes>, Response<RecvStream>), String> {
        let response = timeout(ANSWER, self.response).await.map_err(|_| "no answer in time".to_owned())?;
        Ok((self.body, response.map_err(text)?))
    }
}

async fn collect(response: ResponseFuture) -> Result<Answer, String> {
    let response = response.await.map_err(text)?;
    let http = response.status().as_u16();
    let (head, mut body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&head.headers) {
        return Ok(Answer { messages: Vec::new(), status, http });
    }
    let mut bytes = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data.map_err(text)?;
        drop(body.flow_control().release_capacity(data.len()));
        bytes.extend_from_slice(&data);
    }
    let trailers = body.trailers().await.map_err(text)?.unwrap_or_else(HeaderMap::new);
    let status = Status::from_header_map(&trailers).unwrap_or_else(|| Status::unknown("no status"));
    Ok(Answer { messages: unframe(bytes.freeze()), status, http })
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns a message in its gRPC frame.
#[must_use]
pub fn frame(message: &[u8]) -> Bytes {
    framed(0, u32::try_from(message.len()).unwrap_or(u32::MAX), message)
}

/// Returns a gRPC frame with arbitrary header fields.
#[must_use]
pub fn framed(flag: u8, length: u32, message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(message.len() + 5);
    bytes.put_u8(flag);
    bytes.put_u32(length);
    bytes.put_slice(message);
    bytes.freeze()
}

fn unframe(mut bytes: Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while bytes.len() >= 5 {
        let head = bytes.split_to(5);
        let length = head.get(1..5).and_then(|length| length.try_into().ok()).map_or(0, u32::from_be_bytes);
        messages.push(bytes.split_to(bytes.len().min(length as usize)));
    }
    messages
}
