//! Connections to a server: TLS to the name that the floor allows, or plain text on the loopback.

use std::{fs, path::PathBuf, time::Duration};

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::{LinkEnd, lost};
use crate::config::ServerConfig;

const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that may be on their way on one stream, and on one connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// The way to a server. Certificates are read each time, so that new ones count from the next dial on.
pub(super) fn endpoint(server: &ServerConfig, timeout: Duration) -> Result<Endpoint, LinkEnd> {
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
        .ca_certificate(Certificate::from_pem(read("ca", server.ca.as_ref())?))
        .identity(Identity::from_pem(read("cert", server.cert.as_ref())?, read("key", server.key.as_ref())?))
        .domain_name(name);
    endpoint.tls_config(tls).map_err(|error| lost(chain(&error)))
}

/// A connection, made now.
pub(super) async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Channel, LinkEnd> {
    match tokio::time::timeout(timeout, endpoint.connect()).await {
        Ok(connected) => connected.map_err(|error| lost(chain(&error))),
        Err(_) => Err(lost("the server cannot be reached in time")),
    }
}

fn read(what: &str, path: Option<&PathBuf>) -> Result<Vec<u8>, LinkEnd> {
    let path = path.ok_or_else(|| lost(format!("`{what}` is not configured")))?;
    fs::read(path).map_err(|error| lost(format!("cannot read `{}`: {error}", path.display())))
}

/// An error with what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
