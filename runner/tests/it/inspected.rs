//! Tests of inspected TLS and of secrets with real programs in the sandbox.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, sync::Arc};

use airlock_config::OrNone;
use airlock_domain::{Cause, Grant, Inspection, JobPhase, NetworkRules, SessionId};
use airlock_runner::config::BoundSecret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
};

/// The secret. It is only in the runner's file and in this process.
pub(crate) const VALUE: &str = "the-value-of-the-secret-0123456789";
/// Writes the memory of a process that got an answer to a file of the workspace.
const DUMP: &str = r#"
    $answer = `curl -sS --noproxy "" -H "Authorization: Bearer $ENV{API_TOKEN}" $ENV{URL}`;
    open(MAPS, "/proc/self/maps"); open(MEMORY, "/proc/self/mem"); open(OUT, ">dump");
    while (<MAPS>) {
        /^(\w+)-(\w+) r/ or next;
        sysseek(MEMORY, hex($1), 0) and sysread(MEMORY, $bytes, hex($2) - hex($1)) and print OUT $bytes;
    }
"#;

/// A server that answers with the request that it got.
pub(crate) struct Site {
    pub(crate) address: String,
    pub(crate) authority: String,
    pub(crate) seen: mpsc::Receiver<String>,
    _tasks: JoinSet<()>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (authority, settings) = settings();
        let (sender, seen) = mpsc::channel(64);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let acceptor = TlsAcceptor::from(settings);
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = vec![0; 16 * 1024];
                let count = stream.read(&mut request).await.unwrap_or(0);
                request.truncate(count);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n");
                let _ = stream.write_all(&[head.as_bytes(), &request].concat()).await;
                let _ = stream.shutdown().await;
                let _ = sender.send(String::from_utf8_lossy(&request).into_owned()).await;
            }
        });
        Self { address, authority, seen, _tasks: tasks }
    }
}

/// Returns the authority, and the settings of a server at `127.0.0.1`.
pub(crate) fn settings() -> (String, Arc<ServerConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (authority.pem(), Arc::new(settings))
}

/// Starts a runner with the secret `API_TOKEN`, which is bound to `GET` below `/allowed` of the site.
async fn fixture(site: &Site, files: &airlock_mounts::ScratchDir) -> Fixture {
    let (ca, file) = (files.path().join("ca.pem"), files.path().join("value"));
    fs::write(&ca, &site.authority).unwrap();
    fs::write(&file, format!("{VALUE}\n")).unwrap();
    let bound = BoundSecret {
        file: Some(file),
        vault: None,
        requests: vec![format!("GET {}/allowed", site.address)],
        header: "authorization".to_owned(),
        aws: None,
        variable: None,
    };
    let network = NetworkRules { allow: vec![site.address.clone()], ..NetworkRules::default() };
    Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(network.into()));
        config.egress.ca = Some(ca);
        config.egress.secrets.insert("API_TOKEN".to_owned(), bound);
    })
    .await
}

pub(crate) fn asks(session: SessionId, site: &Site, inspection: Inspection, command: &str) -> Grant {
    let rules = NetworkRules { allow: vec![site.address.clone()], ..NetworkRules::default() };
    let mut grant = Grant { egress: vec![rules], ..grant(session, command) };
    grant.profile.inspection = inspection;
    grant
}

