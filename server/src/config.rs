//! The server's configuration: a TOML file, the environment and flags, parsed into types at start.
//!
//! The types are the only definition of the keys; their schema checks every single value. Fields are checked against
//! each other. All problems are reported together, with origin, field and remedy. This module must not open a socket
//! or a store.

mod check;
pub(crate) mod engines;
mod hooks;
mod identity;
mod limits;
mod sections;

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::LazyLock,
};

use airlock_config::{Loaded, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use airlock_config::{ConfigError, Layers, Overrides, Problem};
pub use engines::{DatabaseUrl, Postgres, S3};
pub use hooks::Hook;
pub use identity::{Identity, Match, RoleName, Tenant};
pub use limits::{Limits, Link};
pub use sections::{
    ClientCertificates, Ground, Listen, LogFormat, Outputs, Peers, Profiles, Store, Telemetry, Tls,
};

/// The prefix of the variables that set a key.
pub const VARIABLES: &str = "AIRLOCK_SERVER";
/// The variable that sets `peers.advertise`. Servers in pods share one configuration but have different addresses.
pub const ADVERTISE: &str = "AIRLOCK_ADVERTISE";

/// Returns the schema of the configuration.
#[must_use]
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Config>);
    &SCHEMA
}

/// The whole configuration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name of this server in the store, in leases and to runners. Unique among the servers of one store.
    #[serde(default = "airlock_config::host_name")]
    #[schemars(extend("x-default" = "the host name"))]
    pub server_id: String,
    /// The listener.
    pub listen: Listen,
    /// The store.
    pub store: Store,
    /// The storage of finished output.
    pub outputs: Outputs,
    /// The profiles.
    #[serde(default)]
    pub profiles: Profiles,
    /// The callers and their roles.
    #[serde(default, rename = "identity")]
    pub identities: Vec<Identity>,
    /// Settings for single tenants.
    #[serde(default, rename = "tenant")]
    pub tenants: Vec<Tenant>,
    /// The limits of this server.
    #[serde(default)]
    pub limits: Limits,
    /// The link to runners.
    #[serde(default)]
    pub link: Link,
    /// The other servers of the same store. Without this table, the server makes no calls to other servers.
    pub peers: Option<Peers>,
    /// Hooks by name. A profile selects hooks with its key `hooks`. docs/profiles.md lists the keys of each. A
    /// variable sets a hook as a whole.
    #[serde(default)]
    pub hooks: BTreeMap<String, Hook>,
    /// Traces, metrics and logs.
    #[serde(default)]
    pub telemetry: Telemetry,
}

impl Config {
    /// Returns a configuration for a server inside another program. It uses plain text on a loopback port
    /// that the system chooses, keeps its state under `state`, and has no identities.
    #[must_use]
    pub fn embedded(server_id: &str, state: &Path) -> Self {
        Self {
            server_id: server_id.to_owned(),
            listen: Listen::loopback(),
            store: Store::at(state.join("airlock.db")),
            outputs: Outputs::at(state.join("outputs")),
            profiles: Profiles::default(),
            identities: Vec::new(),
            tenants: Vec::new(),
            limits: Limits::default(),
            link: Link::default(),
            peers: None,
            hooks: BTreeMap::new(),
            telemetry: Telemetry::default(),
        }
    }

    /// Reads, merges and checks the layers, and the files that they name. Blocks.
    ///
    /// # Errors
    /// Returns all problems of the first stage that fails: the single keys, then the relations between keys,
    /// then the files.
    pub fn load(layers: impl Into<Layers>) -> Result<Self, ConfigError> {
        let mut loaded = layers.into().load::<Self>(schema())?;
        loaded.config.complete();
        loaded.unless_right(loaded.config.problems())?;
        loaded.unless_right(loaded.config.file_problems())?;
        Ok(loaded.config)
    }

    /// Parses and checks a text without the files that it names.
    ///
    /// # Errors
    /// See [`Config::load`]. `name` is the name of the file in errors.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, name, &Overrides::default())
    }

    /// Parses and checks a text with an environment and flags, without the files that they name.
    ///
    /// # Errors
    /// See [`Config::load`].
    pub fn parse_with(text: &str, name: &str, overrides: &Overrides) -> Result<Self, ConfigError> {
        let mut loaded = Loaded::<Self>::parse(text, name, overrides, schema())?;
        loaded.config.complete();
        loaded.unless_right(loaded.config.problems())?;
        Ok(loaded.config)
    }

    /// Combines an address without a port in `peers.advertise` with the port of `listen.address`.
    fn complete(&mut self) {
        let port = self.listen.address.port();
        let advertise = self.peers.as_mut().and_then(|peers| peers.advertise.as_mut());
        if let Some(advertise) = advertise
            && let Ok(address) = advertise.parse::<IpAddr>()
        {
            *advertise = format!("https://{}", SocketAddr::new(address, port));
        }
    }

    /// Returns every limit by name. Limits of `[link]` have the prefix `link.` and those of `[peers]` the
    /// prefix `peers.`. Sizes are in bytes, times in milliseconds.
    #[must_use]
    pub fn named_limits(&self) -> BTreeMap<String, u64> {
        limits::named(&self.limits, &self.link, self.peers.as_ref())
    }

    /// Checks the fields of a configuration from a program against each other, and the files that it names.
    /// The caller is responsible for the range of each single field.
    ///
    /// # Errors
    /// Returns all problems.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut problems = self.problems();
        problems.extend(self.file_problems());
        ConfigError::unless_right("configuration", None, problems)
    }
}

#[cfg(test)]
mod tests;
