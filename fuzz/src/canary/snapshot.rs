//! A snapshot of a file tree, to compare two points in time. Taking it changes only access times,
//! which are not compared.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Every name below some directories, with all metadata.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
}

/// The metadata of a name. The kernel sets `changed` whenever anything else here is written, and
/// only a process that may set the clock can set it back.
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
    /// The hash of the content, if it was read.
    content: Option<[u8; 32]>,
}

impl Snapshot {
    /// Reads the directories and everything below them. `contents` selects whether to read the
    /// bytes of files too.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory cannot be listed or a name disappears during the read.
    pub fn take(directories: &[&Path], contents: bool) -> io::Result<Self> {
        let mut snapshot = Self::default();
        for directory in directories {
            snapshot.add(directory, contents)?;
        }
        Ok(snapshot)
    }

    fn add(&mut self, path: &Path, contents: bool) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        let target = if found.is_symlink() { Some(fs::read_link(path)?.into_os_string()) } else { None };
        // The content of a file that this user cannot read is not compared, but its times are.
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

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether the snapshot contains the path.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Returns the differences in `later`, one line for each name. Content is compared if both
    /// snapshots have it.
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
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::Snapshot;

    /// Returns the differences after `change` on a small tree.
    fn noticed(change: impl FnOnce(&Path)) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("directory")).unwrap();
        symlink("file", at("link")).unwrap();
        let before = Snapshot::take(&[directory.path()], true).unwrap();
        until_the_clock_of_files_ticks();
        change(directory.path());
        let after = Snapshot::take(&[directory.path()], true).unwrap();
        let quick = Snapshot::take(&[directory.path()], false).unwrap();
        assert_eq!(
            before.differences(&after).is_empty(),
            before.differences(&quick).is_empty(),
            "the quick comparison also detects it"
        );
        before.differences(&after)
    }

    /// Waits for a tick of the kernel's file clock, which advances every few milliseconds.
    fn until_the_clock_of_files_ticks() {
        let other = tempfile::NamedTempFile::new().unwrap();
        let now = || other.as_file().metadata().unwrap().modified().unwrap();
        let before = now();
        while now() == before {
            fs::write(other.path(), "x").unwrap();
        }
    }

    #[test]
    fn reading_is_no_change() {
        let found = noticed(|directory| {
            fs::read(directory.join("file")).unwrap();
            assert_eq!(fs::read_dir(directory).unwrap().count(), 3);
        });
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn every_kind_of_change_is_noticed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 8] = [
            ("bytes", |directory| fs::write(directory.join("file"), "TEXT").unwrap()),
            ("the same bytes", |directory| fs::write(directory.join("file"), "text").unwrap()),
            ("mode", |directory| {
                fs::set_permissions(directory.join("file"), PermissionsExt::from_mode(0o600)).unwrap();
            }),
            ("a new name", |directory| fs::write(directory.join("directory/new"), "").unwrap()),
            ("made and removed", |directory| {
                fs::write(directory.join("directory/new"), "").unwrap();
                fs::remove_file(directory.join("directory/new")).unwrap();
            }),
            ("renamed", |directory| fs::rename(directory.join("file"), directory.join("other")).unwrap()),
            ("another target", |directory| {
                fs::remove_file(directory.join("link")).unwrap();
                symlink("directory", directory.join("link")).unwrap();
            }),
            ("gone", |directory| fs::remove_dir(directory.join("directory")).unwrap()),
        ];
        for (name, change) in changes {
            assert!(!noticed(change).is_empty(), "the change {name} is not detected");
        }
    }
}
