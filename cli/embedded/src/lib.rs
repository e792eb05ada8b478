//! A server and a runner in one process, with SQLite and local directories, for `airlock dev` and `airlock run
//! --local`. They communicate over TLS on loopback, as separate processes do.
//!
//! Nothing here bypasses a check: the server decides, and the runner enforces its floor.

#![forbid(unsafe_code)]

mod error;
pub mod keys;
pub mod state;
mod uids;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airlock_config::OrNone;
use airlock_domain::{Bind, NetworkRules, PortRange};
use airlock_mounts::TemporaryDir;
use airlock_runner::{Runner, RunnerConfig, RunningRunner};
use airlock_server::{
    config::{self, ClientCertificates, Config, Ground, Identity, Listen, Match, RoleName, Tls},
    model::ANY_PROFILE,
    telemetry::Telemetry,
    wiring::{LocalEngines, Options as ServerOptions, RunningServer, Server, StartError},
};

pub use error::DevError;
pub use keys::KeysError;

use crate::state::{Connection, StateDirectory, StateLock, read_bounded};
use airlock_client::{Credentials, Settings};
use keys::Keys;
pub use uids::UidBlock;

/// The default profile: for a person's own machine, on which agents work all day.
pub const PROFILE: &str = "agent";
/// The presets of the hosts that the default profile can reach.
pub const NETWORK: [&str; 6] = ["pypi", "npm", "crates", "debian", "github", "go"];
/// The name of the only user, and of its tenant.
const NAME: &str = "dev";
/// The time in which the runner must connect to the server.
const LINK_TIMEOUT: Duration = Duration::from_secs(30);
const LINK_PAUSE: Duration = Duration::from_millis(5);
const FILE_BYTES: u64 = 64 * 1024;

/// The options of an instance.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on; loopback only.
    pub listen: SocketAddr,
    /// The default profile.
    pub profile: String,
    /// A directory with further profiles.
    pub profiles: Option<PathBuf>,
    /// Directories that workspaces can be copied from, by name.
    pub bases: Vec<(String, PathBuf)>,
    /// The URL of an OTLP collector.
    pub otlp: Option<String>,
    /// The log filter for standard error.
    pub log: String,
    /// The time that running commands have to end when the instance is stopped.
    pub drain: Duration,
    /// A directory with a root file system that replaces the host's own programs.
    pub rootfs: Option<PathBuf>,
    /// Directories and files of the host, each with the path at which it is shown read-only.
    pub binds: Vec<(PathBuf, String)>,
    /// The hosts that commands can reach with the profile `agent`, and at most with other profiles.
    pub network: Vec<String>,
    /// The longest timeout that a request may set. `None`: the limit is that of the profile and the runner's floor.
    pub max_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            profile: PROFILE.to_owned(),
            profiles: None,
            bases: Vec::new(),
            otlp: None,
            log: "warn".to_owned(),
            drain: Duration::from_secs(3),
            rootfs: None,
            binds: Vec::new(),
            network: NETWORK.map(str::to_owned).to_vec(),
            max_timeout: None,
        }
    }
}

/// A running instance: a server and a runner. Stop it with [`Dev::stop`]; dropping it ends everything at once.
pub struct Dev {
    directory: StateDirectory,
    connection: Connection,
    // Fields are dropped in this order: the runner before its server, the lock of the directory last.
    runner: RunningRunner,
    server: RunningServer,
    _uids: Option<UidBlock>,
    _lock: StateLock,
    temporary: Option<TemporaryDir>,
}

impl Dev {
    /// Starts an instance in a state directory. When this returns, the instance accepts commands. Installs a global
    /// subscriber for logs and traces, if there is none yet.
    ///
    /// # Errors
    /// See [`DevError`]. After an error nothing runs.
    pub async fn start(directory: StateDirectory, options: Options) -> Result<Self, DevError> {
        Self::start_in(directory, None, options).await
    }

    /// Starts an instance in a temporary directory that is removed with it.
    ///
    /// # Errors
    /// As for [`Dev::start`].
    pub async fn start_temporary(options: Options) -> Result<Self, DevError> {
        let temporary = TemporaryDir::new("airlock-local-").map_err(DevError::Temporary)?;
        let directory = StateDirectory::locate(Some(temporary.path()))?;
        Self::start_in(directory, Some(temporary), options).await
    }

