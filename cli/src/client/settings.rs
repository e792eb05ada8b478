//! How to reach a server and who to be there. It opens channels and attaches credentials; it reads no
//! file and no environment.

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::Interceptor,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri},
};

use super::{ClientError, way::Way};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Of unread data a view may hold.
const STREAM_WINDOW: u32 = 256 * 1024;
/// Of unread data that all views of a client may hold together: 512 stopped readers hold up nobody.
const CONNECTION_WINDOW: u32 = 512 * STREAM_WINDOW;

/// Where a server is, and who to be there.
#[derive(Clone)]
pub struct Settings {
    /// `https://HOST:PORT`, or `http://` on loopback where that was asked for by name. Several, with commas between
    /// them, are servers of one store: a connection is made to one that can be reached, and made anew to another when
    /// that goes.
    pub address: String,
    /// PEM certificates of the authorities that the server's certificate may come from.
    pub ca: Option<Vec<u8>>,
    /// The name in the server's certificate, where it is not the host of the address; of several, of the first.
    pub server_name: Option<String>,
    /// Who to be.
    pub credentials: Credentials,
    /// Where `ca` and `credentials` come from. A client looks at these files once a second, and calls with their new
    /// content when it has changed and can be used; it does not read them before. None: nothing is read again.
    pub files: Option<Files>,
    /// Permits plain text, to loopback only.
    pub insecure_loopback: bool,
    /// W3C trace context that every call belongs to.
    pub traceparent: Option<String>,
    /// How long to go on trying.
    pub patience: Patience,
}

/// Who to be at a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// Nobody; only a server on plain loopback lets nobody in.
    #[default]
    None,
    /// The holder of a bearer token.
    Token(String),
    /// The holder of a client certificate.
    Certificate {
        /// The chain, PEM.
        chain: Vec<u8>,
        /// The private key, PEM.
        key: Vec<u8>,
    },
}

/// Files that hold what a client shows to its server, and knows it by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// As [`Settings::ca`].
    pub ca: Option<PathBuf>,
    /// A bearer token, with or without spaces around it.
    pub token: Option<PathBuf>,
    /// A client certificate and its key, where there is no token.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// How long to go on trying without success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A call, or the start of a command.
    pub call: Duration,
    /// A view of an execution, since its last event or the last sign that it is there.
    pub view: Duration,
    /// A download or a part of an output that brings nothing new, although its connection stands. Longer
    /// than a server waits for its runner.
    pub silence: Duration,
    /// Between the first two tries; doubled each time.
    pub backoff_first: Duration,
    /// Between two tries at most.
    pub backoff_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(20),
            view: Duration::from_secs(120),
            silence: Duration::from_secs(600),
            backoff_first: Duration::from_millis(50),
            backoff_max: Duration::from_secs(3),
        }
    }
}

