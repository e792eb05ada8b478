//! Rules about the hosts that a command can reach.
//!
//! The entries are texts. This module limits their number and size, and must not interpret them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    encoding::is_false,
    limits::{CONNECTION_WAIT_MAX, NETWORK_BYTES, NETWORK_ENTRIES},
};

/// Rules about the hosts that a command can reach. `deny` takes precedence over `allow` and `any`. All entries together
/// have at most [`NETWORK_BYTES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRules {
    /// Allows every public host on the ports 80 and 443.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any: bool,
    /// Allowed hosts: presets, names, addresses. At most [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Denied hosts. At most [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Lets public hosts through that the rules do not allow, and reports them. Other rules can still refuse them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warn: bool,
    /// Hosts that a person is asked about before each connection. Only a profile has such entries. At most
    /// [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
}

/// The questions about connections that a running command makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionQuestions {
    /// The targets, as `HOST:PORT`, that the approved text of the command names. They are not asked about again. At most
    /// [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
    /// The time for which a connection waits for an answer. At most [`CONNECTION_WAIT_MAX`]. Zero: it does not wait, and
    /// is refused.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub wait: Duration,
}

impl ConnectionQuestions {
    /// Reports whether no target is answered, and no connection waits.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limit that the fields exceed, in words.
    #[must_use]
    pub fn beyond_limit(&self) -> Option<String> {
        if self.wait > CONNECTION_WAIT_MAX {
            return Some(format!("a connection waits for at most {} seconds", CONNECTION_WAIT_MAX.as_secs()));
        }
        NetworkRules { allow: self.answered.clone(), ..NetworkRules::default() }.beyond_limit()
    }
}

/// The requests that a profile permits inside TLS, and the secrets that the runner's proxy inserts into them. Both can
/// only narrow: they allow no host, and the runner's configuration binds each secret. All entries together have at most
/// [`NETWORK_BYTES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The hosts whose TLS is inspected, and the requests that are permitted to them. At most [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// Names of secrets, each alone or with requests that it is limited to. At most [`NETWORK_ENTRIES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl Inspection {
    /// Reports whether nothing is inspected.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.requests.is_empty() && self.secrets.is_empty()
    }

    /// Returns the limit that the entries exceed, in words.
    #[must_use]
    pub fn beyond_limit(&self) -> Option<String> {
        let Self { requests, secrets } = self.clone();
        NetworkRules { allow: requests, deny: secrets, ..NetworkRules::default() }.beyond_limit()
    }
}

impl NetworkRules {
    /// Reports whether the rules let no host through at all.
    #[must_use]
    pub fn allow_nothing(&self) -> bool {
        !self.any && self.allow.is_empty() && self.ask.is_empty() && !self.warn
    }

    /// Returns the size of all entries in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.allow.iter().chain(&self.deny).chain(&self.ask).map(String::len).sum()
    }

    /// Returns the limit that the rules exceed, in words.
    #[must_use]
    pub fn beyond_limit(&self) -> Option<String> {
        let bytes = self.bytes();
        match self.allow.len().max(self.deny.len()).max(self.ask.len()) {
            most if most > NETWORK_ENTRIES => {
                Some(format!("a list has {most} entries, at most {NETWORK_ENTRIES}"))
            }
            _ if bytes > NETWORK_BYTES => {
                Some(format!("the entries have {bytes} bytes, at most {NETWORK_BYTES}"))
            }
            _ => None,
        }
    }
}
