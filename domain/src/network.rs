//! Rules about the hosts that a command can reach.
//!
//! The entries are texts. This module limits their number and size, and must not interpret them.

use serde::{Deserialize, Serialize};

use crate::{
    encoding::is_false,
    limits::{NETWORK_BYTES, NETWORK_ENTRIES},
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
}

impl NetworkRules {
    /// Reports whether the rules allow no host at all.
    #[must_use]
    pub fn allow_nothing(&self) -> bool {
        !self.any && self.allow.is_empty()
    }

    /// Returns the size of all entries in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.allow.iter().chain(&self.deny).map(String::len).sum()
    }

    /// Returns the limit that the rules exceed, in words.
    #[must_use]
    pub fn beyond_limit(&self) -> Option<String> {
        let bytes = self.bytes();
        match self.allow.len().max(self.deny.len()) {
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