    async fn start_in(
        directory: StateDirectory,
        temporary: Option<TemporaryDir>,
        options: Options,
    ) -> Result<Self, DevError> {
        if !options.listen.ip().is_loopback() {
            return Err(DevError::NotLoopback(options.listen));
        }
        let lock = directory.take()?;
        let keys = Keys::ensure(&directory.path().join("keys"), SystemTime::now())?;
        let uids = UidBlock::reserve(directory.path())?;

        let ground = ground(&options)?;
        let config = server_config(&directory, &options, &keys, ground.clone())?;
        // This check is first, because its error messages are better than those of the telemetry's start.
        Server::check(&config).map_err(|error| match error {
            StartError::Profiles(error) => DevError::Profiles(error),
            error => DevError::Server(error),
        })?;
        let telemetry = Telemetry::start(&config.telemetry, NAME).map_err(DevError::Telemetry)?;
        // An existing subscriber keeps receiving logs and traces.
        let _ = telemetry.install();
        let parts = ServerOptions { telemetry: Some(telemetry), ..ServerOptions::new(&LocalEngines) };
        let server = Server::start_with(config, parts).await.map_err(DevError::Server)?;
        let address = format!("https://{}", server.local_addr());

        let config =
            runner_config(&directory, (&options, ground), &keys, uids.as_ref(), server.local_addr())?;
        let started = match Runner::start(config).await {
            Ok(runner) => linked(runner).await,
            Err(error) => Err(DevError::Runner(error)),
        };
        let runner = match started {
            Ok(runner) => runner,
            Err(error) => {
                server.shut_down().await;
                return Err(error);
            }
        };
        let connection = Connection {
            address,
            ca: keys.ca,
            token_file: keys.token_file,
            pid: std::process::id(),
            profile: options.profile,
            profiles: options.profiles,
        };
        directory.publish(&connection)?;
        Ok(Self { directory, connection, runner, server, _uids: uids, _lock: lock, temporary })
    }

    /// Returns the address: `https://HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.connection.address
    }

    /// Returns the state directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the file with the CA certificate of the server.
    #[must_use]
    pub fn ca(&self) -> &Path {
        &self.connection.ca
    }

    /// Returns the file with the token of a client.
    #[must_use]
    pub fn token_file(&self) -> &Path {
        &self.connection.token_file
    }

    /// Returns the settings for a client.
    ///
    /// # Errors
    /// [`DevError::State`] if the instance's own files cannot be read.
    pub fn settings(&self) -> Result<Settings, DevError> {
        let token = read_bounded(&self.connection.token_file, FILE_BYTES)?;
        let mut settings = Settings::new(self.address());
        settings.ca = Some(read_bounded(&self.connection.ca, FILE_BYTES)?);
        settings.credentials = Credentials::Token(String::from_utf8_lossy(&token).trim().to_owned());
        Ok(settings)
    }

    /// Returns only if the server ends without a request, with the reason. Cancel-safe.
    pub async fn wait(&mut self) -> DevError {
        DevError::Ended(self.server.wait().await)
    }

    /// Takes no new work, lets commands run for the drain time, ends them, and stops. Returns the number of
    /// commands that were ended. Not cancel-safe: do not drop the future.
    pub async fn stop(self) -> usize {
        self.directory.withdraw();
        let cut = self.runner.shut_down().await;
        self.server.shut_down().await;
        if let Some(Err(error)) = self.temporary.map(TemporaryDir::close) {
            tracing::warn!(%error, "cannot remove the temporary state directory");
        }
        cut
    }
}

/// Waits until the runner has connected to the server.
async fn linked(runner: RunningRunner) -> Result<RunningRunner, DevError> {
    let linked = async {
        while !runner.is_linked() {
            tokio::time::sleep(LINK_PAUSE).await;
        }
    };
    if tokio::time::timeout(LINK_TIMEOUT, linked).await.is_err() {
        runner.shut_down().await;
        return Err(DevError::NotLinked);
    }
    Ok(runner)
}

fn server_config(
    directory: &StateDirectory,
    options: &Options,
    keys: &Keys,
    ground: Ground,
) -> Result<Config, DevError> {
    let mut server = Config::embedded(NAME, directory.path());
    server.listen = Listen {
        address: options.listen,
        probes: None,
        insecure_loopback: false,
        tls: Some(Tls {
            certificate: keys.server.certificate.clone(),
            key: keys.server.key.clone(),
            client_ca: Some(keys.ca.clone()),
            client_certificates: ClientCertificates::Optional,
        }),
    };
    server.profiles = config::Profiles {
        directory: options.profiles.clone(),
        default: options.profile.clone(),
        self_approval: true,
        ground,
    };
    server.identities = identities(options, keys);
    server.telemetry.otlp_endpoint.clone_from(&options.otlp);
    server.telemetry.service_name = "airlock-dev".to_owned();
    server.telemetry.log_level.clone_from(&options.log);
    Ok(server)
}

