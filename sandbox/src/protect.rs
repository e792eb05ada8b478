//! Protected names: files in a workspace or HOME that other programs run or obey. This module detects and reverts the
//! changes that commands make to them.
//!
//! A bind mount can protect only an existing directory entry. Masks therefore cover the names at the workspace's root,
//! and all others are compared after each command that could write. New and changed files are moved into a quarantine
//! next to the workspace, on its file system, and the previous files are restored.
//!
//! Synchronous and blocking. Must not depend on the results of executions, and must not delete files of a workspace.
//! The caller passes directory handles and, if possible, uses a thread with no more rights to files than the
//! session's user.

mod error;
mod folder;
mod git_config;
mod git_use;
mod guard;
mod index;
mod judge;
mod mark;
mod masks;
mod names;
mod planted;
mod scan;
mod scrub;
mod shape;
mod vault;

pub(crate) use git_config::all as git_settings;

use serde::{Deserialize, Serialize};

pub use error::ProtectError;
pub use git_use::{Extent, GitUses, Made};
pub use guard::{Begun, Guard, Watched};
pub use mark::Kind;
pub use masks::masks;
pub use names::Names;
pub use planted::{Grounds, Item, Plant, Planted, Suspects, Use, planted};

/// The name of the guard's directory, next to a session's workspace.
pub const FOLDER: &str = "protected";

/// The name of the directory for the guard of HOME, next to it.
pub const FOLDER_OF_HOME: &str = "protected-home";

/// The consequence if a command creates or changes a protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    /// The change is reported.
    Report,
    /// The change is reported and moved into quarantine.
    #[default]
    Quarantine,
    /// As `Quarantine`, and the command fails.
    Fail,
}

/// A profile's rules for protected names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The consequence of a violation.
    pub action: Action,
    /// Whether `.git` at the workspace's root can be written.
    pub git_writes: bool,
    /// Whether hooks, attributes and settings of an existing repository can be changed.
    pub git_config: bool,
    /// The protected names.
    pub names: Names,
}

impl Default for Rules {
    fn default() -> Self {
        Self { action: Action::default(), git_writes: true, git_config: false, names: Names::default() }
    }
}

/// A command that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writer {
    /// Its execution ID, for the quarantine.
    pub execution: String,
    /// Whether it can write to the workspace.
    pub writes: bool,
    /// Whether it runs outside the sandbox, where its processes may survive.
    pub outside: bool,
    /// The rules of its profile.
    pub rules: Rules,
    /// Its uses of git, from the decision.
    pub git: GitUses,
    /// The paths that it changes, from the decision, relative to the workspace.
    pub paths: Vec<Vec<u8>>,
    /// Its start directory, relative to the workspace.
    pub directory: Vec<u8>,
}

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
    /// When it was moved here, in microseconds since 1970.
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

const NAMES_LAYER: &str = "protected_names";
const GIT_LAYER: &str = "git";

impl Found {
    /// Builds the entry for a path that could not be read or moved.
    fn failed(layer: &'static str, kind: &'static str, path: Option<Vec<u8>>, error: &ProtectError) -> Self {
        Self { layer, kind, path, outcome: Outcome::Failed, quarantine: None, detail: error.to_string() }
    }
}

#[cfg(test)]
mod tests;
