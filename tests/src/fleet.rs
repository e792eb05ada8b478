//! Several servers and runners of one store on the loopback, each a process of its own, with mutual TLS. Which runner
//! dials which server is the test's to say, so that there are servers without a link to some runner.
//!
//! All of them share one host: no firewall or address tells them apart, only their certificates and names.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use airlock_cli::client::{Client, Credentials, Patience, Settings, v1, v1::AdminServiceListRunnersRequest};
use airlock_server::store::{
    Store as _,
    sqlite::{SqliteOptions, SqliteStore},
};
use tempfile::TempDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::{
    pki::{Pair, Pki},
    process::Process,
    programs::program,
    site::{PATIENCE, free_address, sha256, sweep},
};

/// Runners end what runs under their uids when they start, so each has uids of its own.
const FIRST_UID: u32 = 200_000_000;
const UIDS: u32 = 500;

const TOKEN: &str = "a-token-of-the-fleet-that-is-long-enough";
/// So that a server that died is followed soon.
const LINK: &str = "[link]\nlease = \"3s\"\nheartbeat_interval = \"500ms\"\nheartbeat_timeout = \"3s\"\n";

/// Where servers and runners live during one test.
#[derive(Debug)]
pub struct Fleet {
    folder: TempDir,
    /// The authority that all trust.
    pub pki: Pki,
    /// Where the servers listen, now and after a restart.
    pub servers: Vec<SocketAddr>,
    server: Pair,
}

