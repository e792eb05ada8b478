//! The rules for protected names, and a command to which they apply.

use super::git_use::GitUses;
use super::names::Names;

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
