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

mod directory;
mod error;
mod found;
mod git_config;
mod git_use;
mod guard;
mod index;
mod judge;
mod mark;
mod names;
mod planted;
mod rules;
mod scan;
mod scrub;
mod store;

pub(crate) use git_config::all as git_settings;

pub use error::ProtectError;
pub use found::{Found, Held, Outcome, Reason};
pub use git_use::{Extent, GitUses, Made};
pub use guard::{Begun, Guard, Watched};
pub use mark::Kind;
pub use names::Names;
pub use planted::{Grounds, Item, Plant, Planted, Suspects, Use, planted};
pub use rules::{Action, Rules, Writer, masks};

/// The name of the guard's directory, next to a session's workspace.
pub const DIRECTORY: &str = "protected";

/// The name of the directory for the guard of HOME, next to it.
pub const HOME_DIRECTORY: &str = "protected-home";

#[cfg(test)]
mod tests;
