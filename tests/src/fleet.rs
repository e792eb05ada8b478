//! A fixture with several servers and runners of one store, each a separate process, with mutual TLS, on the loopback
//! or on separate hosts. The test defines the servers that each runner connects to, so a server may have no link to
//! some runner.
//!
//! On the loopback only certificates and names distinguish them, not addresses or firewalls.

mod config;
pub mod network;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use airlock_client::{Client, Credentials, Patience, Settings, v1, v1::AdminServiceListRunnersRequest};
use airlock_mounts::ScratchDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use self::network::{Host, Network};
use crate::{
    engines::{Bucket, Database},
    pki::{Pair, Pki},
    port::Port,
    process::Process,
    site::{PATIENCE, sweep},
    tools::program,
};

/// A runner ends processes with its uids when it starts, so each has its own uids.
const FIRST_UID: u32 = 200_000_000;
const UIDS: u32 = 500;
/// The largest number of runners in a fleet.
const RUNNERS: u32 = 8;
/// The port of servers on separate hosts.
const PORT: u16 = 7443;

const TOKEN: &str = "a-token-of-the-fleet-that-is-long-enough";
/// The directory and the configuration of servers and runners during one test.
#[derive(Debug)]
pub struct Fleet {
    /// The directory; present until the fleet is dropped.
    directory: Option<ScratchDir>,
    /// The CA that all trust.
    pub pki: Pki,
    /// The addresses of the servers, which they keep after a restart.
    pub servers: Vec<SocketAddr>,
    server: Pair,
    place: Place,
    uids: u32,
    _database: Option<Database>,
}

/// The network between them.
#[derive(Debug)]
enum Place {
    /// Each server has its own port on the loopback, which it keeps.
    Loopback { _ports: Vec<Port> },
    /// Separate hosts: those of the servers, those of the runners.
    Hosts(Vec<Host>, Vec<Host>),
}

/// The timers of links and leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timers {
    /// The defaults, which do not expire on a busy host.
    #[default]
    Patient,
    /// The shortest lease, so that the take-over from a dead server is fast. It may also expire on a busy host without
    /// a fault, and the test's expectations must hold then, too.
    ShortLease,
    /// The same, but a link ends after a few seconds of silence, so that a disconnected host is detected soon.
    Short,
}

/// The configuration that all servers and runners of a fleet share.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    /// The timers of each server.
    pub timers: Timers,
    /// The store of the servers.
    pub store: String,
    /// The output storage; empty for a directory of the fleet.
    pub outputs: String,
    /// Additional tables of each server.
    pub server: String,
    /// Additional tables of each runner.
    pub runner: String,
}

