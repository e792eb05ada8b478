//! Connections to a server: TLS to a name that the floor allows, or plain text on the loopback. The endpoint follows
//! changes of the files with the runner's certificate, key and CA. The next connection uses the current contents. Open
//! connections stay.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use airlock_domain::with_causes;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::config::ServerConfig;

/// The interval between checks of the files.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// The endpoint of one server, for one link.
pub(super) struct EndpointSource {
    server: ServerConfig,
    timeout: Duration,
    current: Mutex<Current>,
}

struct Current {
    endpoint: Endpoint,
    material: Material,
    /// Incremented with each change.
    version: u64,
    checked: Instant,
    /// The problem with the current files, so that it is logged once.
    problem: Option<String>,
}

impl EndpointSource {
    /// Reads the files. Blocks briefly.
    ///
    /// # Errors
    /// [`LinkEnd::Lost`] if they cannot be used.
    pub(super) fn new(server: &ServerConfig, timeout: Duration) -> Result<Self, LinkEnd> {
        let material = Material::read(server)?;
        let endpoint = endpoint(server, &material, timeout)?;
        let current = Current { endpoint, material, version: 0, checked: Instant::now(), problem: None };
        Ok(Self { server: server.clone(), timeout, current: Mutex::new(current) })
    }

    /// Returns the endpoint for the next connection, and its version. Checks the files at most once a second. While
    /// they are invalid, the last valid endpoint stays in use.
    pub(super) fn endpoint(&self) -> (Endpoint, u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked.elapsed() >= CHECK_PERIOD {
            current.checked = Instant::now();
            current.reload(&self.server, self.timeout);
        }
        (current.endpoint.clone(), current.version)
    }
}

impl Current {
    fn reload(&mut self, server: &ServerConfig, timeout: Duration) {
        let read = Material::read(server);
        let made = read.and_then(|material| {
            let is_new = material != self.material;
            let endpoint = is_new.then(|| endpoint(server, &material, timeout)).transpose()?;
            Ok(endpoint.map(|endpoint| (endpoint, material)))
        });
        self.problem = match made {
            Ok(None) => None,
            Ok(Some((endpoint, material))) => {
                tracing::info!(server = server.endpoint, "new certificates loaded; new connections use them");
                (self.endpoint, self.material) = (endpoint, material);
                self.version += 1;
                None
            }
            Err(end) => {
                let problem = end.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::error!(
                        server = server.endpoint,
                        problem,
                        "cannot load new certificates; the previous ones stay in use"
                    );
                }
                Some(problem)
            }
        };
    }
}

const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes in flight on one stream. The constant below limits one connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// The contents of a server's certificate files. Empty for plain text.
#[derive(Clone, PartialEq, Eq)]
struct Material {
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
fn endpoint(server: &ServerConfig, material: &Material, timeout: Duration) -> Result<Endpoint, LinkEnd> {
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
    endpoint.tls_config(tls).map_err(|error| lost(with_causes(&error)))
}

/// Connects immediately.
pub(super) async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Channel, LinkEnd> {
    match tokio::time::timeout(timeout, endpoint.connect()).await {
        Ok(connected) => connected.map_err(|error| lost(with_causes(&error))),
        Err(_) => Err(lost("timed out connecting to the server")),
    }
}

fn read(what: &str, path: Option<&PathBuf>) -> Result<Vec<u8>, LinkEnd> {
    let path = path.ok_or_else(|| lost(format!("`{what}` is not configured")))?;
    fs::read(path).map_err(|error| lost(format!("cannot read `{}`: {error}", path.display())))
}

/// The reason why a link ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkEnd {
    /// The runner stops.
    #[error("the runner stops")]
    Stopped,
    /// The server is reachable, and refuses this runner.
    #[error("the server refuses this runner: {0}")]
    Refused(String),
    /// The connection failed or broke.
    #[error("{0}")]
    Lost(String),
}

/// Returns the end of a link whose connection failed or broke.
pub(super) fn lost(what: impl std::fmt::Display) -> LinkEnd {
    LinkEnd::Lost(what.to_string())
}
