//! Connections to a server: TLS to a name that the floor allows, or plain text on the loopback.

use std::{fs, path::PathBuf, time::Duration};

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::end::{LinkEnd, lost};
use crate::config::ServerConfig;

const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes in flight on one stream. The constant below limits one connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// The contents of a server's certificate files. Empty for plain text.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Material {
    ca: Vec<u8>,
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Material {
    /// Reads the files. Blocks.
    pub(super) fn read(server: &ServerConfig) -> Result<Self, LinkEnd> {
        if server.insecure_loopback {
            return Ok(Self { ca: Vec::new(), cert: Vec::new(), key: Vec::new() });
        }
        Ok(Self {
            ca: read("ca", server.ca.as_ref())?,
            cert: read("cert", server.cert.as_ref())?,
            key: read("key", server.key.as_ref())?,
        })
    }
}

/// Builds the endpoint of a server with these certificates.
pub(super) fn endpoint(
    server: &ServerConfig,
    material: &Material,
    timeout: Duration,
) -> Result<Endpoint, LinkEnd> {
    let endpoint = Endpoint::from_shared(server.endpoint.clone())
        .map_err(lost)?
        .connect_timeout(timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    if server.insecure_loopback {
        return Ok(endpoint);
    }
    let name = server.server_name.as_deref().unwrap_or_default();
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&material.ca))
        .identity(Identity::from_pem(&material.cert, &material.key))
        .domain_name(name);
    endpoint.tls_config(tls).map_err(|error| lost(chain(&error)))
}

/// Connects immediately.
pub(super) async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Channel, LinkEnd> {
    match tokio::time::timeout(timeout, endpoint.connect()).await {
        Ok(connected) => connected.map_err(|error| lost(chain(&error))),
        Err(_) => Err(lost("timed out connecting to the server")),
    }
}

fn read(what: &str, path: Option<&PathBuf>) -> Result<Vec<u8>, LinkEnd> {
    let path = path.ok_or_else(|| lost(format!("`{what}` is not configured")))?;
    fs::read(path).map_err(|error| lost(format!("cannot read `{}`: {error}", path.display())))
}

/// Formats an error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