impl Fleet {
    /// Creates a fleet with this number of servers on a new database. Each entry of `runners` is a runner that connects
    /// to the servers with these numbers. No process is started.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn new(servers: usize, runners: &[&[usize]], timers: Timers) -> Self {
        let database = Database::new();
        let store = database.table(database.address().port(), true);
        let shared = Shared { store, timers, ..Shared::default() };
        let ports: Vec<Port> = (0..servers).map(|_| Port::reserve()).collect();
        let servers: Vec<_> = ports.iter().map(|port| port.address).collect();
        let uids = FIRST_UID + u32::from(servers.first().map_or(0, SocketAddr::port)) * UIDS * RUNNERS;
        Self::write(servers, runners, Place::Loopback { _ports: ports }, &shared, uids, Some(database))
    }

    /// Creates a fleet of servers and runners on separate hosts. Every runner connects to every server.
    ///
    /// # Panics
    /// If files cannot be written, or hosts cannot be created.
    #[must_use]
    pub fn on_hosts(network: &Network, servers: u8, runners: u8, shared: &Shared) -> Self {
        let hosts = |kind: &str, count: u8, first: u8| -> Vec<Host> {
            (0..count).map(|number| network.host(&format!("{kind}-{}", number + 1), first + number)).collect()
        };
        let (of_servers, of_runners) = (hosts("server", servers, 11), hosts("runner", runners, 101));
        let addresses: Vec<_> = of_servers.iter().map(|host| SocketAddr::from((host.ip, PORT))).collect();
        let all: Vec<usize> = (0..addresses.len()).collect();
        // Fleets on separate hosts have the same ports, so the process IDs of their tests distinguish them.
        let process = (u32::from(u16::MAX) + 1) + std::process::id() % (u32::from(u16::MAX) + 1);
        let uids = FIRST_UID + process * UIDS * RUNNERS;
        let dials = vec![all.as_slice(); of_runners.len()];
        Self::write(addresses, &dials, Place::Hosts(of_servers, of_runners), shared, uids, None)
    }

    fn write(
        servers: Vec<SocketAddr>,
        runners: &[&[usize]],
        place: Place,
        shared: &Shared,
        uids: u32,
        database: Option<Database>,
    ) -> Self {
        let directory = ScratchDir::with_prefix("airlock-fleet-");
        let pki = Pki::new(&directory.path().join("pki"));
        let hosts: Vec<String> = servers.iter().map(|address| address.ip().to_string()).collect();
        let names: Vec<&str> = std::iter::once("localhost").chain(hosts.iter().map(String::as_str)).collect();
        let server = pki.issue("server", &names);
        let fleet =
            Self { directory: Some(directory), pki, servers, server, place, uids, _database: database };
        for number in 0..fleet.servers.len() {
            fleet.write_server(number, runners.len(), shared);
        }
        for (number, dials) in runners.iter().enumerate() {
            fleet.write_runner(number, dials, shared);
        }
        fleet
    }

    /// Returns the directory of this fleet.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.as_ref().expect("it is there until it is dropped").path()
    }

    /// Returns the address of a server.
    fn address(&self, number: usize) -> SocketAddr {
        *self.servers.get(number).expect("a server of the fleet")
    }

    /// Starts a server with these additional variables.
    #[must_use]
    pub fn server(&self, number: usize, env: &[(&str, &str)]) -> Process {
        let env: Vec<_> = Bucket::KEYS.iter().chain(env).copied().collect();
        self.start("airlock-server", &server_name(number), self.server_host(number), &env)
    }

    /// Starts a runner.
    #[must_use]
    pub fn runner(&self, number: usize) -> Process {
        self.runner_with(number, &[])
    }

    /// Starts a runner with these additional variables.
    #[must_use]
    pub fn runner_with(&self, number: usize, env: &[(&str, &str)]) -> Process {
        self.start("airlock-runner", &runner_name(number), self.runner_host(number), env)
    }

    /// Returns the host of a server, if it has a separate one.
    #[must_use]
    pub fn server_host(&self, number: usize) -> Option<&Host> {
        match &self.place {
            Place::Loopback { .. } => None,
            Place::Hosts(servers, _) => servers.get(number),
        }
    }

    /// Returns the host of a runner, if it has a separate one.
    #[must_use]
    pub fn runner_host(&self, number: usize) -> Option<&Host> {
        match &self.place {
            Place::Loopback { .. } => None,
            Place::Hosts(_, runners) => runners.get(number),
        }
    }

    fn start(&self, name: &str, config: &str, host: Option<&Host>, env: &[(&str, &str)]) -> Process {
        let program = program(name);
        let mut command = host.map_or_else(|| Command::new(&program), |host| host.command(&program));
        command.arg("--config").arg(self.path().join(format!("{config}.toml")));
        command.envs(env.iter().copied());
        Process::start(&mut command, &self.log(config))
    }

    /// Returns the log file of the program with this configuration.
    #[must_use]
    pub fn log(&self, config: &str) -> PathBuf {
        self.path().join(format!("{config}.log"))
    }

    /// Returns a client of these servers for the agent. It retries for as long as tests wait for an event.
    ///
    /// # Panics
    /// If the CA certificate is missing.
    #[must_use]
    pub fn client(&self, servers: &[usize]) -> Client {
        self.client_with(servers, Patience { call: PATIENCE, view: PATIENCE, ..Patience::default() })
    }

    /// Like [`Self::client`], with other patience.
    ///
    /// # Panics
    /// If the CA certificate is missing.
    #[must_use]
    pub fn client_with(&self, servers: &[usize], patience: Patience) -> Client {
        Client::connect_lazy(Settings { patience, ..self.settings(servers, TOKEN) }).unwrap()
    }

    /// Returns a client of this server for another approver of the agent's tenant.
    ///
    /// # Panics
    /// If the CA certificate is missing.
    #[must_use]
    pub fn lead(&self, server: usize) -> Client {
        Client::connect_lazy(self.settings(&[server], lead_token())).unwrap()
    }

    fn settings(&self, servers: &[usize], token: &str) -> Settings {
        let addresses: Vec<String> =
            servers.iter().map(|number| format!("https://{}", self.address(*number))).collect();
        let mut settings = Settings::new(addresses.join(","));
        settings.ca = Some(fs::read(self.pki.ca()).unwrap());
        settings.credentials = Credentials::Token(token.to_owned());
        settings
    }

    /// Returns a client of one server when the server reports this number of connected runners.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn ready(&self, server: usize, runners: usize) -> Client {
        let client = self.client(&[server]);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let page = client.admin().runners(AdminServiceListRunnersRequest::default()).await;
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

    /// Opens a connection to a server with a client certificate.
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

    /// Returns the server's own certificate, with which it is a client of other servers.
    #[must_use]
    pub fn server_pair(&self) -> &Pair {
        &self.server
    }

    /// Returns the token of the agent.
    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        sweep(self.path());
        if let Some(directory) = self.directory.take_if(|_| std::thread::panicking()) {
            eprintln!("the fleet's logs are in {}", directory.keep().display());
        }
    }
}

/// Returns the name of the server with this number.
#[must_use]
pub fn server_name(number: usize) -> String {
    format!("server-{}", number + 1)
}

/// Returns the name of the runner with this number.
#[must_use]
pub fn runner_name(number: usize) -> String {
    format!("runner-{}", number + 1)
}

fn lead_token() -> &'static str {
    "the-token-of-the-lead-that-is-long-enough"
}