impl Fleet {
    /// A fleet of so many servers, and of a runner for each entry of `runners`, which dials the servers of these numbers.
    /// Nothing runs yet.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub async fn new(servers: usize, runners: &[&[usize]]) -> Self {
        let folder = tempfile::Builder::new().prefix("airlock-fleet-").tempdir().unwrap();
        let pki = Pki::new(&folder.path().join("pki"));
        let servers = (0..servers).map(|_| free_address()).collect();
        let server = pki.issue("server", &["localhost"]);
        let fleet = Self { folder, pki, servers, server };
        fleet.share_store().await;
        for number in 0..fleet.servers.len() {
            fleet.write_server(number, runners.len());
        }
        for (number, dials) in runners.iter().enumerate() {
            fleet.write_runner(number, dials);
        }
        fleet
    }

    /// The folder where everything of this fleet is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where a server listens.
    fn address(&self, number: usize) -> SocketAddr {
        *self.servers.get(number).expect("a server of the fleet")
    }

    /// One file, with a name for each server: what keeps a second server from a store goes by the name.
    async fn share_store(&self) {
        let store = self.path().join("airlock.db");
        // Its schema is made before any server comes, because not two of them may make it at once.
        SqliteStore::open(&store, SqliteOptions::default()).await.unwrap().close().await;
        for number in 0..self.servers.len() {
            symlink(&store, self.path().join(format!("store-{number}.db"))).unwrap();
        }
    }

    fn write_server(&self, number: usize, runners: usize) {
        let path = self.path().display();
        let runner_ids: Vec<String> = (0..runners).map(runner_name).collect();
        fs::write(
            self.path().join(format!("{}.toml", server_name(number))),
            format!(
                r#"server_id = "{name}"
[listen]
address = "{address}"
[listen.tls]
certificate = "{certificate}"
key = "{key}"
client_ca = "{ca}"
[store]
path = "{path}/store-{number}.db"
[outputs]
directory = "{path}/outputs"
[profiles]
default = "sandboxed"
[[identity]]
name = "agent"
tenant = "acme"
roles = ["executor", "approver", "admin"]
profiles = ["sandboxed", "strict", "demo", "read_only"]
match = {{ token_sha256 = "{token}" }}
[[identity]]
name = "lead"
tenant = "acme"
roles = ["approver"]
profiles = ["sandboxed", "strict", "demo", "read_only"]
match = {{ token_sha256 = "{lead}" }}
[[identity]]
name = "runners"
tenant = "system"
roles = ["runner"]
runner_ids = {runner_ids:?}
match = {{ common_name = "runner" }}
[[identity]]
name = "servers"
tenant = "system"
roles = ["server"]
match = {{ common_name = "server" }}
{LINK}
[peers]
advertise = "https://{address}"
server_name = "localhost"
ca = "{ca}"
certificate = "{certificate}"
key = "{key}"
ready_wait = "10s"
"#,
                name = server_name(number),
                address = self.address(number),
                certificate = self.server.certificate.display(),
                key = self.server.key.display(),
                ca = self.pki.ca().display(),
                token = sha256(TOKEN.as_bytes()),
                lead = sha256(lead_token().as_bytes()),
            ),
        )
        .unwrap();
    }

    fn write_runner(&self, number: usize, dials: &[usize]) {
        let (path, name) = (self.path().display(), runner_name(number));
        let pair = self.pki.issue("runner", &[]);
        let servers: String = dials
            .iter()
            .map(|server| {
                format!(
                    "[[server]]\nendpoint = \"https://{address}\"\nserver_name = \"localhost\"\nca = \"{ca}\"\n\
                     cert = \"{cert}\"\nkey = \"{key}\"\n",
                    address = self.address(*server),
                    ca = self.pki.ca().display(),
                    cert = pair.certificate.display(),
                    key = pair.key.display(),
                )
            })
            .collect();
        let first = self.first_uid() + u32::try_from(number).unwrap() * UIDS;
        fs::write(
            self.path().join(format!("{name}.toml")),
            format!(
                "runner_id = \"{name}\"\nstate_dir = \"{path}/{name}\"\n{servers}[uids]\nfirst = {first}\ncount = {UIDS}\n\
                 [floor]\nservers = [\"localhost\"]\n"
            ),
        )
        .unwrap();
    }

    fn first_uid(&self) -> u32 {
        FIRST_UID + u32::from(self.address(0).port()) * UIDS * 8
    }

    /// Starts a server with these variables besides the test's own.
    #[must_use]
    pub fn server(&self, number: usize, env: &[(&str, &str)]) -> Process {
        self.start("airlock-server", &server_name(number), env)
    }

    /// Starts a runner.
    #[must_use]
    pub fn runner(&self, number: usize) -> Process {
        self.start("airlock-runner", &runner_name(number), &[])
    }

    fn start(&self, name: &str, config: &str, env: &[(&str, &str)]) -> Process {
        let mut command = Command::new(program(name));
        command.arg("--config").arg(self.path().join(format!("{config}.toml")));
        command.envs(env.iter().copied());
        Process::start(&mut command, &self.log(config))
    }

    /// Where the program with the configuration of this name writes its log.
    #[must_use]
    pub fn log(&self, config: &str) -> PathBuf {
        self.path().join(format!("{config}.log"))
    }

    /// A client of these servers, as the agent.
    ///
    /// # Panics
    /// If the authority's certificate is gone.
    #[must_use]
    pub fn client(&self, servers: &[usize]) -> Client {
        Client::connect_lazy(self.settings(servers, TOKEN)).unwrap()
    }

    /// Likewise, with another patience.
    ///
    /// # Panics
    /// If the authority's certificate is gone.
    #[must_use]
    pub fn client_with(&self, servers: &[usize], patience: Patience) -> Client {
        Client::connect_lazy(Settings { patience, ..self.settings(servers, TOKEN) }).unwrap()
    }

    /// A client of this server, as another approver of the agent's tenant.
    ///
    /// # Panics
    /// If the authority's certificate is gone.
    #[must_use]
    pub fn lead(&self, server: usize) -> Client {
        Client::connect_lazy(self.settings(&[server], lead_token())).unwrap()
    }

    fn settings(&self, servers: &[usize], token: &str) -> Settings {
        let addresses: Vec<String> = servers
            .iter()
            .map(|number| format!("https://localhost:{}", self.address(*number).port()))
            .collect();
        let mut settings = Settings::new(addresses.join(","));
        settings.ca = Some(fs::read(self.pki.ca()).unwrap());
        settings.credentials = Credentials::Token(token.to_owned());
        settings
    }

    /// A client of one server, once that sees so many runners connected.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn ready(&self, server: usize, runners: usize) -> Client {
        let client = self.client(&[server]);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let page = client.runners(AdminServiceListRunnersRequest::default()).await;
            let connected = v1::RunnerState::Connected as i32;
            let seen = page
                .as_ref()
                .map(|page| page.runners.iter().filter(|runner| runner.state == connected).count());
            if seen.as_ref().is_ok_and(|seen| *seen >= runners) {
                return client;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "server {server} sees {seen:?} of {runners} runners; see {}",
                self.path().display()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A connection to a server with a certificate of the caller's.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn channel(&self, server: usize, pair: &Pair) -> Channel {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(fs::read(self.pki.ca()).unwrap()))
            .identity(Identity::from_pem(fs::read(&pair.certificate).unwrap(), fs::read(&pair.key).unwrap()))
            .domain_name("localhost");
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address(server))).unwrap();
        endpoint.tls_config(tls).unwrap().connect().await.unwrap()
    }

    /// The server's own certificate, with which it is a client of the others.
    #[must_use]
    pub fn server_pair(&self) -> &Pair {
        &self.server
    }

    /// A token of the agent.
    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Keeps the folder, to look into it after a failure.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.folder.path().to_owned()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        sweep(self.folder.path());
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("the fleet's logs are in {}", self.folder.path().display());
        }
    }
}

fn server_name(number: usize) -> String {
    format!("server-{}", number + 1)
}

/// The name of the runner of this number.
#[must_use]
pub fn runner_name(number: usize) -> String {
    format!("runner-{}", number + 1)
}

fn lead_token() -> &'static str {
    "the-token-of-the-lead-that-is-long-enough"
}
