//! Checks whether a server can be reached: name, port and certificate. It stops after the TLS handshake and sends no
//! credential.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use x509_parser::{extensions::GeneralName, prelude::FromDer as _};

use super::finding::Finding;

/// The timeout of each step.
const PATIENCE: Duration = Duration::from_secs(5);
/// The remaining lifetime of a certificate that causes a warning.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of certificate names that are shown.
const NAMES: usize = 8;

/// The server to check.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The expected identity. `None` means plain text.
    pub trust: Option<Trust>,
}

/// The expected identity of a server.
#[derive(Debug, Clone)]
pub struct Trust {
    /// The CA certificates that may have signed the server's certificate, PEM.
    pub ca: Vec<u8>,
    /// The name that its certificate must carry.
    pub name: String,
}

/// Resolves the name, connects and performs the handshake, each within five seconds. Stops at the first failed step.
pub async fn reach(target: &Target) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(addresses) = resolve(target, &mut found).await else { return found };
    let Some(socket) = connect(target, &addresses, &mut found).await else { return found };
    match &target.trust {
        None => found.push(Finding::ok("TLS", "none: plain text, on this host only")),
        Some(trust) => found.extend(handshake(trust, socket).await),
    }
    found
}

async fn resolve(target: &Target, found: &mut Vec<Finding>) -> Option<Vec<SocketAddr>> {
    let Target { host, port, .. } = target;
    let asked = tokio::net::lookup_host((host.trim_matches(['[', ']']), *port));
    let remedy = "correct the name, or this host's name resolution (/etc/resolv.conf, /etc/hosts)";
    let failed = |what: String| Finding::failed("name", what, remedy);
    match timeout(PATIENCE, asked).await {
        Err(_) => found.push(failed(format!("no answer for `{host}` in {PATIENCE:?}"))),
        Ok(Err(error)) => found.push(failed(format!("`{host}` has no address: {error}"))),
        Ok(Ok(addresses)) => {
            let addresses: Vec<SocketAddr> = addresses.collect();
            let shown: Vec<String> = addresses.iter().take(NAMES).map(|one| one.ip().to_string()).collect();
            found.push(Finding::ok("name", format!("`{host}` is {}", shown.join(", "))));
            return Some(addresses);
        }
    }
    None
}

async fn connect(target: &Target, addresses: &[SocketAddr], found: &mut Vec<Finding>) -> Option<TcpStream> {
    let mut last = "it has no address".to_owned();
    for address in addresses {
        match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                found.push(Finding::ok("TCP", format!("{address} is open")));
                return Some(socket);
            }
            Ok(Err(error)) => last = format!("{address}: {error}"),
            Err(_) => last = format!("{address}: no answer in {PATIENCE:?}"),
        }
    }
    let remedy = format!(
        "check that the server is running, that it listens on port {}, and that no firewall blocks the \
         connection",
        target.port
    );
    found.push(Finding::failed("TCP", last, remedy));
    None
}

async fn handshake(trust: &Trust, socket: TcpStream) -> Vec<Finding> {
    let failed = |what: String, remedy: &str| vec![Finding::failed("TLS", what, remedy)];
    let Ok(name) = ServerName::try_from(trust.name.clone()) else {
        return failed(
            format!("`{}` is not a name that a certificate can contain", trust.name),
            "correct the name",
        );
    };
    let recorder = match Recorder::new(&trust.ca) {
        Ok(recorder) => Arc::new(recorder),
        Err(what) => {
            return failed(what, "name the PEM file of the authority that signed the server's certificate");
        }
    };
    let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(&recorder) as _;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|config| config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
    let mut config = match config {
        Ok(config) => config,
        Err(error) => return failed(error.to_string(), "this build does not support TLS"),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let shaken = timeout(PATIENCE, TlsConnector::from(Arc::new(config)).connect(name, socket)).await;
    let mut found = match shaken {
        Ok(Ok(_)) => vec![Finding::ok("TLS", format!("the certificate is valid for `{}`", trust.name))],
        Ok(Err(error)) => failed(error.to_string(), tls_remedy(recorder.verdict().as_ref())),
        Err(_) => {
            failed(format!("no handshake in {PATIENCE:?}"), "check that a TLS server listens at this address")
        }
    };
    found.extend(recorder.certificate().map(|leaf| validity(&leaf, SystemTime::now())));
    found
}

fn tls_remedy(verdict: Option<&Error>) -> &'static str {
    match verdict {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "another authority signed it: name that authority's certificate, or check that this is the right \
             server"
        }
        Some(Error::InvalidCertificate(_)) => {
            "use a name that the certificate contains (below), or give the server a new certificate"
        }
        _ => "check that a TLS server listens at this address",
    }
}

/// Checks the names and the expiry of a certificate.
fn validity(leaf: &CertificateDer<'_>, now: SystemTime) -> Finding {
    let Ok((_, certificate)) = x509_parser::certificate::X509Certificate::from_der(leaf) else {
        return Finding::failed("certificate", "it cannot be read", "give the server a new certificate");
    };
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let names: Vec<String> = alternative
        .iter()
        .flat_map(|names| names.value.general_names.iter().filter_map(shown))
        .take(NAMES)
        .collect();
    let names = if names.is_empty() { "it contains no name".to_owned() } else { names.join(", ") };
    let second = |time: i64| Duration::from_secs(u64::try_from(time).unwrap_or(0));
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let begins = second(certificate.validity().not_before.timestamp());
    let ends = second(certificate.validity().not_after.timestamp());
    let days = |span: Duration| span.as_secs() / DAY.as_secs();
    const RENEW: &str = "give the server a new certificate";
    if begins > now {
        let what = format!("{names}; it is not valid for another {} h", (begins - now).as_secs() / 3600 + 1);
        return Finding::failed("certificate", what, "check the clock of this host");
    }
    match ends.checked_sub(now) {
        None => {
            Finding::failed("certificate", format!("{names}; it ended {} days ago", days(now - ends)), RENEW)
        }
        Some(left) if left < SOON => {
            let seen = format!("{names}; it expires in {} days", days(left));
            Finding::degraded("certificate", seen, "no new link after the certificate has expired", RENEW)
        }
        Some(left) => Finding::ok("certificate", format!("{names}; it expires in {} days", days(left))),
    }
}

fn shown(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
            let six = || <[u8; 16]>::try_from(*bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
            four.or_else(|_| six()).ok()
        }
        _ => None,
    }
}

/// A verifier that checks as rustls does, and records the certificate and the error.
#[derive(Debug)]
struct Recorder {
    inner: Arc<WebPkiServerVerifier>,
    seen: Mutex<Option<(CertificateDer<'static>, Option<Error>)>>,
}

impl Recorder {
    fn new(ca: &[u8]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca) {
            let certificate =
                certificate.map_err(|error| format!("the authority's file is not PEM: {error}"))?;
            roots.add(certificate).map_err(|error| format!("the authority cannot be used: {error}"))?;
        }
        let provider = Arc::new(ring::default_provider());
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map(|inner| Self { inner, seen: Mutex::new(None) })
            .map_err(|error| format!("the authority's file cannot be used: {error}"))
    }

    fn verdict(&self) -> Option<Error> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|seen| seen.1.clone())
    }

    fn certificate(&self) -> Option<CertificateDer<'static>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|seen| seen.0.clone())
    }
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.inner.verify_server_cert(leaf, others, name, ocsp, now);
        let seen = (leaf.clone().into_owned(), verdict.as_ref().err().cloned());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        verdict
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
