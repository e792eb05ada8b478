//! Detects a directory that git would use as a repository, whatever its name. Removes names that make a directory look
//! like one, if they were added after the session began. Otherwise git would run the hooks and the programs of the
//! configuration in that directory.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::directory::{Need, descend, look};
use super::error::{ProtectError, shown};
use super::found::{Found, GIT_LAYER, Outcome, Reason};
use super::names::{ancestors, is_git, join};
use super::store::GuardStore;

/// The known directories with names of repositories.
#[derive(Debug)]
pub(super) struct KnownShapes<'a> {
    /// The names that existed when the session began.
    pub(super) began: &'a BTreeMap<Vec<u8>, Shape>,
    /// Bare repositories that a decision permitted the session to create.
    pub(super) own: &'a BTreeSet<Vec<u8>>,
}

impl KnownShapes<'_> {
    /// Returns the names that make this directory a repository and did not exist when the session began.
    fn planted(
        &self,
        workspace: BorrowedFd<'_>,
        directory: &[u8],
    ) -> Result<Vec<&'static [u8]>, ProtectError> {
        // Files in a repository's own directory are protected names.
        if self.own.contains(directory) || directory.split(|byte| *byte == b'/').any(is_git) {
            return Ok(Vec::new());
        }
        let failed = || ProtectError::path("look for a repository in", directory);
        let Some(directories) = descend(workspace, directory, Need::Look).map_err(failed())? else {
            return Ok(Vec::new());
        };
        let Some(opened) = directories.last() else { return Ok(Vec::new()) };
        let shape = Shape::of(opened).map_err(failed())?;
        let old = self.began.get(directory).copied().unwrap_or_default();
        Ok(if shape.is_repository() { shape.names_beyond(old).collect() } else { Vec::new() })
    }
}

/// Returns the workspace's root and all directories from there to `directories`, because git searches all of them.
fn looked_into<'a>(directories: &[&'a [u8]]) -> BTreeSet<&'a [u8]> {
    let below = directories.iter().flat_map(|directory| ancestors(directory));
    [&b""[..]].into_iter().chain(below).collect()
}

/// Moves planted names into quarantine. No command that could write may run.
pub(super) fn scrub(
    store: &mut GuardStore,
    workspace: BorrowedFd<'_>,
    known: &KnownShapes<'_>,
    directories: &[&[u8]],
    execution: &str,
) -> Vec<Found> {
    let kind = Reason::BareRepository.name();
    let mut found = Vec::new();
    for directory in looked_into(directories) {
        let planted = match known.planted(workspace, directory) {
            Ok(planted) => planted,
            Err(error) => {
                found.push(Found::failed(GIT_LAYER, "scan_failed", Some(directory.to_vec()), &error));
                continue;
            }
        };
        for name in planted {
            let path = join(directory, name);
            match store.quarantine(workspace, &path, Reason::BareRepository, execution) {
                Ok(None) => {}
                Ok(Some(id)) => found.push(Found {
                    layer: GIT_LAYER,
                    kind,
                    detail: format!("it made `{}` look like a git repository", shown_directory(directory)),
                    path: Some(path),
                    outcome: Outcome::Quarantined,
                    quarantine: Some(id),
                }),
                Err(error) => found.push(Found::failed(GIT_LAYER, kind, Some(path), &error)),
            }
        }
    }
    found
}

/// Reports the names that would be moved if no other command could write.
pub(super) fn defer(
    workspace: BorrowedFd<'_>,
    known: &KnownShapes<'_>,
    directories: &[&[u8]],
    writers: usize,
) -> Vec<Found> {
    let planted =
        |directory: &&[u8]| known.planted(workspace, directory).is_ok_and(|names| !names.is_empty());
    let directories = looked_into(directories).into_iter().filter(planted);
    let deferred = directories.map(|directory| Found {
        layer: GIT_LAYER,
        kind: "scrub_deferred",
        path: Some(directory.to_vec()),
        outcome: Outcome::Reported,
        quarantine: None,
        detail: format!(
            "`{}` looks like a git repository; it is cleaned when the {writers} other commands that can \
             write have ended",
            shown_directory(directory)
        ),
    });
    deferred.collect()
}

fn shown_directory(directory: &[u8]) -> String {
    if directory.is_empty() { "the workspace".to_owned() } else { shown(directory) }
}

/// Names in a repository. The first four make a repository. The others run programs or refer to other directories.
const NAMES: [&[u8]; 7] =
    [b"HEAD", b"objects", b"refs", b"commondir", b"hooks", b"config", b"config.worktree"];

/// The set of these names that a directory contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape(u8);

impl Shape {
    /// Reads the shape of a directory from its names only. Their types can change before git reads them.
    pub(super) fn of(directory: impl AsFd) -> Result<Self, Errno> {
        let mut shape = Self::default();
        for name in NAMES {
            if look(&directory, name)?.is_some() {
                shape.add(name);
            }
        }
        Ok(shape)
    }

    pub(super) fn add(&mut self, name: &[u8]) {
        if let Some(at) = NAMES.iter().position(|known| *known == name) {
            self.0 |= 1 << at;
        }
    }

    /// Reports whether git would use it: it has objects and refs, or refers to another directory.
    pub(super) fn is_repository(self) -> bool {
        const HEAD: u8 = 1;
        const OBJECTS_AND_REFS: u8 = 0b110;
        const ELSEWHERE: u8 = 0b1000;
        self.0 & HEAD != 0 && (self.0 & OBJECTS_AND_REFS == OBJECTS_AND_REFS || self.0 & ELSEWHERE != 0)
    }

    /// Returns the names that `self` has and `other` lacks.
    fn names_beyond(self, other: Self) -> impl Iterator<Item = &'static [u8]> {
        let new = self.0 & !other.0;
        NAMES.into_iter().enumerate().filter(move |(at, _)| new & (1 << at) != 0).map(|(_, name)| name)
    }

    /// Reports whether it is a name that repositories have.
    pub(super) fn has(name: &[u8]) -> bool {
        NAMES.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(names: &[&str]) -> Shape {
        let mut shape = Shape::default();
        names.iter().for_each(|name| shape.add(name.as_bytes()));
        shape
    }

    #[test]
    fn a_repository_has_a_head_and_objects_and_refs_here_or_elsewhere() {
        assert!(shape(&["HEAD", "objects", "refs"]).is_repository());
        assert!(shape(&["HEAD", "commondir"]).is_repository());
        for names in
            [&["HEAD", "objects"][..], &["objects", "refs", "config", "hooks"], &["head", "OBJECTS", "refs"]]
        {
            assert!(!shape(names).is_repository(), "{names:?}");
        }
    }

    #[test]
    fn new_names_are_told_from_old_ones() {
        let old = shape(&["config", "hooks"]);
        let new = shape(&["config", "hooks", "HEAD", "README"]);
        assert_eq!(new.names_beyond(old).collect::<Vec<_>>(), [b"HEAD"]);
    }
}
