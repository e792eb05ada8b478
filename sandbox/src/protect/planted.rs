//! Finds programs that commands planted in repositories: hooks, and configurations that name programs or include
//! others.
//!
//! A repository is any directory that git would use as one, under any name. The search covers the workspace. It covers
//! HOME and `/tmp` as far as a command uses them or a repository of the workspace refers to them. Links are followed as
//! inside. Changes nothing. Works with the rights of its thread.

mod config;
mod hooks;
mod repository;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ProtectError;
use super::mark::Mark;
use super::names::{above, is_git, last};
use super::scan::Record;
use crate::mask::{Mask, MaskKind, SessionFolder};
use crate::paths::places::{self, Place};
use crate::profile::Profile;
use crate::session::Folders;
use search::Search;

/// The maximum number of repositories and included configurations in one search.
const REPOSITORIES: usize = 10_000;

/// The repositories of a workspace, and the recorded marks of their files. From
/// [`Guard::suspects`](super::Guard::suspects).
#[derive(Debug, Clone)]
pub struct Suspects {
    /// Directories of repositories, and files that lead to one, relative to the workspace.
    repositories: BTreeSet<Vec<u8>>,
    marks: BTreeMap<Vec<u8>, Mark>,
    /// When the first command could write, in seconds and nanoseconds. Files that changed earlier are not planted.
    began: (i64, i64),
}

impl Suspects {
    pub(super) fn of(record: Record, began: (i64, i64)) -> Self {
        Self { repositories: repositories(&record, b""), marks: record.marks, began }
    }
}

/// A command for which planted programs are searched.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// Its start directory and the paths that it names: absolute paths inside.
    pub paths: &'a [PathBuf],
    /// Whether it continues a rebase, which runs the commands in its list.
    pub rebases: bool,
    /// Whether it runs on the host, where paths have other targets.
    pub outside: bool,
}

/// A planted file, by its real place and not by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The session's directory that contains it.
    pub folder: SessionFolder,
    /// The path relative to that.
    pub path: PathBuf,
    /// Its kind.
    pub what: Plant,
}

/// The kind of a planted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plant {
    /// A directory of hooks.
    Hooks,
    /// A configuration, with its contents without programs.
    Config(Arc<[u8]>),
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planted {
    /// The items, sorted by directory and path.
    pub items: Vec<Item>,
    /// A file that git would use and that no mask can cover, with the reason, in one line.
    pub open: Option<String>,
}

impl Planted {
    /// Returns the masks that cover the items for a command.
    #[must_use]
    pub fn masks(&self) -> Vec<Mask> {
        let mask = |item: &Item| Mask {
            folder: item.folder,
            path: item.path.clone(),
            kind: match &item.what {
                Plant::Hooks => MaskKind::Empty,
                Plant::Config(rest) => MaskKind::Content(Arc::clone(rest)),
            },
        };
        self.items.iter().map(mask).collect()
    }
}

/// The places of a command's sandbox, for resolving paths.
#[derive(Debug)]
pub struct Grounds {
    places: Vec<Place>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Grounds {
    /// Opens the session's directories, and the host paths that the profile shows, with the runner's rights.
    ///
    /// # Errors
    /// If one of the session's directories cannot be opened.
    pub fn open(folders: &Folders, profile: &Profile) -> Result<Self, ProtectError> {
        let places = places::open(folders, profile)
            .map_err(|error| ProtectError::Planted { cause: error.to_string() })?;
        Ok(Self { places, links: places::root_links(profile) })
    }
}

/// Searches for planted programs that a command could run. Blocks while it reads the repositories, and while it scans
/// the parts of HOME and `/tmp` that the command names.
///
/// # Errors
/// If the session's directories cannot be read, or if a limit is exceeded. The planted programs are then unknown.
pub fn planted(grounds: &Grounds, suspects: &Suspects, command: Use<'_>) -> Result<Planted, ProtectError> {
    let mut search = Search::new(grounds, suspects, command);
    for repository in &suspects.repositories {
        search.add(Path::new(crate::WORKSPACE).join(search::path(repository)))?;
    }
    search.add_named()?;
    search.run()?;
    Ok(search.found())
}

/// Returns the directories of repositories in a record, and the files that lead to one. `root` is `.git` if the record
/// describes a repository's own directory.
fn repositories(record: &Record, root: &[u8]) -> BTreeSet<Vec<u8>> {
    let is_inside = |path: &[u8]| !root.is_empty() || path.split(|byte| *byte == b'/').any(is_git);
    let parts: [&[u8]; 5] = [b"hooks", b"config", b"config.worktree", b"commondir", b"gitdir"];
    let of_part = |path: &Vec<u8>| {
        (parts.contains(&last(path)) && is_inside(above(path))).then(|| above(path).to_vec())
    };
    let marked = record
        .marks
        .keys()
        .filter_map(|path| if is_git(last(path)) { Some(path.clone()) } else { of_part(path) });
    let shaped =
        record.shapes.iter().filter(|(_, shape)| shape.is_repository()).map(|(path, _)| path.clone());
    marked.chain(shaped).collect()
}
