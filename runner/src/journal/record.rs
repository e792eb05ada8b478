//! The journal's entries as they are written: one JSON document each.
//!
//! A new kind or field may be added; an old one never changes its meaning.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    /// A new epoch, and the host's boot it is in.
    Boot {
        boot_id: String,
        epoch: String,
        intact: bool,
        /// Epochs before it of which everything is in here.
        #[serde(default)]
        vouched: Vec<String>,
    },
    /// Every server was told that earlier epochs cannot be vouched for.
    Told,
    Accepted {
        id: String,
        attempt: u32,
        epoch: String,
        session: String,
    },
    /// `result` is `airlock.v1.Result`, encoded, in hex.
    Refused {
        id: String,
        attempt: u32,
        epoch: String,
        result: String,
    },
    Running {
        id: String,
    },
    /// `result` as in `Refused`.
    Ended {
        id: String,
        lost: bool,
        result: String,
    },
    Forgotten {
        ids: Vec<String>,
    },
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Strings, numbers and lists of them cannot fail to be written to memory.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }
}
