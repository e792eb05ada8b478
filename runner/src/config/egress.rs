//! The keys of the runner's proxy. Plain data; `check.rs` checks it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use airlock_config::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header of a secret without `header`.
const HEADER: &str = "authorization";
/// The mount of secrets in Vault without `mount`.
const MOUNT: &str = "secret";
/// The mount of logins without `kubernetes_mount`.
const KUBERNETES: &str = "kubernetes";
/// The default of [`VaultConfig::timeout`].
const TIMEOUT: Duration = Duration::from_secs(5);
/// The default of [`VaultConfig::cache`].
const CACHE: Duration = Duration::from_secs(60);

/// The time that a command waits for its secrets.
type Wait = Time<100, 60_000>;
/// The time for which a secret is kept.
type Cache = Time<0, 3_600_000>;

/// The settings of the runner's proxy. `floor.network` contains the hosts that it permits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressConfig {
    /// Certificate authorities of inspected hosts, PEM, in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// The proxy through which the runner's proxy connects to all hosts. Default: it connects itself.
    pub upstream: Option<UpstreamConfig>,
    /// The server of the secrets that have `vault`.
    pub vault: Option<VaultConfig>,
    /// Secrets that the proxy inserts into requests, by name (letters, digits and `_`). A profile names them in
    /// `network.secrets`. No command and no server gets the value. docs/secrets.md lists the keys of each. A variable
    /// sets a secret as a whole.
    pub secrets: BTreeMap<String, BoundSecret>,
}

/// An HTTP proxy that opens tunnels by CONNECT, also to the ports 80 and those of `/tcp` entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// The address of the proxy: `http://HOST:PORT`.
    pub proxy: String,
    /// A file with `USER:PASSWORD`, which the runner reads when it starts.
    #[serde(default)]
    pub credential: Option<PathBuf>,
    /// Who resolves names.
    #[serde(default)]
    pub resolve: ResolvedBy,
}

/// A server with the API of HashiCorp Vault, such as OpenBao. The runner reads secrets from it, and writes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultConfig {
    /// The address: `https://HOST:PORT`. Without a port: 8200.
    pub address: String,
    /// Whether the address may be `http://` with a loopback address, such as that of an agent of Vault.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// A file with a token of Vault; with `kubernetes_role`, with the token of the runner's service account. A changed
    /// file needs no restart.
    pub token_file: PathBuf,
    /// The role of the login with the Kubernetes service account. Default: the token is one of Vault.
    #[serde(default)]
    pub kubernetes_role: Option<String>,
    /// The mount of the authentication method for that login.
    #[serde(default = "kubernetes")]
    pub kubernetes_mount: String,
    /// The namespace of secrets and logins.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The CA certificates that may have signed the server's certificate, PEM. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// The maximum time that a command waits for a secret.
    #[serde(default = "timeout", with = "Wait")]
    pub timeout: Duration,
    /// The maximum time for which the runner keeps a secret. A shorter lease of the secret shortens it.
    #[serde(default = "cache", with = "Cache")]
    pub cache: Duration,
}

/// The place of a secret in the key-value engine of Vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultSecret {
    /// The mount of the engine.
    #[serde(default = "mount")]
    pub mount: String,
    /// The path of the secret in the engine.
    pub path: String,
    /// The field with the value.
    pub field: String,
    /// The version of the engine.
    #[serde(default = "kv_version")]
    #[schemars(range(min = 1, max = 2))]
    pub kv_version: u8,
}

/// Who resolves the names of hosts, if there is an upstream proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// The runner. The upstream proxy gets the address that the runner has checked.
    #[default]
    Runner,
    /// The upstream proxy, which gets the name. The runner checks the addresses that it can resolve, and cannot ensure
    /// that the upstream proxy uses them.
    Upstream,
}

/// A secret that the proxy inserts into requests. It has either `file` or `vault`, and is read for each command that uses
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundSecret {
    /// The file with the value. A final newline is not part of it.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The place of the value in `egress.vault`.
    #[serde(default)]
    pub vault: Option<VaultSecret>,
    /// The requests that the value may go to, over TLS only: `[METHODS] HOST[:PORT][/PATH]`, such as
    /// `GET,POST api.github.com/repos/`. Without a port: 443.
    pub requests: Vec<String>,
    /// The header that may contain the value.
    #[serde(default = "header")]
    pub header: String,
    /// The key of AWS whose secret access key the value is. It signs requests, so `header` and `variable` have no effect.
    #[serde(default)]
    pub aws: Option<AwsConfig>,
    /// The variable in which a command finds the placeholder. Default: the name of the secret.
    #[serde(default)]
    pub variable: Option<String>,
}

/// A key of AWS that signs requests to one service in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsConfig {
    /// The access key ID.
    pub access_key_id: String,
    /// The region in signatures, such as `eu-central-1`.
    pub region: String,
    /// The service in signatures, such as `s3`.
    pub service: String,
}

fn header() -> String {
    HEADER.to_owned()
}

fn mount() -> String {
    MOUNT.to_owned()
}

fn kubernetes() -> String {
    KUBERNETES.to_owned()
}

fn timeout() -> Duration {
    TIMEOUT
}

fn cache() -> Duration {
    CACHE
}

fn kv_version() -> u8 {
    2
}
