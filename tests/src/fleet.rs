//! Several servers and runners of one store, each a process of its own, with mutual TLS: on the loopback, or each on a host
//! of its own. Which runner dials which server is the test's to say, so that there are servers without a link to some runner.
//!
//! On the loopback no firewall or address tells them apart, only their certificates and names.

mod config;
pub mod network;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use airlock_cli::client::{Client, Credentials, Patience, Settings, v1, v1::AdminServiceListRunnersRequest};
use airlock_mounts::ScratchDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use self::network::{Host, Network};
use crate::{
    engines::{Bucket, Database},
    pki::{Pair, Pki},
    port::Port,
    process::Process,
    programs::program,
    site::{PATIENCE, sweep},
};

/// Runners end what runs under their uids when they start, so each has uids of its own.
const FIRST_UID: u32 = 200_000_000;
const UIDS: u32 = 500;
/// Runners of one fleet, at most.
const RUNNERS: u32 = 8;
/// Where servers on hosts of their own listen.
const PORT: u16 = 7443;

const TOKEN: &str = "a-token-of-the-fleet-that-is-long-enough";
/// Where servers and runners live during one test.
#[derive(Debug)]
pub struct Fleet {
    /// There until it is dropped.
    folder: Option<ScratchDir>,
    /// The authority that all trust.
    pub pki: Pki,
    /// Where the servers listen, now and after a restart.
    pub servers: Vec<SocketAddr>,
    server: Pair,
    place: Place,
    uids: u32,
    _database: Option<Database>,
}

/// Where they are to each other.
#[derive(Debug)]
enum Place {
    /// Each with a port of its own, which it keeps.
    Loopback { _ports: Vec<Port> },
    /// On hosts of their own: of the servers, of the runners.
    Hosts(Vec<Host>, Vec<Host>),
}

/// Timers of links and leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timers {
    /// The defaults, none of which runs out on a busy machine.
    #[default]
    Patient,
    /// The shortest lease, so that a server that died is followed soon. It also runs out by itself on a busy machine, and
    /// what a test expects must hold then too.
    ShortLease,
    /// Likewise, and few seconds of silence end a link, so that a host that is cut off is noticed soon.
    Short,
}

/// What every server of a fleet has in its configuration, and every runner.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    /// Timers of each server.
    pub timers: Timers,
    /// Where the servers keep their store.
    pub store: String,
    /// Where they keep outputs; empty: in a folder of the fleet.
    pub outputs: String,
    /// Tables of each server besides.
    pub server: String,
    /// Tables of each runner besides.
    pub runner: String,
}

impl Fleet {
    /// A fleet of so many servers on a database of their own, and of a runner for each entry of `runners`, which dials the
    /// servers of these numbers. Nothing runs yet.
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

    /// A fleet of servers and runners, each on a host of its own, where every runner dials every server.
    ///
    /// # Panics
    /// If files cannot be written, or hosts cannot be made.
    #[must_use]
    pub fn on_hosts(network: &Network, servers: u8, runners: u8, shared: &Shared) -> Self {
        let hosts = |kind: &str, count: u8, first: u8| -> Vec<Host> {
            (0..count).map(|number| network.host(&format!("{kind}-{}", number + 1), first + number)).collect()
        };
        let (of_servers, of_runners) = (hosts("server", servers, 11), hosts("runner", runners, 101));
        let addresses: Vec<_> = of_servers.iter().map(|host| SocketAddr::from((host.ip, PORT))).collect();
        let all: Vec<usize> = (0..addresses.len()).collect();
        // Ports do not tell fleets on hosts of their own apart; the processes of their tests do.
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
        let folder = ScratchDir::with_prefix("airlock-fleet-");
        let pki = Pki::new(&folder.path().join("pki"));
        let hosts: Vec<String> = servers.iter().map(|address| address.ip().to_string()).collect();
        let names: Vec<&str> = std::iter::once("localhost").chain(hosts.iter().map(String::as_str)).collect();
        let server = pki.issue("server", &names);
        let fleet = Self { folder: Some(folder), pki, servers, server, place, uids, _database: database };
        for number in 0..fleet.servers.len() {
            fleet.write_server(number, runners.len(), shared);
        }
        for (number, dials) in runners.iter().enumerate() {
            fleet.write_runner(number, dials, shared);
        }
        fleet
    }

    /// The folder where everything of this fleet is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.as_ref().expect("it is there until it is dropped").path()
    }

    /// Where a server listens.
    fn address(&self, number: usize) -> SocketAddr {
        *self.servers.get(number).expect("a server of the fleet")
    }

    /// Starts a server with these variables besides the test's own.
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

    /// Starts a runner with these variables besides the test's own.
    #[must_use]
    pub fn runner_with(&self, number: usize, env: &[(&str, &str)]) -> Process {
        self.start("airlock-runner", &runner_name(number), self.runner_host(number), env)
    }

    /// The host of a server, where it has one of its own.
    #[must_use]
    pub fn server_host(&self, number: usize) -> Option<&Host> {
        match &self.place {
            Place::Loopback { .. } => None,
            Place::Hosts(servers, _) => servers.get(number),
        }
    }

    /// The host of a runner, where it has one of its own.
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

    /// Where the program with the configuration of this name writes its log.
    #[must_use]
    pub fn log(&self, config: &str) -> PathBuf {
        self.path().join(format!("{config}.log"))
    }

    /// A client of these servers, as the agent. It asks again for as long as a test waits for anything.
    ///
    /// # Panics
    /// If the authority's certificate is gone.
    #[must_use]
    pub fn client(&self, servers: &[usize]) -> Client {
        self.client_with(servers, Patience { call: PATIENCE, view: PATIENCE, ..Patience::default() })
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
        let addresses: Vec<String> =
            servers.iter().map(|number| format!("https://{}", self.address(*number))).collect();
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
}

impl Drop for Fleet {
    fn drop(&mut self) {
        sweep(self.path());
        if let Some(folder) = self.folder.take_if(|_| std::thread::panicking()) {
            eprintln!("the fleet's logs are in {}", folder.keep().display());
        }
    }
}

/// The name of the server of this number.
#[must_use]
pub fn server_name(number: usize) -> String {
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
