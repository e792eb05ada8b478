//! The server's configuration: one TOML file, parsed into types at start.
//!
//! Unknown fields are refused, every limit has a name, and fields are checked against each other. All
//! problems are reported together, with file, line, field and remedy. This module must not open a socket or a
//! store.

mod check;
mod duration;
pub(crate) mod engines;
mod identity;
mod named;
mod schema;
mod sections;

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
};

use serde::Deserialize;

pub use airlock_config::{ConfigError, Problem};
pub use engines::{DatabaseUrl, Postgres, S3};
pub use identity::{Identity, Match, RoleName, Tenant};
pub use sections::{
    ClientCertificates, Ground, Limits, Link, Listen, LogFormat, Outputs, Peers, Profiles, Store, Telemetry,
    Tls,
};

/// The whole configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name of this server in the store, in leases and to runners. Unique among the servers of one store.
    /// The default is the host name.
    #[serde(default = "airlock_config::host_name")]
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
    /// The other servers of the same store. `None`: this server makes no calls to other servers.
    pub peers: Option<Peers>,
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
            telemetry: Telemetry::default(),
        }
    }

    /// Reads, parses and checks `file` and the files that it names. Blocks.
    ///
    /// # Errors
    /// Returns all problems of the first stage that fails: the single keys, then the relations between keys,
    /// then the files.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = airlock_config::read(file)?;
        let name = file.display().to_string();
        let config = Self::parse(&text, &name)?;
        ConfigError::unless_right(&name, Some(&text), config.file_problems())?;
        Ok(config)
    }

    /// Parses and checks a configuration without the files that it names.
    ///
    /// # Errors
    /// See [`Config::load`]. `name` is the name of the file in errors.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        let config: Self = airlock_config::parse(text, name, schema::SCHEMA)?;
        ConfigError::unless_right(name, Some(text), config.problems())?;
        Ok(config)
    }

    /// Sets the address at which the other servers of the store reach this one: `https://HOST:PORT`, or only
    /// an IP address, which is combined with the port of `listen.address`. Without `peers`, nothing is set
    /// and the method returns false. The value is not checked; see [`Config::check`].
    pub fn advertise(&mut self, place: &str) -> bool {
        let Some(peers) = &mut self.peers else { return false };
        peers.advertise = Some(match place.parse::<IpAddr>() {
            Ok(address) => format!("https://{}", SocketAddr::new(address, self.listen.address.port())),
            Err(_) => place.to_owned(),
        });
        true
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