pub(crate) fn with_secret(entry: &str) -> Inspection {
    Inspection { requests: Vec::new(), secrets: vec![entry.to_owned()] }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_uses_a_secret_that_it_cannot_read() {
    let mut site = Site::start().await;
    let files = airlock_mounts::ScratchDir::new();
    let mut it = fixture(&site, &files).await;
    let session = it.open("").await;
    let url = format!("https://{}/allowed", site.address);
    let curl = format!("curl -sS --noproxy '' -H \"Authorization: Bearer $API_TOKEN\" {url}");

    let answer = it.said(asks(session, &site, with_secret("API_TOKEN"), &curl)).await;
    assert!(site.seen.recv().await.unwrap().contains(&format!("authorization: Bearer {VALUE}\r\n")));
    assert!(
        answer.contains("authorization: Bearer airlock_placeholder_") && !answer.contains(VALUE),
        "{answer}"
    );

    // Its environment, its processes, its files and Airlock's files inside the sandbox.
    let look = format!(
        "{curl} > answer; curl -sSv --noproxy '' -H \"Authorization: Bearer $API_TOKEN\" {url} > verbose 2>&1; env; \
         cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /run/airlock/run/* answer verbose 2>/dev/null | tr '\\0' '\\n'; \
         find / -xdev -type f -newer /proc/1 -size -1M -exec cat {{}} + 2>/dev/null | tr '\\0' '\\n'; true"
    );
    let seen = it.said(asks(session, &site, with_secret("API_TOKEN"), &look)).await;
    assert!(seen.contains("airlock_placeholder_") && seen.contains("BEGIN CERTIFICATE"), "the search works");
    assert!(!seen.contains(VALUE) && !seen.contains("PRIVATE KEY"));

    // The memory of a process that got the answer. The placeholder is the control.
    let dump = format!(
        "export URL={url}; perl -e '{DUMP}'; grep -c -a \"$API_TOKEN\" dump > found; test -s dump; \
         cat found; grep -c -a {VALUE} dump; true"
    );
    let counts = it.said(asks(session, &site, with_secret("API_TOKEN"), &dump)).await;
    let counts: Vec<u64> = counts.lines().map(|count| count.parse().unwrap()).collect();
    assert!(counts.len() == 2 && counts[0] > 0 && counts[1] == 0, "{counts:?}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_cannot_widen_the_binding_of_a_secret() {
    let mut site = Site::start().await;
    let files = airlock_mounts::ScratchDir::new();
    let mut it = fixture(&site, &files).await;
    let session = it.open("").await;
    let curl = |path: &str| {
        format!(
            "curl -sS --noproxy '' --path-as-is -H \"Authorization: Bearer $API_TOKEN\" https://{}{path} > answer; \
             grep -c airlock_placeholder_ answer",
            site.address
        )
    };
    let wide = format!("API_TOKEN {}", site.address);
    for (carries, entry, path) in [
        (true, "API_TOKEN", "/allowed"),
        (true, wide.as_str(), "/allowed"),
        (false, wide.as_str(), "/"),
        (false, wide.as_str(), "/allowed/../other"),
        (false, "API_TOKEN other.example", "/allowed"),
    ] {
        it.said(asks(session, &site, with_secret(entry), &curl(path))).await;
        assert_eq!(site.seen.recv().await.unwrap().contains(VALUE), carries, "{entry} {path}");
    }
    for entry in ["OTHER", "API_TOKEN no rule", ""] {
        let id = it.offer(asks(session, &site, with_secret(entry), "true")).await;
        let result = it.job(id, JobPhase::Refused).await.result.unwrap();
        assert!(matches!(result.cause, Cause::Refused { .. }), "{entry}: {result:?}");
        assert!(!format!("{result:?}").contains(VALUE));
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_trust_the_authority_and_requests_are_limited() {
    let site = Site::start().await;
    let files = airlock_mounts::ScratchDir::new();
    let mut it = fixture(&site, &files).await;
    let session = it.open("").await;
    let only_get =
        || Inspection { requests: vec![format!("GET {}/read/", site.address)], secrets: Vec::new() };
    let ask = "for request in 'GET read/x' 'POST read/x' 'GET write' 'GET read/../write'; do \
               curl -s --noproxy '' --path-as-is -o /dev/null -w '%{http_code} ' -X $request; done"
        .replace("-X $request", &format!("-X ${{request% *}} https://{}/${{request#* }}", site.address));
    assert_eq!(it.said(asks(session, &site, only_get(), &ask)).await, "200 403 403 403 ");
    let names = "for name in SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE PIP_CERT NODE_EXTRA_CA_CERTS \
                 CARGO_HTTP_CAINFO GIT_SSL_CAINFO AWS_CA_BUNDLE; do test -s \"${!name}\" || echo $name; done";
    assert_eq!(it.said(asks(session, &site, only_get(), names)).await, "");
    // The control: without the inspection, the program does not trust the site, and any request would pass.
    let plain = format!("curl -s --noproxy '' -X POST https://{}/write || echo $?", site.address);
    assert_eq!(it.said(asks(session, &site, Inspection::default(), &plain)).await, "60\n");
    it.shut_down().await;
}
