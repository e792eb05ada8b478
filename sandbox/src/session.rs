//! A session as the sandbox uses it: its directories on the host, its host IDs, its network. Must not change IDs: the
//! launch step does this.
//!
//! Hostile commands control the contents of the directories. Access them through directory handles only, never through
//! a path below them.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlock_init::wire::HostIds;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, mkdirat, openat, statat,
};
use rustix::io::Errno;

use crate::mask::SessionDirectory;
use crate::runtime::random_name;

/// The maximum nesting of directories in [`change_owner_of_tree`].
const MAX_DEPTH: usize = 256;

/// The session's parameters for a launch.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its directories.
    pub directories: SessionDirectories,
    /// Its host IDs. `None` if the runner cannot change uids.
    pub ids: Option<HostIds>,
    /// Its network. Required for [`crate::Network::SessionLoopback`].
    pub net: Option<SessionNet>,
}

/// The host directories of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectories {
    /// The directory that contains the others. Only the runner may enter it.
    pub root: PathBuf,
    /// Mounted at `/workspace`.
    pub workspace: PathBuf,
    /// Mounted at HOME.
    pub home: PathBuf,
    /// Mounted at `/tmp`.
    pub tmp: PathBuf,
}

/// A failed step of the creation or transfer of directories.
#[derive(Debug, thiserror::Error)]
#[error("session directory: cannot {action}: {source}")]
pub struct DirectoryError {
    /// The step that failed.
    pub action: &'static str,
    /// The error of the operating system.
    pub source: io::Error,
}

fn step(action: &'static str) -> impl Fn(Errno) -> DirectoryError {
    move |error| DirectoryError { action, source: error.into() }
}

impl SessionDirectories {
    /// Creates the directories of a new session in `parent`, under a random name, and gives them to `ids`.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`]. Directories that were created before the error remain.
    pub fn create(parent: &Path, ids: Option<HostIds>) -> Result<Self, DirectoryError> {
        let parent_handle = open_directory(CWD, parent).map_err(step("open the parent"))?;
        let name = random_name().map_err(|source| DirectoryError { action: "create a name", source })?;
        mkdirat(&parent_handle, &name, Mode::RWXU).map_err(step("create a directory"))?;
        Self::fill(&parent.join(name), ids)
    }

    /// Like [`SessionDirectories::create`], in the existing, empty directory `root` that only the runner may enter.
    ///
    /// # Errors
    ///
    /// [`DirectoryError`]. Directories that were created before the error remain.
    pub fn fill(root: &Path, ids: Option<HostIds>) -> Result<Self, DirectoryError> {
        let handle = openat(CWD, root, DIRECTORY, Mode::empty()).map_err(step("open a directory"))?;
        for child in ["workspace", "home", "tmp"] {
            mkdirat(&handle, child, Mode::RWXU).map_err(step("create a directory"))?;
            let handle =
                openat(&handle, child, DIRECTORY, Mode::empty()).map_err(step("open a directory"))?;
            give(handle.as_fd(), ids).map_err(step("change the owner of a directory"))?;
        }
        Ok(Self::at(root))
    }

    /// Returns the directories that [`SessionDirectories::create`] created at `root`. Accesses no file.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            workspace: root.join("workspace"),
            home: root.join("home"),
            tmp: root.join("tmp"),
        }
    }

    /// Returns the path of a directory.
    #[must_use]
    pub fn of(&self, directory: SessionDirectory) -> &Path {
        match directory {
            SessionDirectory::Workspace => &self.workspace,
            SessionDirectory::Home => &self.home,
            SessionDirectory::Tmp => &self.tmp,
        }
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_directory(parent: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    openat(parent, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn owner(ids: HostIds) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(ids.uid)), Some(Gid::from_raw(ids.gid)))
}

fn give(handle: BorrowedFd<'_>, ids: Option<HostIds>) -> Result<(), Errno> {
    let Some(ids) = ids else { return Ok(()) };
    let (uid, gid) = owner(ids);
    fchown(handle, uid, gid)
}