impl Settings {
    /// Settings for a server at `address`, without credentials.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            ca: None,
            server_name: None,
            credentials: Credentials::None,
            files: None,
            insecure_loopback: false,
            traceparent: None,
            patience: Patience::default(),
        }
    }

    /// The way to the server, or to whichever of several can be reached.
    ///
    /// # Errors
    /// [`ClientError::Settings`] for an address or PEM text that cannot be used.
    pub(super) fn way(&self) -> Result<Way, ClientError> {
        let addresses: Vec<&str> = self.address.split(',').map(str::trim).collect();
        let mut endpoints = addresses.iter().map(|address| self.endpoint(address));
        let first = endpoints.next().ok_or_else(|| bad(&self.address, "names no host"))??;
        let rest = endpoints.collect::<Result<Vec<_>, _>>()?;
        if rest.is_empty() {
            return Ok(Way::new(first, None));
        }
        let servers = [&first].into_iter().chain(&rest).map(|endpoint| endpoint.uri().clone()).collect();
        if rest.iter().any(|other| other.uri().scheme_str() != first.uri().scheme_str()) {
            return Err(bad(&self.address, "mixes https:// with http://"));
        }
        Ok(Way::new(first, Some(servers)))
    }

    fn endpoint(&self, address: &str) -> Result<Endpoint, ClientError> {
        let wrong = |what: &str| bad(address, what);
        let uri: Uri = address.parse().map_err(|_| wrong("is not an address; write https://HOST:PORT"))?;
        let host = uri.host().ok_or_else(|| wrong("names no host; write https://HOST:PORT"))?;
        let endpoint = Endpoint::from(uri.clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        match uri.scheme_str() {
            Some("https") => endpoint
                .tls_config(self.tls(address)?)
                .map_err(|error| wrong(&format!("cannot be used with these keys: {}", causes(&error)))),
            Some("http") if !self.insecure_loopback => Err(wrong(
                "is plain text, which must be asked for by name (insecure loopback: --insecure-loopback)",
            )),
            Some("http") if !is_loopback(host) => {
                Err(wrong("is plain text to another host, which is never done"))
            }
            Some("http") => Ok(endpoint),
            _ => Err(wrong("has no scheme; write https://HOST:PORT")),
        }
    }

    fn tls(&self, address: &str) -> Result<ClientTlsConfig, ClientError> {
        let Some(ca) = &self.ca else {
            return Err(bad(address, "needs the certificate of its authority (a CA file: --ca)"));
        };
        let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
        if let Some(name) = &self.server_name {
            tls = tls.domain_name(name);
        }
        if let Credentials::Certificate { chain, key } = &self.credentials {
            tls = tls.identity(Identity::from_pem(chain, key));
        }
        Ok(tls)
    }

    /// # Errors
    /// [`ClientError::Settings`] for a token that does not fit into a header.
    pub(super) fn headers(&self) -> Result<Headers, ClientError> {
        let authorization = match &self.credentials {
            Credentials::Token(token) => {
                let value = format!("Bearer {}", token.trim());
                let mut value: MetadataValue<Ascii> = value.parse().map_err(|_| {
                    ClientError::Settings("the token holds characters no token has".to_owned())
                })?;
                value.set_sensitive(true);
                Some(value)
            }
            Credentials::None | Credentials::Certificate { .. } => None,
        };
        // A trace context that is not one is left out: it must not keep a command from running.
        let traceparent = self.traceparent.as_ref().and_then(|text| text.parse().ok());
        Ok(Headers { authorization, traceparent })
    }
}

fn bad(address: &str, what: &str) -> ClientError {
    ClientError::Settings(format!("the server's address `{address}` {what}"))
}

/// An error and what caused it; tonic's own texts say only that there is one.
fn causes(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("address", &self.address)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Token(_) => "a token",
            Self::Certificate { .. } => "a certificate",
        })
    }
}

/// What every call carries.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    authorization: Option<MetadataValue<Ascii>>,
    traceparent: Option<MetadataValue<Ascii>>,
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata_mut();
        if let Some(value) = &self.authorization {
            metadata.insert("authorization", value.clone());
        }
        if let Some(value) = &self.traceparent {
            metadata.insert("traceparent", value.clone());
        }
        Ok(request)
    }
}

/// The channel with its headers.
pub(super) type Wire = tonic::service::interceptor::InterceptedService<Channel, Headers>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_addresses_that_give_away_secrets() {
        for (address, insecure, says) in [
            ("http://127.0.0.1:1", false, "asked for by name"),
            ("http://example.com:1", true, "never done"),
            ("http://localhost:1", true, "never done"),
            ("https://example.com:1", false, "CA file"),
            ("127.0.0.1:1", true, "no"),
            ("not an address", true, "is not an address"),
            ("ftp://127.0.0.1:1", true, "no scheme"),
        ] {
            let mut settings = Settings::new(address);
            settings.insecure_loopback = insecure;
            let error = settings.way().unwrap_err().to_string();
            assert!(error.contains(says), "{address}: {error}");
        }
        let mut settings = Settings::new("http://[::1]:1");
        settings.insecure_loopback = true;
        assert!(settings.way().is_ok());
        settings.address = "http://127.0.0.1:1, http://127.0.0.1:2".to_owned();
        assert!(settings.way().is_ok(), "two servers of one store");
        for (more, says) in
            [(",", "is not an address"), (",http://example.com:1", "never done"), (",x y", "not an address")]
        {
            settings.address = format!("http://127.0.0.1:1{more}");
            let error = settings.way().unwrap_err().to_string();
            assert!(error.contains(says), "{more}: {error}");
        }
    }

    #[test]
    fn shows_no_secret() {
        let mut settings = Settings::new("https://h:1");
        settings.credentials = Credentials::Token("hunter2".to_owned());
        assert!(!format!("{settings:?}").contains("hunter2"));
        settings.credentials = Credentials::Token("with\nnewline".to_owned());
        assert!(settings.headers().is_err());
    }
}
