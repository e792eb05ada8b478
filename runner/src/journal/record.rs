//! The format of the journal's records: one JSON document each.
//!
//! New kinds and fields may be added. The meaning of an existing one never changes.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    /// A new epoch, and the boot of the host that it belongs to.
    Boot {
        boot_id: String,
        epoch: String,
        intact: bool,
        /// Earlier epochs that are complete in this journal.
        #[serde(default)]
        vouched: Vec<String>,
    },
    /// Every server was told that earlier epochs may be incomplete.
    Told,
    Accepted {
        id: String,
        attempt: u32,
        epoch: String,
        session: String,
    },
    /// `result` is an encoded `airlock.v1.Result` in hex.
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
        // Serializing strings, numbers and lists of them to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(payload: &[u8]) -> Option<Self> {
        serde_json::from_slice(payload).ok()
    }
}