/// Returns the directories and files of the host that the profiles show, by their real paths.
fn ground(options: &Options) -> Result<Ground, DevError> {
    let real = |path: &PathBuf| {
        let shown = std::fs::canonicalize(path).and_then(|real| {
            real.into_os_string().into_string().map_err(|_| std::io::ErrorKind::InvalidFilename.into())
        });
        shown.map_err(|source| DevError::Shown { path: path.clone(), source })
    };
    let system = if options.rootfs.is_some() { Vec::new() } else { airlock_runner::shown_of_host() };
    let mut root_binds: Vec<Bind> = Vec::new();
    for (source, target) in &options.binds {
        if let Some(directory) = read_only_without(&system, &root_binds, target) {
            return Err(DevError::NoPlace { target: target.clone(), directory });
        }
        root_binds.push(Bind { source: real(source)?, target: target.clone() });
    }
    Ok(Ground {
        rootfs: options.rootfs.as_ref().map(real).transpose()?,
        root_binds,
        network: NetworkRules { allow: options.network.clone(), ..NetworkRules::default() },
        port_forward: vec![PortRange::ALL],
        timeout_max: options.max_timeout,
    })
}

/// Returns a directory that is shown read-only and does not contain the target. The target can therefore not be mounted
/// there.
fn read_only_without(system: &[PathBuf], root_binds: &[Bind], target: &str) -> Option<String> {
    let bound = root_binds.iter().map(|bind| (Path::new(&bind.source), Path::new(&bind.target)));
    let mut shown = bound.chain(system.iter().map(|path| (path.as_path(), path.as_path())));
    let (_, directory) = shown.find(|(source, directory)| {
        let below =
            Path::new(target).strip_prefix(directory).ok().filter(|below| !below.as_os_str().is_empty());
        below.is_some_and(|below| !source.join(below).exists())
    })?;
    Some(directory.display().to_string())
}

/// Returns the identity of the user, with all roles, that of an agent, and that of the runner.
fn identities(options: &Options, keys: &Keys) -> Vec<Identity> {
    let user = Identity {
        name: NAME.to_owned(),
        tenant: NAME.to_owned(),
        roles: vec![RoleName::Executor, RoleName::Approver, RoleName::Auditor, RoleName::Admin],
        // This includes profiles that are added to the directory while the instance runs.
        profiles: vec![options.profile.clone(), ANY_PROFILE.to_owned()],
        matches: Match::TokenSha256(keys.token_sha256.clone()),
        runner_ids: Vec::new(),
    };
    // It runs commands with the default profile, and approves nothing.
    let agent = Identity {
        name: keys::AGENT_NAME.to_owned(),
        tenant: NAME.to_owned(),
        roles: vec![RoleName::Executor],
        profiles: Vec::new(),
        matches: Match::TokenSha256(keys.agent_sha256.clone()),
        runner_ids: Vec::new(),
    };
    let runner = Identity {
        name: keys::RUNNER_NAME.to_owned(),
        tenant: NAME.to_owned(),
        roles: vec![RoleName::Runner],
        profiles: Vec::new(),
        matches: Match::CommonName(keys::RUNNER_NAME.to_owned()),
        runner_ids: Vec::new(),
    };
    vec![user, agent, runner]
}

fn runner_config(
    directory: &StateDirectory,
    (options, ground): (&Options, Ground),
    keys: &Keys,
    uids: Option<&UidBlock>,
    server: SocketAddr,
) -> Result<RunnerConfig, DevError> {
    let dial = airlock_runner::config::ServerConfig {
        endpoint: format!("https://{server}"),
        server_name: Some(keys::SERVER_NAME.to_owned()),
        ca: Some(keys.ca.clone()),
        cert: Some(keys.runner.certificate.clone()),
        key: Some(keys.runner.key.clone()),
        insecure_loopback: false,
        discover: false,
    };
    let mut config = RunnerConfig::new(keys::RUNNER_NAME, directory.path().join("runner"), dial);
    if let Some(uids) = uids {
        config.uids.first = uids.first();
        config.uids.count = uids::COUNT;
    }
    config.drain.grace = options.drain;
    let Ground { rootfs, root_binds, network, port_forward, timeout_max } = ground;
    config.floor.rootfs.extend(rootfs.map(PathBuf::from));
    config.floor.bind_sources.extend(root_binds.into_iter().map(|bind| PathBuf::from(bind.source)));
    config.floor.network = OrNone(Some(network.into()));
    config.floor.port_forward = port_forward;
    config.floor.max_timeout = timeout_max.unwrap_or(config.floor.max_timeout);
    for (name, path) in &options.bases {
        let bad = |source| DevError::Base { name: name.clone(), path: path.clone(), source };
        let path = std::fs::canonicalize(path).map_err(bad)?;
        if !path.is_dir() {
            return Err(bad(std::io::ErrorKind::NotADirectory.into()));
        }
        if std::fs::canonicalize(directory.path()).is_ok_and(|state| state.starts_with(&path)) {
            return Err(DevError::BaseHoldsState { base: path, state: directory.path().to_owned() });
        }
        if config.bases.insert(name.clone(), path).is_some() {
            return Err(DevError::BaseTwice(name.clone()));
        }
    }
    Ok(config)
}
