//! Finds programs that commands planted in repositories: hooks, and configurations that name programs or include
//! others.
//!
//! A repository is any directory that git would use as one, under any name. The search covers the workspace. It covers
//! HOME and `/tmp` as far as a command uses them or a repository of the workspace refers to them. Links are followed as
//! inside. Makes no changes. Works with the rights of its thread.

mod input;
mod repository;
mod search;

use std::path::Path;

pub use input::{Grounds, Suspects, Use};
pub use search::{Item, Plant, Planted};

use super::error::ProtectError;
use search::Search;

/// Searches for planted programs that a command could run. Blocks while it reads the repositories, and while it scans
/// the parts of HOME and `/tmp` that the command names.
///
/// # Errors
/// If the session's directories cannot be read, or if a limit is exceeded. The planted programs are then unknown.
pub fn planted(grounds: &Grounds, suspects: &Suspects, command: Use<'_>) -> Result<Planted, ProtectError> {
    let mut search = Search::new(grounds, suspects, command);
    for repository in &suspects.repositories {
        search.add(Path::new(crate::layout::WORKSPACE).join(search::path(repository)))?;
    }
    search.add_named()?;
    search.run()?;
    Ok(search.found())
}
