//! The configuration: a TOML file, the environment and flags, parsed into types at the start. The module reads only the
//! configuration file; the code that uses certificates and tokens reads theirs.

mod check;
mod sections;

use std::{path::Path, sync::LazyLock};

use airlock_config::{Loaded, Schema};

pub use airlock_config::{ConfigError, Layers, Overrides};
pub use sections::{E2bConfig, KeyConfig, LimitsConfig, OnAsk, ServerConfig, TlsConfig};

/// The prefix of the variables that set a key.
pub const VARIABLES: &str = "AIRLOCK_E2B";

/// Returns the schema of the configuration.
#[must_use]
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<E2bConfig>);
    &SCHEMA
}

impl E2bConfig {
    /// Reads, merges and checks the layers. Blocks.
    ///
    /// # Errors
    /// Returns every problem with its origin, key and remedy.
    pub fn load(layers: &Layers) -> Result<Self, ConfigError> {
        Self::checked(layers.load(schema())?)
    }

    /// Reads and checks a text. `path` is used in errors only.
    ///
    /// # Errors
    /// See [`E2bConfig::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::checked(Loaded::parse(text, &path.display().to_string(), &Overrides::default(), schema())?)
    }

    fn checked(loaded: Loaded<Self>) -> Result<Self, ConfigError> {
        loaded.unless_right(check::problems(&loaded.config))?;
        Ok(loaded.config)
    }

    /// Returns each file that the configuration names, with its key.
    #[must_use]
    pub fn files(&self) -> Vec<(String, &Path)> {
        let mut files = vec![("server.ca".to_owned(), self.server.ca.as_path())];
        if let Some(tls) = &self.tls {
            files.push(("tls.certificate".to_owned(), &tls.certificate));
            files.push(("tls.key".to_owned(), &tls.key));
        }
        for (index, key) in self.keys.iter().enumerate() {
            let named = [("token_file", &key.token_file), ("cert", &key.cert), ("cert_key", &key.cert_key)];
            files.extend(
                named
                    .into_iter()
                    .filter_map(|(name, path)| Some((format!("key[{index}].{name}"), path.as_deref()?))),
            );
        }
        files
    }
}

#[cfg(test)]
mod tests;
