//! A session as the sandbox sees it: its folders on the host, its host ids, its
//! network.
//!
//! The folders' contents belong to hostile commands: they are touched through
//! directory handles only, never through a path below them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use airlock_init::wire::HostIds;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, mkdirat, openat, statat,
};
use rustix::io::Errno;

use crate::mask::SessionFolder;
use crate::net::SessionNet;
use crate::runtime::random_name;

/// Folders nested deeper than this are refused by [`give_tree`].
const MAX_DEPTH: usize = 256;

/// What a launch needs to know of its session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its folders.
    pub folders: Folders,
    /// Its host ids; `None` where the runner cannot change uid.
    pub ids: Option<HostIds>,
    /// Its network; needed for [`crate::Network::SessionLoopback`].
    pub net: Option<SessionNet>,
}

/// The host folders of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The folder that holds the others, and that only the runner may enter.
    pub root: PathBuf,
    /// Mounted at `/workspace`.
    pub workspace: PathBuf,
    /// Mounted at HOME.
    pub home: PathBuf,
    /// Mounted at `/tmp`.
    pub tmp: PathBuf,
}

/// A step of making or handing over folders that failed.
#[derive(Debug, thiserror::Error)]
#[error("session folder: cannot {action}: {source}")]
pub struct FolderError {
    /// What was tried.
    pub action: &'static str,
    /// The system's answer.
    pub source: io::Error,
}

fn step(action: &'static str) -> impl Fn(Errno) -> FolderError {
    move |error| FolderError { action, source: error.into() }
}

impl Folders {
    /// Makes the folders of a new session in `parent`, under a random name that
    /// says nothing about it, and gives them to `ids`.
    ///
    /// # Errors
    ///
    /// [`FolderError`]; what was made until then stays.
    pub fn create(parent: &Path, ids: Option<HostIds>) -> Result<Self, FolderError> {
        let parent_handle = open_folder(CWD, parent).map_err(step("open the parent"))?;
        let name = random_name().map_err(|source| FolderError { action: "make a name", source })?;
        mkdirat(&parent_handle, &name, Mode::RWXU).map_err(step("make a folder"))?;
        Self::fill(&parent.join(name), ids)
    }

    /// As [`Folders::create`], in a folder `root` that is there, empty and the
    /// runner's alone.
    ///
    /// # Errors
    ///
    /// [`FolderError`]; what was made until then stays.
    pub fn fill(root: &Path, ids: Option<HostIds>) -> Result<Self, FolderError> {
        let handle = openat(CWD, root, FOLDER, Mode::empty()).map_err(step("open a folder"))?;
        for child in ["workspace", "home", "tmp"] {
            mkdirat(&handle, child, Mode::RWXU).map_err(step("make a folder"))?;
            let handle = openat(&handle, child, FOLDER, Mode::empty()).map_err(step("open a folder"))?;
            give(handle.as_fd(), ids).map_err(step("give a folder away"))?;
        }
        Ok(Self::at(root))
    }

    /// The folders that [`Folders::create`] made at `root`. Looks at nothing.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            workspace: root.join("workspace"),
            home: root.join("home"),
            tmp: root.join("tmp"),
        }
    }

    /// Where one of them is.
    #[must_use]
    pub fn of(&self, folder: SessionFolder) -> &Path {
        match folder {
            SessionFolder::Workspace => &self.workspace,
            SessionFolder::Home => &self.home,
            SessionFolder::Tmp => &self.tmp,
        }
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_folder(parent: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
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

/// Gives a folder and everything below it to `ids`: for a workspace that the
/// runner has just filled, before any command could reach it. Follows no link
/// and leaves no file system.
///
/// # Errors
///
/// [`FolderError`] at the first thing that cannot be given; the rest keeps its
/// owner. Deeper than 256 folders is an error.
pub fn give_tree(folder: BorrowedFd<'_>, ids: HostIds) -> Result<(), FolderError> {
    let (uid, gid) = owner(ids);
    fchown(folder, uid, gid).map_err(step("give a folder away"))?;
    let mut open = vec![Dir::read_from(folder).map_err(step("read a folder"))?];
    while let Some(current) = open.last_mut() {
        let Some(entry) = current.next() else {
            open.pop();
            continue;
        };
        let entry = entry.map_err(step("read a folder"))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let handle = current.fd().map_err(step("read a folder"))?;
        chownat(handle, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW).map_err(step("give a file away"))?;
        let kind = match entry.file_type() {
            // Not every file system says.
            FileType::Unknown => statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|found| FileType::from_raw_mode(found.st_mode))
                .map_err(step("look at a file"))?,
            known => known,
        };
        if kind == FileType::Directory {
            let below = openat(handle, name, FOLDER, Mode::empty()).map_err(step("open a folder"))?;
            let below = Dir::read_from(&below).map_err(step("read a folder"))?;
            if open.len() >= MAX_DEPTH {
                return Err(step("go deeper")(Errno::LOOP));
            }
            open.push(below);
        }
    }
    Ok(())
}
