//! The names in an archive so far. It stores hashes instead of names, so that the number of entries
//! bounds its memory.

use std::collections::{HashMap, hash_map::Entry};

use sha2::{Digest, Sha256};

use crate::{Rule, names};

/// 128 bits of a path's SHA-256. It is infeasible to find two paths with the same key.
type Key = [u8; 16];

/// The type of the entry with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File,
    Symlink,
}

/// The names and their types.
#[derive(Debug, Default)]
pub(crate) struct Tree(HashMap<Key, Node>);

impl Tree {
    /// Adds a path with its parent directories. Returns the number of new directories, including the
    /// path itself.
    pub(crate) fn add(&mut self, path: &[u8], node: Node) -> Result<u64, Rule> {
        let (directory, _) = names::split(path);
        let mut new = if directory.is_empty() { 0 } else { self.add_directories(directory)? };
        match self.0.entry(key(path)) {
            Entry::Vacant(place) => {
                place.insert(node);
                new += u64::from(node == Node::Directory);
            }
            Entry::Occupied(mut place) => {
                if (*place.get() == Node::Directory) != (node == Node::Directory) {
                    return Err(Rule::DirectoryAndOther);
                }
                place.insert(node);
            }
        }
        Ok(new)
    }

    /// Adds the directories of a path. In most cases the directory is known, and so are its parents.
    fn add_directories(&mut self, directory: &[u8]) -> Result<u64, Rule> {
        match self.0.get(&key(directory)) {
            Some(Node::Directory) => return Ok(0),
            Some(_) => return Err(Rule::ParentNotDirectory),
            None => {}
        }
        let ends = directory.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        let mut new = 0;
        for end in ends.chain([directory.len()]) {
            match self.0.entry(key(directory.get(..end).unwrap_or(directory))) {
                Entry::Vacant(place) => {
                    place.insert(Node::Directory);
                    new += 1;
                }
                Entry::Occupied(place) if *place.get() == Node::Directory => {}
                Entry::Occupied(_) => return Err(Rule::ParentNotDirectory),
            }
        }
        Ok(new)
    }

    /// Reports whether the path is a file of the archive.
    pub(crate) fn is_file(&self, path: &[u8]) -> bool {
        self.0.get(&key(path)) == Some(&Node::File)
    }
}

fn key(path: &[u8]) -> Key {
    Sha256::digest(path).first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_counted_once_and_stay_folders() {
        let mut tree = Tree::default();
        assert_eq!(tree.add(b"a/b/c", Node::File), Ok(2));
        assert_eq!(tree.add(b"a/b", Node::Directory), Ok(0));
        assert_eq!(tree.add(b"a/d", Node::Directory), Ok(1));
        assert_eq!(tree.add(b"a/b/c", Node::Symlink), Ok(0), "the later entry wins");
        assert!(!tree.is_file(b"a/b/c"));
        assert_eq!(tree.add(b"a/b/c/d", Node::File), Err(Rule::ParentNotDirectory));
        assert_eq!(tree.add(b"a/b/c/d/e/f", Node::File), Err(Rule::ParentNotDirectory));
        assert_eq!(tree.add(b"a/b", Node::File), Err(Rule::DirectoryAndOther));
        assert_eq!(tree.add(b"a/b/c", Node::Directory), Err(Rule::DirectoryAndOther));
        assert_eq!(tree.add(b"A", Node::File), Ok(0), "case matters");
    }
}
