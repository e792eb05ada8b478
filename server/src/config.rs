//! The server's configuration: one TOML file, parsed into types at start.
//!
//! Unknown fields are refused, every limit has a name, and fields are checked across. Every problem is
//! reported at once, with file, line, field and cure. Nothing here opens a socket or a store.

mod check;
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
    /// Names this server in the store, in leases and to runners; unique among servers of one store. Without
    /// one, the host's name.
    #[serde(default = "airlock_config::host_name")]
    pub server_id: String,
    /// Where it listens.
    pub listen: Listen,
    /// What it remembers.
    pub store: Store,
    /// Where finished output is kept.
    pub outputs: Outputs,
    /// What policy decides by.
    #[serde(default)]
    pub profiles: Profiles,
    /// Who may call.
    #[serde(default, rename = "identity")]
    pub identities: Vec<Identity>,
    /// What is otherwise for single tenants.
    #[serde(default, rename = "tenant")]
    pub tenants: Vec<Tenant>,
    /// At most so much of everything.
    #[serde(default)]
    pub limits: Limits,
    /// The link to runners.
    #[serde(default)]
    pub link: Link,
    /// The other servers of the same store; none: this is the only one, or none of them is asked for anything.
    pub peers: Option<Peers>,
    /// Traces, metrics and logs.
    #[serde(default)]
    pub telemetry: Telemetry,
}

impl Config {
    /// A configuration for a server inside another program: plain text on a loopback port of the
    /// system's choice, state under `state`, nobody known yet.
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

    /// Reads, parses and checks `file`, the files that it names included. Blocks.
    ///
    /// # Errors
    /// Everything that is wrong, as far as it can be told at once: first what each key holds, then what
    /// holds across them, then the files.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = airlock_config::read(file)?;
        let name = file.display().to_string();
        let config = Self::parse(&text, &name)?;
        ConfigError::unless_right(&name, Some(&text), config.file_problems())?;
        Ok(config)
    }

    /// Parses and checks a configuration, but not whether the files that it names are there.
    ///
    /// # Errors
    /// As [`Config::load`]; `name` is what errors call the file.
    pub fn parse(text: &str, name: &str) -> Result<Self, ConfigError> {
        let config: Self = airlock_config::parse(text, name, schema::SCHEMA)?;
        ConfigError::unless_right(name, Some(text), config.problems())?;
        Ok(config)
    }

    /// Sets where the other servers of the store reach this one: `https://HOST:PORT`, or an IP address alone, to which the
    /// port of `listen.address` is added. Returns whether there are any: without `peers` nothing is set. It is not
    /// checked: see [`Config::check`].
    pub fn advertise(&mut self, place: &str) -> bool {
        let Some(peers) = &mut self.peers else { return false };
        peers.advertise = Some(match place.parse::<IpAddr>() {
            Ok(address) => format!("https://{}", SocketAddr::new(address, self.listen.address.port())),
            Err(_) => place.to_owned(),
        });
        true
    }

    /// Checks across the fields of a configuration that was made by a program, and the files that it
    /// names. The range of each single field is the program's own care.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut problems = self.problems();
        problems.extend(self.file_problems());
        ConfigError::unless_right("configuration", None, problems)
    }
}

#[cfg(test)]
mod tests;
