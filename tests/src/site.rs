//! A fixture with a server and a runner as separate processes with mutual TLS, as on two hosts.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use airlock_client::{Client, Credentials, Settings, v1::AdminServiceListRunnersRequest};
use airlock_mounts::ScratchDir;

use crate::{
    pki::{Pair, Pki},
    port::Port,
    process::Process,
    tools::program,
};

/// The time that a test waits for an expected event. Only a failing test waits that long, so it is far more than a busy
/// host needs. It does not bound how long an operation may take.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A runner ends processes with its uids when it starts, so each site has its own uids.
const FIRST_UID: u32 = 100_000_000;
const UIDS: u32 = 1000;

const TOKEN: &str = "a-token-of-the-test-that-is-long-enough";

/// The directory of a server and a runner during one test.
#[derive(Debug)]
pub struct Site {
    _swept: Swept,
    directory: ScratchDir,
    /// The CA that both trust.
    pub pki: Pki,
    /// The address of the server, which it keeps after a restart.
    pub address: SocketAddr,
    _port: Port,
    extras: Extras,
}

/// Additional settings of a site.
#[derive(Debug, Default)]
pub struct Extras {
    /// The tables for the server's store and outputs; empty for a file and a directory of the site.
    pub state: String,
    /// Tables for the server's configuration.
    pub server_tables: String,
    /// Tables for the runner's configuration.
    pub runner_tables: String,
    /// Host directories that the runner lets profiles show.
    pub bind_sources: Vec<String>,
    /// Variables of the runner's own environment that it lets profiles pass.
    pub pass_env: Vec<String>,
    /// Whether the runner permits commands outside the sandbox.
    pub unsandboxed: bool,
    /// The ports that the runner lets clients forward.
    pub port_forward: Vec<String>,
    /// Additional profiles for the agent: name and file.
    pub profiles: Vec<(String, String)>,
}

