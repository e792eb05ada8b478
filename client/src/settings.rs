//! The address of a server and the credentials for it. This module opens channels and attaches credentials. It reads
//! no files and no environment.

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::Interceptor,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Uri},
};

use super::{ClientError, Patience, connector::Connector};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of unread bytes that a view may hold.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The number of unread bytes that all views of a client may hold together. 512 stopped readers block no other
/// reader.
const CONNECTION_WINDOW: u32 = 512 * STREAM_WINDOW;

/// The address of a server, and the credentials for it.
#[derive(Clone)]
pub struct Settings {
    /// `https://HOST:PORT`, or `http://` on loopback if that is permitted. Several addresses, separated by commas, are
    /// servers of one store. The client connects to one that it can reach, and to another one if that one fails.
    pub address: String,
    /// PEM certificates of the CAs that may have signed the server's certificate.
    pub ca: Option<Vec<u8>>,
    /// The name in the server's certificate, if it differs from the host of the (first) address.
    pub server_name: Option<String>,
    /// The credentials of the caller.
    pub credentials: Credentials,
    /// The files that `ca` and `credentials` were read from. The client checks them once a second, and uses new content
    /// if it is valid. It does not read them at the start. `None`: no file is read again.
    pub files: Option<Files>,
    /// Whether plain text is permitted, on loopback only.
    pub insecure_loopback: bool,
    /// The W3C trace context of every call.
    pub traceparent: Option<String>,
    /// The time to retry.
    pub patience: Patience,
}

/// The credentials of the caller.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// No credentials. Only a server on plain loopback accepts an unauthenticated caller.
    #[default]
    None,
    /// A bearer token.
    Token(String),
    /// A client certificate.
    Certificate {
        /// The certificate chain (PEM).
        chain: Vec<u8>,
        /// The private key (PEM).
        key: Vec<u8>,
    },
}

/// The files with a client's credentials and its server's CA.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// The file for [`Settings::ca`].
    pub ca: Option<PathBuf>,
    /// A bearer token; surrounding white space is ignored.
    pub token: Option<PathBuf>,
    /// A client certificate and its key, used if there is no token.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl Settings {
    /// Returns settings for a server at `address`, without credentials.
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

    /// Returns a connector for the server, or for several servers.
    ///
    /// # Errors
    /// [`ClientError::Settings`] for an invalid address or PEM text.
    pub(super) fn connector(&self) -> Result<Connector, ClientError> {
        let addresses: Vec<&str> = self.address.split(',').map(str::trim).collect();
        let mut endpoints = addresses.iter().map(|address| self.endpoint(address));
        let first = endpoints.next().ok_or_else(|| bad(&self.address, "names no host"))??;
        let rest = endpoints.collect::<Result<Vec<_>, _>>()?;
        if rest.is_empty() {
            return Ok(Connector::new(first, None));
        }
        let servers = [&first].into_iter().chain(&rest).map(|endpoint| endpoint.uri().clone()).collect();
        if rest.iter().any(|other| other.uri().scheme_str() != first.uri().scheme_str()) {
            return Err(bad(&self.address, "mixes https:// with http://"));
        }
        Ok(Connector::new(first, Some(servers)))
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
                "is plain text, which requires the setting for an insecure loopback (--insecure-loopback)",
            )),
            Some("http") if !is_loopback(host) => {
                Err(wrong("is plain text to another host, which is never allowed"))
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

    /// Returns the headers of every call.
    ///
    /// # Errors
    /// [`ClientError::Settings`] for a token that is not valid in a header.
    pub(super) fn headers(&self) -> Result<Headers, ClientError> {
        let authorization = match &self.credentials {
            Credentials::Token(token) => {
                let value = format!("Bearer {}", token.trim());
                let mut value: MetadataValue<Ascii> = value.parse().map_err(|_| {
                    ClientError::Settings(
                        "the token contains characters that no token can contain".to_owned(),
                    )
                })?;
                value.set_sensitive(true);
                Some(value)
            }
            Credentials::None | Credentials::Certificate { .. } => None,
        };
        // An invalid trace context is omitted: it must not prevent a command from running.
        let traceparent = self.traceparent.as_ref().and_then(|text| text.parse().ok());
        Ok(Headers { authorization, traceparent })
    }
}

fn bad(address: &str, what: &str) -> ClientError {
    ClientError::Settings(format!("the server's address `{address}` {what}"))
}

/// Returns the root cause of an error; tonic's own messages do not contain it.
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

/// The headers of every call.
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

/// A channel that adds the headers.
pub(super) type Wire = tonic::service::interceptor::InterceptedService<Channel, Headers>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_addresses_that_give_away_secrets() {
        for (address, insecure, says) in [
            ("http://127.0.0.1:1", false, "insecure loopback"),
            ("http://example.com:1", true, "never allowed"),
            ("http://localhost:1", true, "never allowed"),
            ("https://example.com:1", false, "CA file"),
            ("127.0.0.1:1", true, "no"),
            ("not an address", true, "is not an address"),
            ("ftp://127.0.0.1:1", true, "no scheme"),
        ] {
            let mut settings = Settings::new(address);
            settings.insecure_loopback = insecure;
            let error = settings.connector().unwrap_err().to_string();
            assert!(error.contains(says), "{address}: {error}");
        }
        let mut settings = Settings::new("http://[::1]:1");
        settings.insecure_loopback = true;
        assert!(settings.connector().is_ok());
        settings.address = "http://127.0.0.1:1, http://127.0.0.1:2".to_owned();
        assert!(settings.connector().is_ok(), "two servers of one store");
        for (more, says) in [
            (",", "is not an address"),
            (",http://example.com:1", "never allowed"),
            (",x y", "not an address"),
        ] {
            settings.address = format!("http://127.0.0.1:1{more}");
            let error = settings.connector().unwrap_err().to_string();
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
