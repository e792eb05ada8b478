//! Detects a directory that git would use as a repository, whatever its name.

use std::os::fd::AsFd;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::directory::look;

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
    pub(super) fn names_beyond(self, other: Self) -> impl Iterator<Item = &'static [u8]> {
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
