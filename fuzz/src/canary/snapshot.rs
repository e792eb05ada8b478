//! What a tree of files is at a moment, so that two moments can be compared. It reads;
//! it changes nothing but access times, which count for nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Every name below some folders, with all that the kernel says of it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
}

/// The kernel sets `changed` whenever anything else here is written, and nobody without the
/// rights to set the clock can set it back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    size: u64,
    inode: u64,
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    target: Option<OsString>,
    /// Of a file whose bytes were read.
    content: Option<[u8; 32]>,
}

impl Snapshot {
    /// Looks at the folders and all below them; `contents` says whether bytes are read, too.
    ///
    /// # Errors
    ///
    /// A folder that cannot be listed, or a name that vanishes meanwhile.
    pub fn take(folders: &[&Path], contents: bool) -> io::Result<Self> {
        let mut snapshot = Self::default();
        for folder in folders {
            snapshot.add(folder, contents)?;
        }
        Ok(snapshot)
    }

    fn add(&mut self, path: &Path, contents: bool) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        let target = if found.is_symlink() { Some(fs::read_link(path)?.into_os_string()) } else { None };
        // A file that this user may not read cannot be compared by its bytes; its times still tell.
        let content = (contents && found.is_file()).then(|| fs::read(path).ok()).flatten();
        let entry = Entry {
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            size: found.size(),
            inode: found.ino(),
            links: found.nlink(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            target,
            content: content.map(|bytes| Sha256::digest(bytes).into()),
        };
        self.entries.insert(path.to_owned(), entry);
        if found.is_dir() {
            for entry in fs::read_dir(path)? {
                self.add(&entry?.path(), contents)?;
            }
        }
        Ok(())
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no name at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether there is such a name.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// What is another in `later`, a line for each name. Bytes are compared where both have them.
    #[must_use]
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, before) in &self.entries {
            match later.entries.get(path) {
                None => found.push(format!("{path:?} is gone")),
                Some(after) => {
                    let what = before.changes(after);
                    if !what.is_empty() {
                        found.push(format!("{path:?}: {}", what.join(", ")));
                    }
                }
            }
        }
        let made = later.entries.keys().filter(|path| !self.entries.contains_key(*path));
        found.extend(made.map(|path| format!("{path:?} is new")));
        found
    }
}

impl Entry {
    fn changes(&self, after: &Self) -> Vec<String> {
        let mut what = Vec::new();
        if self.mode != after.mode {
            what.push(format!("mode {:o} is {:o}", self.mode, after.mode));
        }
        let mut note = |differs: bool, text: &str| {
            if differs {
                what.push(text.to_owned());
            }
        };
        note(self.owner != after.owner, "another owner");
        note(self.inode != after.inode, "another file");
        note(self.size != after.size, "another size");
        note(self.links != after.links, "another number of links");
        note(self.target != after.target, "another target");
        note(
            self.content.is_some() && after.content.is_some() && self.content != after.content,
            "other bytes",
        );
        note(self.modified != after.modified, "another time of modification");
        note(self.changed != after.changed, "another time of change");
        what
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
