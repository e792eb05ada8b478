//! The keys of the runner's proxy. Plain data; `check.rs` checks it.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header of a secret without `header`.
const HEADER: &str = "authorization";

/// The settings of the runner's proxy. `floor.network` contains the hosts that it permits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressConfig {
    /// Certificate authorities of inspected hosts, PEM, in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// The proxy through which the runner's proxy connects to all hosts. Default: it connects itself.
    pub upstream: Option<UpstreamConfig>,
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

/// A secret that the proxy inserts into requests. The file is read for each command that uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundSecret {
    /// The file with the value. A final newline is not part of it.
    pub file: PathBuf,
    /// The requests that the value may go to, over TLS only: `[METHODS] HOST[:PORT][/PATH]`, such as
    /// `GET,POST api.github.com/repos/`. Without a port: 443.
    pub requests: Vec<String>,
    /// The header that may contain the value.
    #[serde(default = "header")]
    pub header: String,
    /// The key of AWS whose secret access key is in the file. It signs requests, so `header` and `variable` have no effect.
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
