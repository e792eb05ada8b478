//! The runner's configuration: a TOML file, the environment and flags, parsed into types at the start.
//!
//! The types are the only definition of the keys; their schema checks every single value. Fields are checked against each
//! other. The module reads only the configuration file. The code that uses certificates and bases checks whether they exist.

mod check;
mod defaults;
mod egress;
mod network;
mod sections;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use airlock_config::{Loaded, Schema};
use airlock_domain::RunnerId;

pub use airlock_config::{ConfigError, Layers, Overrides, Problem};
pub use egress::{
    AwsConfig, BoundSecret, EgressConfig, ResolvedBy, UpstreamConfig, VaultConfig, VaultSecret,
};
pub use network::NetworkConfig;
pub use sections::{
    CgroupConfig, CgroupMode, DrainConfig, EnvConfig, FloorConfig, LimitsConfig, NetworkName,
    ReconnectConfig, RunnerConfig, SecretsConfig, ServerConfig, SpoolConfig, TelemetryConfig,
    TransfersConfig, UidConfig, WorkspaceBackend, WorkspaceConfig,
};

/// The name that errors use for a configuration without a file.
const NAME: &str = "runner configuration";
/// The prefix of the variables that set a key.
pub const VARIABLES: &str = "AIRLOCK_RUNNER";

/// Returns the schema of the configuration.
#[must_use]
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<RunnerConfig>);
    &SCHEMA
}

impl RunnerConfig {
    /// Returns a configuration with every default, for one server.
    #[must_use]
    pub fn new(runner_id: impl Into<String>, state_dir: impl Into<PathBuf>, server: ServerConfig) -> Self {
        let floor =
            FloorConfig { servers: server.server_name.iter().cloned().collect(), ..FloorConfig::default() };
        Self {
            runner_id: runner_id.into(),
            state_dir: state_dir.into(),
            slots: sections::slots(),
            bwrap: sections::bwrap(),
            servers: vec![server],
            bases: BTreeMap::new(),
            labels: BTreeMap::new(),
            uids: UidConfig::default(),
            cgroup: CgroupConfig::default(),
            workspace: WorkspaceConfig::default(),
            floor,
            secrets: SecretsConfig::default(),
            egress: EgressConfig::default(),
            env: EnvConfig::default(),
            limits: LimitsConfig::default(),
            transfers: TransfersConfig::default(),
            reconnect: ReconnectConfig::default(),
            spool: SpoolConfig::default(),
            drain: DrainConfig::default(),
            telemetry: TelemetryConfig::default(),
        }
    }

    /// Reads, merges and checks the layers. Blocks.
    ///
    /// # Errors
    /// Returns every problem with its origin, key and remedy: first invalid values, then conflicts between keys.
    pub fn load(layers: impl Into<Layers>) -> Result<Self, ConfigError> {
        Self::checked(layers.into().load(schema())?)
    }

    /// Reads and checks a text. `path` is used in errors only.
    ///
    /// # Errors
    /// See [`RunnerConfig::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::parse_with(text, path, &Overrides::default())
    }

    /// Checks a text with an environment and flags.
    ///
    /// # Errors
    /// See [`RunnerConfig::load`].
    pub fn parse_with(text: &str, path: &Path, overrides: &Overrides) -> Result<Self, ConfigError> {
        Self::checked(Loaded::parse(text, &path.display().to_string(), overrides, schema())?)
    }

    fn checked(loaded: Loaded<Self>) -> Result<Self, ConfigError> {
        loaded.unless_right(check::problems(&loaded.config))?;
        Ok(loaded.config)
    }

    /// Checks the relations between the fields of a configuration that a program built. The program must keep each
    /// single field within its range.
    ///
    /// # Errors
    /// See [`RunnerConfig::load`]. These errors have no locations.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_right(NAME, None, check::problems(self))
    }

    /// Returns the parsed name of the runner.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn id(&self) -> Result<RunnerId, ConfigError> {
        self.runner_id.parse().map_err(|error: airlock_domain::IdError| {
            ConfigError::whole(NAME, &error.to_string(), check::ID_CURE)
        })
    }
}

#[cfg(test)]
mod tests;
