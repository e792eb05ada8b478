//! The runner's configuration: TOML, typed, with a name for each limit, and checked across its fields at the start.
//!
//! It reads only the configuration file. The code that uses certificates and bases checks whether they exist.

mod check;
mod defaults;
mod duration;
mod schema;
mod sections;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use airlock_domain::RunnerId;

pub use airlock_config::{ConfigError, Problem};
pub use sections::{
    CgroupConfig, CgroupMode, DrainConfig, EnvConfig, FloorConfig, LimitsConfig, NetworkName,
    ReconnectConfig, RunnerConfig, SecretsConfig, ServerConfig, SpoolConfig, TelemetryConfig,
    TransfersConfig, UidConfig, WorkspaceBackend, WorkspaceConfig,
};

/// The name that errors use for a configuration without a file.
const NAME: &str = "runner configuration";

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
            env: EnvConfig::default(),
            limits: LimitsConfig::default(),
            transfers: TransfersConfig::default(),
            reconnect: ReconnectConfig::default(),
            spool: SpoolConfig::default(),
            drain: DrainConfig::default(),
            telemetry: TelemetryConfig::default(),
        }
    }

    /// Reads and checks the file. Blocks.
    ///
    /// # Errors
    /// Returns every problem with file, location, key and remedy: first invalid values, then conflicts between keys.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&airlock_config::read(path)?, path)
    }

    /// Reads and checks a text. `path` is used in errors only.
    ///
    /// # Errors
    /// See [`RunnerConfig::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let config: Self = airlock_config::parse(text, &name, schema::SCHEMA)?;
        ConfigError::unless_right(&name, Some(text), check::problems(&config))?;
        Ok(config)
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
