//! Finds what of repositories runs programs and was put there by commands: hooks, and configurations that name
//! programs or include others.
//!
//! A repository is whatever git would take for one, under any name: in the workspace, and in HOME and `/tmp` as far
//! as a command goes there or a repository of the workspace leads there. Links are followed as inside. Changes
//! nothing. Works with whatever rights its thread has.

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

/// Repositories, and configurations that they include, of one search.
const REPOSITORIES: usize = 10_000;

/// Repositories of a workspace, and what in them is not planted. Of [`Guard::suspects`](super::Guard::suspects).
#[derive(Debug, Clone)]
pub struct Suspects {
    /// Folders of repositories, and files that lead to one, relative to the workspace.
    repositories: BTreeSet<Vec<u8>>,
    marks: BTreeMap<Vec<u8>, Mark>,
    /// When the first command could write: what was changed before is nobody's plant. Seconds and nanoseconds.
    began: (i64, i64),
}

impl Suspects {
    pub(super) fn of(record: Record, began: (i64, i64)) -> Self {
        Self { repositories: repositories(&record, b""), marks: record.marks, began }
    }
}

/// A command for which planted programs are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    /// Where it starts, and what it names: absolute paths inside.
    pub paths: &'a [PathBuf],
    /// Whether it goes on with a rebase, which runs what its list says.
    pub rebases: bool,
    /// Whether it runs on the host, where paths lead elsewhere.
    pub outside: bool,
}

/// Something planted, by the place where it is and not by a link that leads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which of the session's folders it is in.
    pub folder: SessionFolder,
    /// Relative to that.
    pub path: PathBuf,
    /// What it is.
    pub what: Plant,
}

/// A kind of plant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plant {
    /// A folder of hooks.
    Hooks,
    /// A configuration, with what is left of it without programs.
    Config(Arc<[u8]>),
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planted {
    /// By folder and path.
    pub items: Vec<Item>,
    /// Something that git would use and that no mask can be laid over, with the reason, in one line.
    pub open: Option<String>,
}

impl Planted {
    /// What a command gets in place of the items.
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

/// Where paths lead in the sandbox of a command.
#[derive(Debug)]
pub struct Grounds {
    places: Vec<Place>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Grounds {
    /// Opens the session's folders, and what the profile shows of the host, with the runner's rights.
    ///
    /// # Errors
    /// If one of the session's folders cannot be opened.
    pub fn open(folders: &Folders, profile: &Profile) -> Result<Self, ProtectError> {
        let places = places::open(folders, profile)
            .map_err(|error| ProtectError::Planted { cause: error.to_string() })?;
        Ok(Self { places, links: places::root_links(profile) })
    }
}

/// Looks for what is planted and could run in a command. Blocks for as long as it takes to look at the repositories,
/// and to go through what of HOME and `/tmp` the command names.
///
/// # Errors
/// If the session's folders cannot be looked at, or a limit was met: then nobody knows what is planted.
pub fn planted(grounds: &Grounds, suspects: &Suspects, command: Use<'_>) -> Result<Planted, ProtectError> {
    let mut search = Search::new(grounds, suspects, command);
    for repository in &suspects.repositories {
        search.add(Path::new(crate::WORKSPACE).join(search::path(repository)))?;
    }
    search.add_named()?;
    search.run()?;
    Ok(search.found())
}

/// The folders of repositories in a record, and the files that lead to one. `root` is `.git` where the record is of
/// what is in a repository's own folder.
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