impl Site {
    /// Creates a site with default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Extras::default())
    }

    /// Creates a site with these additional tables in its configurations.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn with_tables(server_tables: &str, runner_tables: &str) -> Self {
        let (server_tables, runner_tables) = (server_tables.to_owned(), runner_tables.to_owned());
        Self::with(Extras { server_tables, runner_tables, ..Extras::default() })
    }

    /// Creates a site with these settings.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn with(extras: Extras) -> Self {
        let directory = ScratchDir::with_prefix("airlock-site-");
        let pki = Pki::new(&directory.path().join("pki"));
        let port = Port::reserve();
        let swept = Swept(directory.path().to_owned());
        let site = Self { _swept: swept, directory, pki, address: port.address, _port: port, extras };
        site.write();
        site
    }

    /// Returns the directory of this site.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a part of the path that is unique on this host.
    #[must_use]
    pub fn mark(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn write(&self) {
        let server = self.pki.issue("server", &["localhost"]);
        let runner = self.pki.issue("runner-1", &[]);
        let token = sha256(TOKEN.as_bytes());
        let other = sha256(self.other_token().as_bytes());
        let path = self.path().display();
        let own = format!("[store]\npath = \"{path}/airlock.db\"\n[outputs]\ndirectory = \"{path}/outputs\"");
        let state = if self.extras.state.is_empty() { &own } else { &self.extras.state };
        let profiles: String = self.extras.profiles.iter().map(|(name, _)| format!(", \"{name}\"")).collect();
        fs::write(
            self.path().join("server.toml"),
            format!(
                r#"server_id = "server-1"
[listen]
address = "{address}"
[listen.tls]
certificate = "{certificate}"
key = "{key}"
client_ca = "{ca}"
{state}
[profiles]
directory = "{path}/profiles"
default = "sandboxed"
[[identity]]
name = "agent"
tenant = "acme"
roles = ["executor", "approver", "admin"]
profiles = ["sandboxed", "strict", "demo", "read_only"{profiles}]
match = {{ token_sha256 = "{token}" }}
[[identity]]
name = "stranger"
tenant = "other"
roles = ["executor"]
profiles = ["strict"]
match = {{ token_sha256 = "{other}" }}
[[identity]]
name = "runner-1"
tenant = "system"
roles = ["runner"]
match = {{ common_name = "runner-1" }}
{tables}"#,
                address = self.address,
                certificate = server.certificate.display(),
                key = server.key.display(),
                ca = self.pki.ca().display(),
                tables = self.extras.server_tables,
            ),
        )
        .unwrap();
        fs::create_dir_all(self.path().join("profiles")).unwrap();
        for (name, text) in &self.extras.profiles {
            fs::write(self.path().join(format!("profiles/{name}.toml")), text).unwrap();
        }
        self.write_runner("runner-1", &runner);
    }

    /// Writes `NAME.toml` for a runner with this name and certificate.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write_runner(&self, name: &str, pair: &Pair) {
        self.write_runner_through(name, pair, self.address);
    }

    /// Like [`Site::write_runner`], for a runner that connects to the server through this loopback address.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write_runner_through(&self, name: &str, pair: &Pair, through: SocketAddr) {
        let path = self.path().display();
        fs::write(
            self.path().join(format!("{name}.toml")),
            format!(
                r#"runner_id = "{name}"
state_dir = "{path}/{name}"
[[server]]
endpoint = "https://localhost:{port}"
server_name = "localhost"
ca = "{ca}"
cert = "{cert}"
key = "{key}"
[uids]
first = {first_uid}
count = {UIDS}
[floor]
servers = ["localhost"]
bind_sources = {binds:?}
pass_env = {pass:?}
port_forward = {ports:?}
unsandboxed = {unsandboxed}
[bases]
base = "{path}/base"
{tables}"#,
                binds = self.extras.bind_sources,
                pass = self.extras.pass_env,
                ports = self.extras.port_forward,
                unsandboxed = self.extras.unsandboxed,
                tables = self.extras.runner_tables,
                port = through.port(),
                first_uid = self.uids().start,
                ca = self.pki.ca().display(),
                cert = pair.certificate.display(),
                key = pair.key.display(),
            ),
        )
        .unwrap();
        fs::create_dir_all(self.path().join("base")).unwrap();
    }

    /// Returns the host uids that its runners assign to their sessions.
    #[must_use]
    pub fn uids(&self) -> std::ops::Range<u32> {
        let first = FIRST_UID + u32::from(self.address.port()) * UIDS;
        first..first + UIDS
    }

    /// Returns the directory of the base `base`.
    #[must_use]
    pub fn base(&self) -> PathBuf {
        self.path().join("base")
    }

    /// Starts the server with these additional variables.
    #[must_use]
    pub fn server(&self, env: &[(&str, &str)]) -> Process {
        self.start("airlock-server", "server", env)
    }

    /// Starts the runner.
    #[must_use]
    pub fn runner(&self, env: &[(&str, &str)]) -> Process {
        self.start("airlock-runner", "runner-1", env)
    }

    fn start(&self, name: &str, config: &str, env: &[(&str, &str)]) -> Process {
        let mut command = self.command(name, config);
        command.envs(env.iter().copied());
        Process::start(&mut command, &self.log(config))
    }

    /// Returns the program with this configuration, not started yet.
    #[must_use]
    pub fn command(&self, name: &str, config: &str) -> Command {
        let mut command = Command::new(program(name));
        command.arg("--config").arg(self.path().join(format!("{config}.toml")));
        command
    }

    /// Returns the log file of the program with this configuration.
    #[must_use]
    pub fn log(&self, config: &str) -> PathBuf {
        self.path().join(format!("{config}.log"))
    }

    /// Returns the agent's settings for the server.
    ///
    /// # Panics
    /// If the CA certificate is missing.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings_with(TOKEN)
    }

    /// Returns settings for the server with another token.
    ///
    /// # Panics
    /// If the CA certificate is missing.
    #[must_use]
    pub fn settings_with(&self, token: &str) -> Settings {
        let mut settings = Settings::new(format!("https://localhost:{}", self.address.port()));
        settings.ca = Some(fs::read(self.pki.ca()).unwrap());
        settings.credentials = Credentials::Token(token.to_owned());
        settings
    }

    /// Returns the token of an executor of another tenant.
    #[must_use]
    pub fn other_token(&self) -> &'static str {
        "another-token-of-the-test-that-is-long-enough"
    }

    /// Returns a client for the agent when the server responds.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn client(&self) -> Client {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            match Client::connect(self.settings()).await {
                Ok(client) => return client,
                Err(error) => assert!(tokio::time::Instant::now() < deadline, "no server: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns a client when a runner is also connected.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn ready(&self) -> Client {
        let client = self.client().await;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let page = client.admin().runners(AdminServiceListRunnersRequest::default()).await;
            if page.is_ok_and(|page| page.runners.iter().any(|runner| runner.state == 1)) {
                return client;
            }
            assert!(tokio::time::Instant::now() < deadline, "no runner; see {}", self.path().display());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sets the environment of the `airlock` command to this site's server and the agent.
    ///
    /// # Panics
    /// If the token file cannot be written.
    pub fn point(&self, command: &mut Command) {
        let token = self.path().join("token");
        fs::write(&token, TOKEN).unwrap();
        command
            .env("AIRLOCK_ADDRESS", format!("https://localhost:{}", self.address.port()))
            .env("AIRLOCK_CA", self.pki.ca())
            .env("AIRLOCK_TOKEN_FILE", token);
    }

    /// Keeps the directory, for an examination after a failure.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the SHA-256 in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    hex::encode(sha2::Sha256::digest(bytes))
}

/// Removes the cgroups of killed runners below this directory on drop.
#[derive(Debug)]
struct Swept(PathBuf);

impl Drop for Swept {
    fn drop(&mut self) {
        sweep(&self.0);
    }
}

/// Removes the cgroups of killed runners with state directories in this directory.
pub(crate) fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Err(error) = airlock_sandbox::sweep_cgroups(&entry.path().join("launcher")) {
            eprintln!("a cgroup is left behind: {error}");
        }
    }
}
