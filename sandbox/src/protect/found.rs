//! The changes that a comparison finds, and the items in quarantine.

use serde::{Deserialize, Serialize};

use super::error::ProtectError;
use super::mark::Kind;

pub(super) const NAMES_LAYER: &str = "protected_names";
pub(super) const GIT_LAYER: &str = "git";

/// The reason why an item is in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// A protected name was created.
    Created,
    /// A protected name was changed.
    Changed,
    /// A repository's configuration was changed to run programs.
    GitConfig,
    /// It made a directory look like a repository.
    BareRepository,
    /// It occupied the path of a restored file.
    Replaced,
    /// A protected name was removed. Only in a [`Found`], because there is no file to move.
    Removed,
}

impl Reason {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::GitConfig => "git_config",
            Self::BareRepository => "bare_repository",
            Self::Replaced => "replaced",
            Self::Removed => "removed",
        }
    }
}

/// An item in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The ID with which it can be restored.
    pub id: String,
    /// Its former path, relative to the workspace.
    pub path: Vec<u8>,
    /// Its file type.
    pub kind: Kind,
    /// Its permission bits.
    pub mode: u32,
    /// The size of a regular file, in bytes.
    pub size: u64,
    /// Its modification time, in microseconds since 1970.
    pub modified_micros: i64,
    /// The reason.
    pub reason: Reason,
    /// The time at which it was moved here, in microseconds since 1970.
    pub at_micros: i64,
    /// The command after which it was found. Empty if there is none.
    pub execution: String,
}

/// The action taken for a found change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It was only reported.
    Reported,
    /// It was moved into quarantine.
    Quarantined,
    /// It makes the command fail.
    Failed,
}

/// A change that was found before or after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `protected_names` or `git`.
    pub layer: &'static str,
    /// A stable name: that of a [`Reason`], `scan_failed` or `scrub_deferred`.
    pub kind: &'static str,
    /// The path relative to the workspace. `None` if it does not concern a path.
    pub path: Option<Vec<u8>>,
    /// The action taken.
    pub outcome: Outcome,
    /// The ID of its item in quarantine.
    pub quarantine: Option<String>,
    /// A description in one line.
    pub detail: String,
}

impl Found {
    /// Builds the entry for a path that could not be read or moved.
    pub(super) fn failed(
        layer: &'static str,
        kind: &'static str,
        path: Option<Vec<u8>>,
        error: &ProtectError,
    ) -> Self {
        Self { layer, kind, path, outcome: Outcome::Failed, quarantine: None, detail: error.to_string() }
    }
}
