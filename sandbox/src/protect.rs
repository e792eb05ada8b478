//! Protected names: what in a workspace, and in HOME, other programs run or obey,
//! held against what commands make of it.
//!
//! A bind guards a directory entry, and none that is absent: masks cover what is at
//! the workspace's root, and everything else is compared after each command that
//! could write. What was made or changed is moved into a quarantine beside the
//! workspace, on its file system, and what stood there before is put back.
//!
//! Plain and blocking: must not know of executions' results, and must not delete
//! anything of a workspace. The caller gives it directory handles and, where it can,
//! a thread with no more rights to files than the session's user.

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

/// The name of the guard's folder, beside a session's workspace.
pub const FOLDER: &str = "protected";

/// The same of its HOME, beside that.
pub const FOLDER_OF_HOME: &str = "protected-home";

/// What follows when a command makes or changes a protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    /// It is said.
    Report,
    /// It is moved into quarantine.
    #[default]
    Quarantine,
    /// The same, and the command has failed.
    Fail,
}

/// What a profile says of protected names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// What follows.
    pub action: Action,
    /// Whether `.git` at the workspace's root can be written.
    pub git_writes: bool,
    /// Whether hooks, attributes and settings of a repository that is there can be changed.
    pub git_config: bool,
    /// Which names they are.
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
    /// Names it in the quarantine.
    pub execution: String,
    /// Whether the workspace is writable for it.
    pub writes: bool,
    /// Whether it runs outside the sandbox, where something of it may be left.
    pub outside: bool,
    /// Its profile's.
    pub rules: Rules,
    /// What it was decided to do with git.
    pub git: GitUses,
    /// The paths that it was decided to change, relative to the workspace.
    pub paths: Vec<Vec<u8>>,
    /// Where it starts, relative to the workspace.
    pub directory: Vec<u8>,
}

/// Why something is in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// A protected name was made.
    Created,
    /// A protected name was changed.
    Changed,
    /// A repository was made to run programs.
    GitConfig,
    /// It made a folder look like a repository.
    BareRepository,
    /// It stood where something was given back.
    Replaced,
    /// A protected name was removed. Of a [`Found`] only: there is nothing to move.
    Removed,
}

impl Reason {
    /// The stable name.
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
    /// By which it is given back.
    pub id: String,
    /// Where it was, relative to the workspace.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Of a regular file, in bytes.
    pub size: u64,
    /// When it was written, in microseconds since 1970.
    pub modified_micros: i64,
    /// Why it is here.
    pub reason: Reason,
    /// When it came, in microseconds since 1970.
    pub at_micros: i64,
    /// At the end of which command it was found; empty if of none.
    pub execution: String,
}

/// What was done about something that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Nothing more.
    Reported,
    /// It is in quarantine.
    Quarantined,
    /// It makes the command's failure.
    Failed,
}

/// Something that was found before or after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `protected_names` or `git`.
    pub layer: &'static str,
    /// A stable name: that of a [`Reason`], `scan_failed`, `scrub_deferred`.
    pub kind: &'static str,
    /// Relative to the workspace; none where it is not about a path.
    pub path: Option<Vec<u8>>,
    /// What was done.
    pub outcome: Outcome,
    /// Its item in the quarantine.
    pub quarantine: Option<String>,
    /// One line.
    pub detail: String,
}

const NAMES_LAYER: &str = "protected_names";
const GIT_LAYER: &str = "git";

impl Found {
    /// What could not be looked at, or not be moved.
    fn failed(layer: &'static str, kind: &'static str, path: Option<Vec<u8>>, error: &ProtectError) -> Self {
        Self { layer, kind, path, outcome: Outcome::Failed, quarantine: None, detail: error.to_string() }
    }
}

#[cfg(test)]
mod tests;
