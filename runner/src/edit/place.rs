//! The position of a file below the workspace, and the resolution of paths there, without links.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airlock_domain::DecidedEdit;
use airlock_sandbox::WORKSPACE;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

use super::error::EditError;
use crate::{files, session::OpenSession};

pub(super) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
pub(super) const CONTENT: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// Paths are resolved below the workspace, without links: otherwise `..` and the shown path could name another file.
const PLAIN: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_XDEV);
/// The number of attempts for a resolution that a rename disturbs.
const TRIES: usize = 64;

/// The position of a file below the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The directory, relative to the workspace. `.` for the workspace itself.
    pub(super) directory: &'a [u8],
    /// The file's name.
    pub(super) name: &'a [u8],
}

impl<'a> Place<'a> {
    /// Parses an absolute path inside the sandbox.
    ///
    /// # Errors
    /// If the path is not below the workspace or has an empty component, `.` or `..`.
    pub(super) fn of(path: &'a [u8]) -> Result<Self, EditError> {
        let below = path.strip_prefix(WORKSPACE.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
        let is_plain = |below: &&[u8]| {
            below.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
                && !below.contains(&0)
        };
        let below = below.filter(is_plain).ok_or_else(|| EditError::Outside(path.to_vec()))?;
        let slash = below.iter().rposition(|byte| *byte == b'/');
        let (directory, name) = match slash.and_then(|slash| below.split_at_checked(slash)) {
            Some((directory, name)) => (directory, name.get(1..).unwrap_or_default()),
            None => (&b"."[..], below),
        };
        Ok(Self { directory, name })
    }
}

/// Returns a directory relative to the workspace, from its absolute path inside the sandbox.
pub(super) fn below(directory: &[u8]) -> Result<Vec<u8>, EditError> {
    if directory == WORKSPACE.as_bytes() {
        return Ok(b".".to_vec());
    }
    let place = Place::of(directory)?;
    Ok([place.directory, b"/", place.name].concat())
}

/// Returns the files of an edit, which must be different files.
///
/// # Errors
/// If a path is not below the workspace, or if two paths are equal.
pub(super) fn checked(edit: &DecidedEdit) -> Result<(), EditError> {
    let paths = edit.paths();
    let backups = edit.files.iter().filter(|file| !file.backup.is_empty()).count();
    if paths.len() != edit.files.len() + backups {
        return Err(EditError::SameFile);
    }
    for file in &edit.files {
        let place = Place::of(&file.path)?;
        if !file.backup.is_empty() && Place::of(&file.backup)?.directory != place.directory {
            return Err(EditError::Outside(file.backup.clone()));
        }
    }
    Ok(())
}

/// Opens a workspace with the runner's rights, and calls `work` with those of the session's user. Blocks until `work` is
/// done.
///
/// # Errors
/// If the directory cannot be opened, or if `work` fails.
pub(super) fn within<T>(
    workspace: &std::path::Path,
    session: &OpenSession,
    work: impl FnOnce(BorrowedFd<'_>) -> Result<T, EditError>,
) -> Result<T, EditError> {
    let root = openat(CWD, workspace, DIRECTORY, Mode::empty())
        .map_err(EditError::io("open the workspace", WORKSPACE.as_bytes()))?;
    files::as_session(session.owner(), || work(root.as_fd())).map_err(|_| EditError::Rights)?
}

/// Opens a directory below a workspace. `path` is the path that an error names.
pub(super) fn directory(root: BorrowedFd<'_>, below: &[u8], path: &[u8]) -> Result<OwnedFd, EditError> {
    match resolve(root, below, DIRECTORY.difference(OFlags::NOFOLLOW), PLAIN) {
        Err(Errno::NOENT | Errno::NOTDIR) => Err(EditError::Missing(path.to_vec())),
        Err(Errno::LOOP | Errno::XDEV) => Err(EditError::ThroughLink(path.to_vec())),
        other => other.map_err(EditError::io("open the directory of", path)),
    }
}

pub(super) fn resolve(
    root: BorrowedFd<'_>,
    below: &[u8],
    flags: OFlags,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    for _ in 0..TRIES {
        match openat2(root, below, flags, Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}