/// Gives a directory and everything below it to `ids`. For a workspace that the runner has just filled, before any
/// command could access it. Follows no link and stays on one file system.
///
/// # Errors
///
/// [`DirectoryError`] at the first entry that cannot be given away. The other entries keep their owner. A nesting of
/// more than 256 directories is an error.
pub fn change_owner_of_tree(directory: BorrowedFd<'_>, ids: HostIds) -> Result<(), DirectoryError> {
    let (uid, gid) = owner(ids);
    fchown(directory, uid, gid).map_err(step("change the owner of a directory"))?;
    let mut open = vec![Dir::read_from(directory).map_err(step("read a directory"))?];
    while let Some(current) = open.last_mut() {
        let Some(entry) = current.next() else {
            open.pop();
            continue;
        };
        let entry = entry.map_err(step("read a directory"))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let handle = current.fd().map_err(step("read a directory"))?;
        chownat(handle, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(step("change the owner of a file"))?;
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|found| FileType::from_raw_mode(found.st_mode))
                .map_err(step("inspect a file"))?,
            known => known,
        };
        if kind == FileType::Directory {
            let below = openat(handle, name, DIRECTORY, Mode::empty()).map_err(step("open a directory"))?;
            let below = Dir::read_from(&below).map_err(step("read a directory"))?;
            if open.len() >= MAX_DEPTH {
                return Err(step("open a subdirectory")(Errno::LOOP));
            }
            open.push(below);
        }
    }
    Ok(())
}

/// A session's loopback. Clones refer to the same one.
///
/// The network namespace of a session, and the user namespace that owns it.
///
/// Only descriptors keep them alive. When the last clone is dropped and the last command has ended, the kernel removes
/// both.
#[derive(Debug, Clone)]
pub struct SessionNet(Arc<Namespaces>);

#[derive(Debug)]
struct Namespaces {
    user: OwnedFd,
    net: OwnedFd,
}

impl SessionNet {
    pub(crate) fn new(user: OwnedFd, net: OwnedFd) -> Self {
        Self(Arc::new(Namespaces { user, net }))
    }

    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.0.user.as_fd(), self.0.net.as_fd()]
    }
}

/// The range of host uids, and of gids with the same numbers. Each session gets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UidRange {
    first: u32,
    count: u32,
}

impl UidRange {
    /// Creates a range of `count` IDs from `first` on. `None` if it is empty, contains 0, or reaches the two highest
    /// IDs, which mean "nobody" and "no change".
    #[must_use]
    pub fn new(first: u32, count: u32) -> Option<Self> {
        let last = first.checked_add(count.checked_sub(1)?)?;
        (first > 0 && last < u32::MAX - 1).then_some(Self { first, count })
    }

    /// Returns the lowest IDs of the range that are not in `used`. `None` if all are used.
    #[must_use]
    pub fn allocate(&self, used: &BTreeSet<u32>) -> Option<HostIds> {
        (self.first..=self.last()).find(|id| !used.contains(id)).map(|id| HostIds { uid: id, gid: id })
    }

    /// Reports whether both `ids` are in this range.
    #[must_use]
    pub fn contains(&self, ids: HostIds) -> bool {
        let range = self.first..=self.last();
        range.contains(&ids.uid) && range.contains(&ids.gid)
    }

    /// Returns the last ID.
    #[must_use]
    pub fn last(self) -> u32 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// The host uids under which commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UidIsolation {
    /// Each session has its own uid.
    PerSession,
    /// The runner cannot change uids: commands run under its own.
    None,
}

impl UidIsolation {
    /// Returns the mode that this process supports: per session as root, otherwise no isolation.
    #[must_use]
    pub fn detect() -> Self {
        if nix::unistd::geteuid().is_root() { Self::PerSession } else { Self::None }
    }

    /// Returns the name used in reports: `per_session` or `none`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerSession => "per_session",
            Self::None => "none",
        }
    }
}

/// TCP sockets in a session's network namespace that are not connected, nonblocking and close-on-exec.
#[derive(Debug)]
pub struct SessionSockets {
    /// For IPv4.
    pub v4: OwnedFd,
    /// For IPv6, if the kernel has it.
    pub v6: Option<OwnedFd>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_each_id_once_and_then_none() {
        let range = UidRange::new(100, 3).unwrap();
        let mut used = BTreeSet::new();
        for expected in [100, 101, 102] {
            let ids = range.allocate(&used).unwrap();
            assert_eq!(ids, HostIds { uid: expected, gid: expected });
            assert!(range.contains(ids));
            used.insert(ids.uid);
        }
        assert_eq!(range.allocate(&used), None);
        used.remove(&101);
        assert_eq!(range.allocate(&used).unwrap().uid, 101);
    }

    #[test]
    fn a_range_with_root_or_nobody_is_refused() {
        assert_eq!(UidRange::new(0, 10), None);
        assert_eq!(UidRange::new(10, 0), None);
        assert_eq!(UidRange::new(u32::MAX - 2, 2), None);
        assert_eq!(UidRange::new(u32::MAX, 2), None);
        assert!(UidRange::new(u32::MAX - 3, 2).is_some());
    }
}
