//! The inputs of a search: the repositories of a workspace, the command, and the places of its sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::super::error::ProtectError;
use super::super::mark::Mark;
use super::super::names::{above, is_git, last};
use super::super::scan::Record;
use crate::paths::places::{self, MountedPath};
use crate::profile::Profile;
use crate::session::SessionDirectories;

/// The repositories of a workspace, and the recorded marks of their files. From
/// [`Guard::suspects`](crate::protect::Guard::suspects).
#[derive(Debug, Clone)]
pub struct Suspects {
    /// Directories of repositories, and files that lead to one, relative to the workspace.
    pub(super) repositories: BTreeSet<Vec<u8>>,
    pub(super) marks: BTreeMap<Vec<u8>, Mark>,
    /// The time from which commands could write, in seconds and nanoseconds. Files that changed earlier are not
    /// planted.
    pub(super) began: (i64, i64),
}

impl Suspects {
    pub(in crate::protect) fn of(record: Record, began: (i64, i64)) -> Self {
        Self { repositories: repositories(&record, b""), marks: record.marks, began }
    }
}

/// A command for which planted programs are searched.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// Its start directory and the paths that it names: absolute paths inside the sandbox.
    pub paths: &'a [PathBuf],
    /// Whether it continues a rebase, which runs the commands in its list.
    pub rebases: bool,
    /// Whether it runs on the host, where paths have other targets.
    pub outside: bool,
}

/// The places of a command's sandbox, for resolving paths.
#[derive(Debug)]
pub struct Grounds {
    pub(super) places: Vec<MountedPath>,
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

impl Grounds {
    /// Opens the session's directories, and the host paths that the profile shows, with the runner's rights.
    ///
    /// # Errors
    /// If one of the session's directories cannot be opened.
    pub fn open(directories: &SessionDirectories, profile: &Profile) -> Result<Self, ProtectError> {
        let places = places::open(directories, profile)
            .map_err(|error| ProtectError::Planted { cause: error.to_string() })?;
        Ok(Self { places, links: places::root_links(profile) })
    }
}

/// Returns the directories of repositories in a record, and the files that lead to one. `root` is `.git` if the record
/// describes a repository's own directory.
pub(super) fn repositories(record: &Record, root: &[u8]) -> BTreeSet<Vec<u8>> {
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
