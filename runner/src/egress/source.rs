//! The sources of secrets that the proxy inserts: files, and Vault. Must not log a value.

use airlock_egress::SecretValue;
use airlock_vault::{Address, AddressError, Place, Settings, Vault};

use crate::{
    config::{BoundSecret, EgressConfig, VaultConfig, VaultSecret},
    secrets::{fitting, of_file},
};

/// The sources of a runner's secrets.
pub(crate) struct Sources {
    vault: Option<Vault>,
}

impl Sources {
    /// Prepares the sources. Nothing is read.
    ///
    /// # Errors
    /// If the address of Vault is not usable.
    pub(crate) fn new(config: &EgressConfig) -> Result<Self, AddressError> {
        Ok(Self { vault: config.vault.as_ref().map(server).transpose()? })
    }

    /// Returns the server of secrets, if there is one.
    pub(crate) fn vault(&self) -> Option<&Vault> {
        self.vault.as_ref()
    }

    /// Reads the value of a secret. A file blocks for some milliseconds. Vault has its own timeout.
    ///
    /// # Errors
    /// A text that continues "the secret ...". It contains no value.
    pub(crate) async fn read(&self, bound: &BoundSecret) -> Result<SecretValue, String> {
        let value = match (&bound.file, &bound.vault, &self.vault) {
            (Some(file), None, _) => of_file(file)?,
            (None, Some(secret), Some(vault)) => {
                let place = place(secret).map_err(|error| format!("cannot be read: its place {error}"))?;
                let value = vault.read(&place).await;
                value.map_err(|error| format!("cannot be read: {error}"))?.as_bytes().to_vec()
            }
            _ => return Err("has no source; set `file`, or `vault` and `egress.vault`".to_owned()),
        };
        fitting(value).map(SecretValue::new)
    }
}

fn server(config: &VaultConfig) -> Result<Vault, AddressError> {
    Ok(Vault::new(Settings {
        address: Address::parse(&config.address, config.insecure_loopback)?,
        namespace: config.namespace.clone(),
        ca: config.ca.clone(),
        token_file: config.token_file.clone(),
        kubernetes_role: config.kubernetes_role.clone(),
        kubernetes_mount: config.kubernetes_mount.clone(),
        timeout: config.timeout,
        cache: config.cache,
    }))
}

fn place(secret: &VaultSecret) -> Result<Place, airlock_vault::PlaceError> {
    Place::new(&secret.mount, &secret.path, &secret.field, secret.kv_version)
}
