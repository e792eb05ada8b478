//! The keys of a table of network rules. Plain data; `check.rs` checks the entries.

use airlock_domain::NetworkRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules about the hosts that commands may reach, such as those of `floor.network`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// Whether every public host is allowed on the ports 80 and 443.
    pub any: bool,
    /// The allowed hosts.
    pub allow: Vec<String>,
    /// The denied hosts.
    pub deny: Vec<String>,
}

impl From<NetworkRules> for NetworkConfig {
    fn from(NetworkRules { any, allow, deny, warn: _, ask: _ }: NetworkRules) -> Self {
        Self { any, allow, deny }
    }
}

/// The floor cannot warn or ask, so that no profile exceeds it.
impl From<NetworkConfig> for NetworkRules {
    fn from(NetworkConfig { any, allow, deny }: NetworkConfig) -> Self {
        Self { any, allow, deny, ..Self::default() }
    }
}
