//! The test fixture: a server with its own certificates, and clients of every kind.

use std::{fs, net::Ipv4Addr, path::Path, time::Duration};

use airlock_server::{
    config::{self, Config},
    telemetry::Telemetry,
    wiring::{AllEngines, Options, RunningServer, Server},
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::PATIENCE;

/// The tokens of the identities with tenant and roles. The name of an identity equals its token.
pub(crate) const TOKENS: [(&str, &str, &str); 5] = [
    ("executor", "one", "\"executor\""),
    ("approver", "one", "\"approver\""),
    ("auditor", "one", "\"auditor\""),
    ("admin", "one", "\"admin\""),
    ("stranger", "two", "\"executor\", \"approver\", \"auditor\", \"admin\""),
];

pub(crate) type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A server and the authorities of its certificates.
pub(crate) struct World {
    pub(crate) server: RunningServer,
    pub(crate) config: Config,
    server_ca: Issuer,
    client_ca: Issuer,
    folder: TempDir,
}

pub(crate) fn authority(name: &str) -> Issuer {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns a certificate and its key in PEM.
pub(crate) fn leaf(issuer: &Issuer, dns: &str, usage: ExtendedKeyUsagePurpose) -> (String, String) {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.subject_alt_names = vec![SanType::DnsName(dns.try_into().unwrap())];
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// Returns a loopback address that no other test uses at the same time, so that a closed port stays free.
pub(crate) fn loopback() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | high, middle, low)
}

/// Raises all timeouts that the test does not set, because a simulated runner sends messages only on demand.
fn be_patient(config: &mut Config) {
    const LONG: Duration = Duration::from_secs(3600);
    let (limits, link) = (&mut config.limits, &mut config.link);
    let (usual, usual_link) = (config::Limits::default(), config::Link::default());
    for (limit, usual, patient) in [
        (&mut limits.handshake_timeout, usual.handshake_timeout, LONG),
        (&mut limits.queue_wait, usual.queue_wait, LONG),
        (&mut limits.call_timeout, usual.call_timeout, 2 * LONG),
        (&mut limits.approval_valid, usual.approval_valid, LONG),
        (&mut limits.open_wait, usual.open_wait, LONG),
        (&mut limits.exchange_open_wait, usual.exchange_open_wait, LONG),
        (&mut limits.exchange_answer_wait, usual.exchange_answer_wait, LONG),
        (&mut limits.transfer_idle, usual.transfer_idle, LONG),
        (&mut limits.shutdown_grace, usual.shutdown_grace, PATIENCE),
        (&mut link.heartbeat_timeout, usual_link.heartbeat_timeout, LONG),
        (&mut link.link_grace, usual_link.link_grace, LONG),
        (&mut link.lost_after, usual_link.lost_after, 4 * LONG),
        (&mut link.start_window, usual_link.start_window, LONG),
        (&mut link.lease, usual_link.lease, LONG),
    ] {
        if *limit == usual {
            *limit = patient;
        }
    }
}

fn config_text(folder: &Path, more: &str) -> String {
    let place = |name: &str| folder.join(name).display().to_string();
    let mut text = format!(
        "server_id = \"s\"\n[listen]\naddress = \"{}:0\"\n[listen.tls]\ncertificate = \"{}\"\n\
         key = \"{}\"\nclient_ca = \"{}\"\n[store]\npath = \"{}\"\n[outputs]\ndirectory = \"{}\"\n",
        loopback(),
        place("server.pem"),
        place("server.key"),
        place("clients.pem"),
        place("state/airlock.db"),
        place("outputs"),
    );
    for (token, tenant, roles) in TOKENS {
        let hash = hex::encode(Sha256::digest(token));
        text += &format!(
            "[[identity]]\nname = \"{token}\"\ntenant = \"{tenant}\"\nroles = [{roles}]\n\
             match = {{ token_sha256 = \"{hash}\" }}\n"
        );
    }
    for (name, role, extra) in [
        ("runner-1", "runner", ""),
        ("runners", "runner", "runner_ids = [\"a\", \"b\"]\n"),
        ("lead", "approver", ""),
        ("server-2", "server", ""),
    ] {
        text += &format!(
            "[[identity]]\nname = \"{name}\"\ntenant = \"one\"\nroles = [\"{role}\"]\n\
             match = {{ dns = \"{name}.test\" }}\n{extra}"
        );
    }
    text + more
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    /// Starts a server with additional sections of configuration.
    pub(crate) async fn with(more: &str) -> Self {
        Self::with_telemetry(more, |config| Telemetry::start(config, "s").unwrap()).await
    }

    /// Like [`World::with`], with telemetry installed for the whole process, as `airlock-server` does.
    pub(crate) async fn installed(more: &str) -> Self {
        Self::with_telemetry(more, |config| {
            let telemetry = Telemetry::start(config, "s").unwrap();
            telemetry.install().unwrap();
            telemetry
        })
        .await
    }

    async fn with_telemetry(more: &str, telemetry: impl FnOnce(&config::Telemetry) -> Telemetry) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (server_ca, client_ca) = (authority("servers"), authority("clients"));
        let (certificate, key) = leaf(&server_ca, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
        fs::write(folder.path().join("server.pem"), certificate).unwrap();
        fs::write(folder.path().join("server.key"), key).unwrap();
        fs::write(folder.path().join("clients.pem"), client_ca.pem()).unwrap();
        let file = folder.path().join("server.toml");
        fs::write(&file, config_text(folder.path(), more)).unwrap();
        let mut config = Config::load(&file).unwrap();
        be_patient(&mut config);
        let telemetry = Some(telemetry(&config.telemetry));
        let options = Options { telemetry, layers: Some((&file).into()), ..Options::new(&AllEngines) };
        let server = Server::start_with(config.clone(), options).await.unwrap();
        Self { server, config, server_ca, client_ca, folder }
    }

    /// Stops the server and returns its directory.
    pub(crate) async fn end(self) -> TempDir {
        self.server.shut_down().await;
        self.folder
    }

    /// Returns the directory with the certificates and the configuration.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a client without a certificate that trusts a server certificate of this authority.
    pub(crate) fn trusting(&self, authority: &Issuer) -> Channel {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(authority.pem()))
            .domain_name("localhost");
        self.endpoint().tls_config(tls).unwrap().connect_lazy()
    }

    fn tls(&self) -> ClientTlsConfig {
        ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(self.server_ca.pem()))
            .domain_name("localhost")
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("https://{}", self.server.local_addr()))
            .unwrap()
            .timeout(PATIENCE)
            .connect_timeout(PATIENCE)
    }

    /// Returns a client without a certificate.
    pub(crate) fn plain(&self) -> Channel {
        self.endpoint().tls_config(self.tls()).unwrap().connect_lazy()
    }

    /// Returns a client with the certificate of this identity.
    pub(crate) fn certified(&self, name: &str) -> Channel {
        self.with_certificate_of(&self.client_ca, name)
    }

    /// Returns a client with the certificate of this identity that trusts a server certificate of this
    /// authority.
    pub(crate) fn certified_by_server_of(&self, name: &str, server: &Issuer) -> Channel {
        let (certificate, key) =
            leaf(&self.client_ca, &format!("{name}.test"), ExtendedKeyUsagePurpose::ClientAuth);
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(server.pem()))
            .domain_name("localhost")
            .identity(Identity::from_pem(certificate, key));
        self.endpoint().tls_config(tls).unwrap().connect_lazy()
    }

    /// Returns a client with a certificate for this name from an untrusted authority.
    pub(crate) fn forged(&self, name: &str) -> Channel {
        self.with_certificate_of(&authority("clients"), name)
    }

    fn with_certificate_of(&self, issuer: &Issuer, name: &str) -> Channel {
        let (certificate, key) = leaf(issuer, &format!("{name}.test"), ExtendedKeyUsagePurpose::ClientAuth);
        let tls = self.tls().identity(Identity::from_pem(certificate, key));
        self.endpoint().tls_config(tls).unwrap().connect_lazy()
    }
}
