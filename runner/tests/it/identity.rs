//! Tests of the servers that a runner trusts. The certificate must have a name that the runner's floor lists, and a
//! signature of the trusted CA.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, sync::atomic::Ordering, time::Duration};

use airlock_domain::FromRunner;
use airlock_runner::{Runner, RunnerConfig, config::ServerConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::{
    fake::{FakeServer, Manners},
    fixture::until,
};

/// A CA of the test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Returns certificate and key.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

async fn tls_server(authority: &Authority, name: &str) -> FakeServer {
    let (certificate, key) = authority.issue(name);
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(certificate, key))
        .client_ca_root(Certificate::from_pem(authority.pem()));
    FakeServer::with_tls(Manners::default(), tls).await
}

/// Returns the configuration of a runner that trusts `authority`, has a certificate of `own`, and expects `name`.
fn config(
    dir: &Path,
    server: &FakeServer,
    authority: &Authority,
    own: &Authority,
    name: &str,
) -> RunnerConfig {
    let (certificate, key) = own.issue("runner-under-test");
    for (file, text) in [("ca", authority.pem()), ("cert", certificate), ("key", key)] {
        fs::write(dir.join(file), text).unwrap();
    }
    let server = ServerConfig {
        endpoint: format!("https://{}", server.address),
        server_name: Some(name.to_owned()),
        ca: Some(dir.join("ca")),
        cert: Some(dir.join("cert")),
        key: Some(dir.join("key")),
        ..ServerConfig::default()
    };
    let mut config = RunnerConfig::new("runner-under-test", dir.join("state"), server);
    config.uids = crate::fixture::uids();
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_expected_server_is_obeyed_and_only_a_known_runner_is_heard() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (authority, foreign) = (Authority::new(), Authority::new());
    let mut server = tls_server(&authority, "airlock-server.test").await;
    for (trusted, own, name, linked) in [
        (&authority, &authority, "airlock-server.test", true),
        (&authority, &authority, "another-server.test", false),
        (&foreign, &authority, "airlock-server.test", false),
        (&authority, &foreign, "airlock-server.test", false),
    ] {
        let dir = airlock_mounts::ScratchDir::new();
        let config = config(dir.path(), &server, trusted, own, name);
        let before = server.connections.load(Ordering::SeqCst);
        let runner = Runner::start(config).await.unwrap();
        let mut link = None;
        if linked {
            let link = link.insert(server.link().await);
            while link.from.recv().await != Some(FromRunner::Reconciled) {}
        } else {
            // The third connection shows that two attempts have failed.
            let tried = || server.connections.load(Ordering::SeqCst) - before;
            until("the runner tries again", || tried() >= 3).await;
            assert!(server.links.try_recv().is_err(), "{name}");
        }
        assert_eq!(runner.is_linked(), linked);
        drop(link);
        runner.shut_down().await;
        while server.links.try_recv().is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_leads_to_each_server_behind_it_and_each_has_one_link() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Authority::new();
    let mut server = tls_server(&authority, "airlock-server.test").await;
    let dir = airlock_mounts::ScratchDir::new();
    let mut config = config(dir.path(), &server, &authority, &authority, "airlock-server.test");
    config.servers[0].endpoint = format!("https://localhost:{}", server.address.port());
    config.servers[0].discover = true;
    config.reconnect.lookup = Duration::from_millis(50);
    config.reconnect.first = Duration::from_millis(10);
    let runner = Runner::start(config).await.unwrap();
    let mut link = server.link().await;
    while link.from.recv().await != Some(FromRunner::Reconciled) {}
    assert!(runner.is_linked());
    // The name is looked up repeatedly, and connected once.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(server.links.try_recv().is_err(), "each address has one link");
    drop(link);
    server.link().await;
    runner.shut_down().await;
}
