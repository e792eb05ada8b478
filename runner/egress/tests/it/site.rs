//! Servers with TLS that record what reaches them, and clients that trust the proxy's authority.

use std::sync::{Arc, Mutex};

use airlock_egress::{Inspection, Trust};
use airlock_network::RequestRule;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client::TlsStream, server};

use crate::fixture::{Execution, LISTED, soon, status};

/// How a site answers.
#[derive(Clone)]
pub(crate) enum Reply {
    /// With these bytes.
    Bytes(Arc<[u8]>),
    /// With the request that it got, as the body.
    Reflect,
    /// With the request that it got, each byte in a chunk of its own.
    ReflectSplit,
    /// With the value of `Authorization`, in these bytes instead of `VALUE`.
    Around(Arc<str>),
    /// With these bytes. The connection stays open.
    Begin(&'static str),
}

/// A server with TLS for `web.test` and `other.test`. It ends when it is dropped.
pub(crate) struct Site {
    pub(crate) port: u16,
    pub(crate) authority: CertificateDer<'static>,
    seen: Arc<Mutex<Vec<u8>>>,
    _tasks: JoinSet<()>,
}

impl Site {
    pub(crate) async fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind((LISTED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (authority, settings) = settings(&["web.test", "other.test"]);
        let acceptor = TlsAcceptor::from(settings);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, reply, record) = (acceptor.clone(), reply.clone(), Arc::clone(&record));
                connections.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, &reply, &record).await;
                    }
                });
            }
        });
        Self { port, authority, seen, _tasks: tasks }
    }

    /// Returns what reached the site since the last call.
    pub(crate) fn take(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.seen.lock().unwrap())).into_owned()
    }

    /// Returns the trust in this site.
    pub(crate) fn trust(&self) -> Arc<Trust> {
        Arc::new(Trust::new(std::slice::from_ref(&self.authority)).unwrap())
    }
}

fn settings(names: &[&str]) -> (CertificateDer<'static>, Arc<ServerConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (authority.der().clone(), Arc::new(settings))
}

/// Reads one request with its body, and answers it.
async fn serve(mut stream: server::TlsStream<TcpStream>, reply: &Reply, record: &Mutex<Vec<u8>>) {
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut buffer = [0; 4096];
        let Ok(count @ 1..) = stream.read(&mut buffer).await else { return };
        request.extend_from_slice(&buffer[..count]);
    }
    record.lock().unwrap().extend_from_slice(&request);
    let answer = match reply {
        Reply::Bytes(bytes) => bytes.to_vec(),
        Reply::Reflect => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len());
            [head.into_bytes(), request].concat()
        }
        Reply::ReflectSplit => chunks(&request),
        Reply::Around(text) => {
            let request = String::from_utf8(request).unwrap();
            let value =
                request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or("");
            text.replace("VALUE", value).into_bytes()
        }
        Reply::Begin(text) => text.as_bytes().to_vec(),
    };
    for byte in answer.chunks(if matches!(reply, Reply::ReflectSplit) { 1 } else { answer.len().max(1) }) {
        if stream.write_all(byte).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
    if matches!(reply, Reply::Begin(_)) {
        let _ = stream.read(&mut [0]).await;
    }
    let _ = stream.shutdown().await;
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for byte in body {
        answer.extend_from_slice(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']);
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).into_owned();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// Returns rules about requests.
pub(crate) fn request_rules(texts: &[&str], port: u16) -> Vec<RequestRule> {
    let rule = |text: &&str| RequestRule::parse(&text.replace("PORT", &port.to_string())).unwrap();
    texts.iter().map(rule).collect()
}

/// Begins TLS with the authority of `inspection`. `None`: the handshake fails.
pub(crate) async fn handshake(
    stream: TcpStream,
    authorities: &[CertificateDer<'static>],
    name: &str,
    alpn: &[&str],
) -> Option<TlsStream<TcpStream>> {
    let config = client(authorities, alpn);
    let name = ServerName::try_from(name.to_owned()).unwrap();
    soon(TlsConnector::from(config).connect(name, stream)).await.ok()
}

/// Returns the first message of a TLS client.
pub(crate) fn client_hello(authorities: &[CertificateDer<'static>], name: &str) -> Vec<u8> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut hello = Vec::new();
    ClientConnection::new(client(authorities, &[]), name).unwrap().write_tls(&mut hello).unwrap();
    hello
}

fn client(authorities: &[CertificateDer<'static>], alpn: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// Returns the authority of an inspection.
pub(crate) fn authority(inspection: &Inspection) -> Vec<CertificateDer<'static>> {
    let certificates = inspection.certificates();
    vec![CertificateDer::pem_slice_iter(certificates.as_bytes()).last().unwrap().unwrap()]
}

/// Sends a request inside inspected TLS to `HOST:PORT`, and returns everything that comes back.
pub(crate) async fn ask(
    execution: &Execution,
    inspection: &Inspection,
    target: &str,
    request: &str,
) -> String {
    let (stream, head) = execution.tunnel(target).await;
    assert_eq!(status(&head), 200, "{head}");
    let name = target.split(':').next().unwrap();
    let mut stream = handshake(stream, &authority(inspection), name, &[]).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let _ = soon(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
